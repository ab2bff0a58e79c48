"""The second port: figures for Prometheus, and whether the server is alive and ready."""

import asyncio
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sonicpy import Config, Index
from sonicpy.errors import SonicError
from sonicpy.server.service import Service
from sonicpy.server.web import metrics as metrics_module
from sonicpy.server.web.metrics import MetricsServer
from sonicpy.store.store import Store
from sonicpy.version import VERSION
from tests.processes import HOST, Server, environment, free_port, refused_start, serve_command
from tests.server.peer import Peer
from tests.server.test_start import is_one_sentence
from tests.support.patience import WAIT_S

DOCUMENT = (Path(__file__).parents[2] / "docs/operations.md").read_text(encoding="utf-8")

Asked = list[Future[tuple[int, str]]]
"""Questions under way: futures of (status, text)."""
Samples = dict[tuple[str, str], float]
"""(name, value of the only label) -> value."""


def get(port: int, path: str) -> tuple[int, str]:
    """Return the status and the text of an answer."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}{path}", timeout=WAIT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


def scrape(port: int) -> Samples:
    status, text = get(port, "/metrics")
    assert status == 200, text
    samples: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = {key: value for key, value in sample.labels.items() if key != "le" or value == "+Inf"}
            if len(labels) == len(sample.labels):
                samples[sample.name, "".join(value for key, value in labels.items() if key != "le")] = sample.value
    return samples


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, int]]:
    """A server and the port of its metrics; only the first test changes its figures."""
    port = free_port()
    with Server(tmp_path_factory.mktemp("watched"), {"metrics.inet": f"{HOST}:{port}"}) as server:
        yield server, port


def test_the_figures_follow_what_happens(watched: tuple[Server, int]) -> None:
    server, port = watched
    before = scrape(port)
    assert before["sonicpy_build_info", VERSION] == 1
    assert before["sonicpy_command_seconds_count", "PUSH"] == 0
    with Peer(server, "ingest") as ingest, Peer(server, "search") as search, Peer(server, "control") as control:
        for number in range(20):
            assert ingest.ask(f'PUSH c b{number % 2} o{number} "eins zwei drei"') == "OK"
        assert search.results('QUERY c b0 "eins"') != []
        assert (
            search.ask("QUERY c") == 'ERR invalid_format(QUERY <collection> <bucket> "<terms>" [LIMIT(<count>)]? '
            "[OFFSET(<count>)]? [LANG(<locale>)]?)"
        )
        assert search.ask("NOPE") == "ERR unknown_command"
        assert [search.ask("PING") for _ in range(3)] == ["PONG"] * 3
        during = scrape(port)
        assert control.ask("TRIGGER consolidate") == "OK"
        assert control.ask("TRIGGER nothing").startswith("ERR ")
        after = scrape(port)
    assert [during["sonicpy_connections", mode] for mode in ("none", "search", "ingest", "control")] == [0, 1, 1, 1]
    assert during["sonicpy_connections_opened_total", ""] - before["sonicpy_connections_opened_total", ""] == 3
    counts = {verb: during["sonicpy_command_seconds_count", verb] for verb in ("PUSH", "QUERY", "PING", "TRIGGER")}
    assert counts == {"PUSH": 20, "QUERY": 1, "PING": 3, "TRIGGER": 0}
    assert during["sonicpy_command_seconds_bucket", "PUSH"] == 20
    assert 0 < during["sonicpy_command_seconds_sum", "PUSH"] < 5
    assert during["sonicpy_errors_total", "unknown_command"] == during["sonicpy_errors_total", "invalid_format"] == 1
    assert during["sonicpy_received_bytes_total", ""] > 20 * len('PUSH c b o "eins zwei drei"')
    assert during["sonicpy_sent_bytes_total", ""] > 20 * len("OK\r\n")
    assert (during["sonicpy_buckets", ""], during["sonicpy_pending_buckets", ""]) == (2, 0), "they are small"
    assert during["sonicpy_store_map_bytes", ""] > during["sonicpy_store_used_bytes", ""] > 0
    assert during["sonicpy_log_bytes", ""] > 100
    assert during["sonicpy_refusing", ""] == 0
    if Path("/proc/self/stat").exists():
        assert during["process_resident_memory_bytes", ""] > 1 << 20
    assert [each["sonicpy_consolidation_seconds_count", ""] for each in (during, after)] == [0, 1]
    assert after["sonicpy_consolidation_seconds_sum", ""] > 0
    assert after["sonicpy_command_seconds_count", "TRIGGER"] == 1
    assert (after["sonicpy_pending_buckets", ""], after["sonicpy_uncommitted_changes", ""]) == (0, 0)


def test_the_documentation_names_every_metric(watched: tuple[Server, int]) -> None:
    _, port = watched
    families = re.findall(r"^# TYPE (sonicpy_\w+) ", get(port, "/metrics")[1], re.MULTILINE)
    assert sorted(re.findall(r"^\| `(sonicpy_\w+)` \|", DOCUMENT, re.MULTILINE)) == sorted(families)


def test_a_line_that_is_too_long_and_a_wrong_password_are_counted(tmp_path: Path) -> None:
    port = free_port()
    with Server(tmp_path, {"metrics.inet": f"{HOST}:{port}"}, password="SecretPassword") as server:
        with Peer(server, "search") as peer:
            peer.send(b"x" * 30_000)
            assert peer.rest() == b""
        with Peer(server) as peer:
            peer.send(b"START search wrong\n")
            assert peer.rest().endswith(b"ENDED authentication_failed\r\n")
        samples = scrape(port)
        assert samples["sonicpy_errors_total", "overflow"] == 1
        assert samples["sonicpy_errors_total", "authentication_failed"] == 1


def test_health_readiness_and_what_there_is_not(watched: tuple[Server, int]) -> None:
    _, port = watched
    assert get(port, "/healthz") == (200, "ok\n")
    assert get(port, "/readyz") == get(port, "/readyz/search") == (200, "ready\n")
    assert get(port, "/") == (404, "there are /metrics, /healthz, /readyz and /readyz/search\n")


def test_slow_clients_delay_neither_others_nor_the_stop(watched: tuple[Server, int]) -> None:
    """This has to be the last test that uses its server, which it stops."""
    server, port = watched
    dawdling = [socket.create_connection((HOST, port)) for _ in range(5)]
    try:
        for each in dawdling:
            each.sendall(b"GET /healthz HT")
        assert get(port, "/healthz")[0] == 200
        assert server.stop() == 0
        assert server.log() == ""
    finally:
        for each in dawdling:
            each.close()


def test_a_port_in_use_stops_the_start(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as taken:
        address = f"{HOST}:{taken.getsockname()[1]}"
        arguments = ["--inet", f"{HOST}:{free_port()}", "--data", str(tmp_path / "store")]
        status, said = refused_start(arguments, tmp_path, {"metrics.inet": address})
    assert (status, is_one_sentence(said)) == (1, True), said
    assert f"cannot listen on {address}: Address already in use; set metrics.inet" in said


def test_the_announcement_names_the_port(tmp_path: Path) -> None:
    command = serve_command("--inet", f"{HOST}:0", "--data", str(tmp_path / "store"))
    settings = {"metrics.inet": f"{HOST}:0"}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(settings), stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        assert get(int(line.split(f"metrics on {HOST}:")[1].split(",")[0]), "/healthz") == (200, "ok\n")
    finally:
        process.terminate()
        assert process.wait(WAIT_S) == 0
        process.stdout.close()


START = """\
import sys
sys.modules["prometheus_client"] = None  # as if it were not installed
from sonicpy.cli.main import main
sys.exit(main(["serve", "--inet", "127.0.0.1:0", "--data", "store"]))
"""


def test_without_the_package_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START],
        cwd=tmp_path,
        env=environment({"metrics.inet": f"{HOST}:0"}),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (done.returncode, is_one_sentence(done.stderr)) == (2, True), done.stderr
    assert "pip install 'sonicpy-search[metrics]'" in done.stderr
    assert not (tmp_path / "store").exists(), "nothing was touched"


def test_a_server_without_metrics_does_not_load_the_package() -> None:
    code = "import sys, sonicpy.cli.main; sys.exit('prometheus_client' in sys.modules or 'wsgiref' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=WAIT_S, check=False).returncode == 0


class TestInTrouble:
    """Answers of a server that has a problem."""

    def answers(self, folder: Path, ask: Callable[[Service, Asked], object], *paths: str) -> list[tuple[int, str]]:
        """Return the answers of a server; `ask` runs on its loop while the questions are under way."""

        async def run() -> list[tuple[int, str]]:
            with Index(folder, autocommit=False) as index, ThreadPoolExecutor() as pool:
                service = Service(index, Config())
                server = MetricsServer(service, HOST, 0)
                server.start()
                port = int(server.name.rpartition(":")[2])
                asked = [pool.submit(get, port, path) for path in paths]
                ask(service, asked)
                answers = [await asyncio.wrap_future(each) for each in asked]
                await server.stop()
                return answers

        return asyncio.run(run())

    def test_a_server_that_starts_is_not_ready(self, tmp_path: Path) -> None:
        answers = self.answers(tmp_path, lambda *_: None, "/healthz", "/readyz")
        assert answers == [(200, "ok\n"), (503, "the server is starting\n")]

    def test_nor_is_one_that_stops(self, tmp_path: Path) -> None:
        def stop(service: Service, _: Asked) -> None:
            service.unready = "the server is stopping"

        assert self.answers(tmp_path, stop, "/readyz") == [(503, "the server is stopping\n")]

    def test_nor_is_one_that_cannot_write(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Store, "refusing", property(lambda _: True))

        def serve(service: Service, _: Asked) -> None:
            service.unready = None

        ready, to_search, alive, page = self.answers(
            tmp_path, serve, "/readyz", "/readyz/search", "/healthz", "/metrics"
        )
        assert to_search == (200, "ready\n")
        assert ready == (503, "the store cannot be written: changes are refused, queries are answered\n")
        assert alive == (200, "ok\n")
        assert "\nsonicpy_refusing 1.0\n" in page[1]

    def test_a_loop_that_hangs_shows(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(metrics_module, "LOOP_S", 0.1)

        def hang(_: Service, asked: Asked) -> None:
            wait(asked, WAIT_S)

        answers = self.answers(tmp_path, hang, "/healthz", "/readyz", "/metrics")
        for status, said in answers:
            assert status == 503
            assert re.fullmatch(r"the server has not answered itself for \d+ s\n", said)

    def test_an_address_that_cannot_be_used(self, tmp_path: Path) -> None:
        async def listen() -> None:
            with (
                Index(tmp_path, autocommit=False) as index,
                socket.create_server((HOST, 0)) as taken,
                pytest.raises(SonicError, match="set metrics.inet to another one"),
            ):
                MetricsServer(Service(index, Config()), HOST, taken.getsockname()[1])

        asyncio.run(listen())
