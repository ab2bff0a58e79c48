"""HTTP in the process of `sonicpy serve`: one index for channel and HTTP, durability, passwords, settings, the end."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

pytest.importorskip("fastapi", reason="needs the extra [http]")
pytest.importorskip("uvicorn", reason="needs the extra [http]")

import sonicpy
from sonicpy.cli.main import main
from sonicpy.server.connections.passwords import FIRST_DELAY_S, FREE
from sonicpy.server.web import http, http_protocol
from tests.http.asking import Answer, Asking, ends, raw
from tests.processes import HOST, Server, environment, free_port, refused_start
from tests.server.peer import Peer
from tests.server.test_start import is_one_sentence
from tests.support.patience import WAIT_S, is_within, until

PASSWORD = "secret"
SCOPE = {"collection": "messages", "bucket": "default"}
EVERY_ADDRESS = "0.0.0.0"


class WithHttp(Server):
    """A server with HTTP."""

    def __init__(self, folder: Path, password: str | None = None, host: str = HOST, **settings: str) -> None:
        self.http_port = free_port()
        super().__init__(folder, {"http.inet": f"{host}:{self.http_port}", **settings}, password=password)

    def asking(self) -> Asking:
        """Return a connection with the right password."""
        return Asking(self.http_port, self.password)

    def status(self, path: str, password: str | None = None) -> int:
        """Return the status of one GET on a connection of its own."""
        with Asking(self.http_port, password) as asking:
            return asking.get(path).status

    def count(self, collection: str) -> int:
        """Return how many objects the bucket b of a collection has."""
        with self.asking() as asking:
            found: int = asking.get("/v1/count", collection=collection, bucket="b", objects="true").body["count"]
            return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WithHttp]:
    with WithHttp(tmp_path_factory.mktemp("http"), PASSWORD) as running:
        yield running


def objects_of(answer: Answer) -> list[str]:
    assert answer.status == 200, answer
    return [hit["object"] for hit in answer.body["hits"]]


def test_both_ways_show_the_same_at_once(server: WithHttp) -> None:
    with server.asking() as asking, Peer(server, "search") as search, Peer(server, "ingest") as ingest:
        for number in range(20):
            assert asking.post("/v1/push", **SCOPE, object=f"h{number}", text=f"overhttp{number}").status == 200
            assert search.results(f'QUERY messages default "overhttp{number}"') == [f"h{number}"]
            assert ingest.ask(f'PUSH messages default c{number} "overchannel{number}"') == "OK"
            assert objects_of(asking.get("/v1/query", **SCOPE, text=f"overchannel{number}")) == [f"c{number}"]
        assert asking.post("/v1/flush", **SCOPE).body == {"removed": 1}
        assert ingest.ask("COUNTB messages default") == "RESULT 0"


def test_every_operation_answers_from_the_server(server: WithHttp) -> None:
    scope = {"collection": "all", "bucket": "operations"}
    with server.asking() as asking:
        asking.post("/v1/push", **scope, object="o1", text="weather in Nantes")
        rows = b"".join(
            json.dumps({**scope, "object": f"o{n}", "text": f"row{n}"}).encode() + b"\n" for n in range(2, 700)
        )
        assert asking.stream("/v1/bulk", [rows[:5000], rows[5000:5001], rows[5001:]]).body["pushed"] == 698
        assert asking.post("/v1/consolidate").body == {"done": True}
        assert asking.get("/v1/suggest", **scope, word="wether").body == {"words": ["weather"]}
        assert "all" in asking.get("/v1/collections").body["names"]
        assert asking.get("/v1/buckets", collection="all").body == {"names": ["operations"]}
        assert asking.get("/v1/objects", **scope, after="o1", limit=2).body == {"names": ["o2", "o3"]}
        assert asking.get("/v1/objects", **scope, prefix="o69", limit=20).body["names"][:2] == ["o69", "o690"]
        assert asking.get("/v1/words", **scope, prefix="wea").body == {"words": ["weather"]}
        assert asking.get("/v1/count", **scope, objects="true").body == {"count": 699}
        assert asking.get("/v1/exists", **scope, object="o699").body == {"exists": True}
        assert asking.get("/v1/explain", **scope, text="wether").body["total"] == 1
        queries = [{**scope, "text": text} for text in ("wether", "nantes", "nothingness")]
        alone = [asking.post("/v1/query", **query).body for query in queries]
        assert alone[0]["hits"]
        assert asking.post("/v1/query/many", queries=queries).body == {"answers": alone}
        assert asking.get("/v1/facets", **scope, text="wether", of="*").body == {
            "total": 1, "tags": {"": {}}, "ranges": {},
        }  # fmt: skip
        assert asking.get("/v1/stats", **scope).body["objects"] == 699
        assert asking.post("/v1/verify").body == {"faults": []}
        found = asking.get("/v1/search", **scope, text="weather in nant").body
        assert (found["hits"][0]["object"], found["suggestions"]) == ("o1", ["nantes"])
        figures = asking.get("/v1/figures").body
        assert figures["verbs"]["HTTP push"]["count"] >= 1
        assert figures["index"]["collections"] >= 1
        backup = server.folder / "backup"
        assert asking.post("/v1/backup", folder=str(backup)).status == 200
        assert asking.post("/v1/flush", collection="all").status == 200
        assert asking.post("/v1/restore", folder=str(backup)).status == 200
        assert objects_of(asking.get("/v1/query", **scope, text="nantes")) == ["o1"]


@pytest.mark.full
def test_an_endless_body_is_refused_and_ends(server: WithHttp) -> None:
    part = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    head = (
        f"POST /v1/push HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {PASSWORD}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    with raw(server.http_port) as connection:
        connection.sendall(head.encode())
        with pytest.raises(ConnectionError):
            while True:
                connection.sendall(part)
    with raw(server.http_port) as connection:
        connection.sendall(head.encode() + part * 5)
        assert ends(connection).startswith(b"HTTP/1.1 413 ")


def test_a_client_that_still_sends_reads_why_it_is_refused(server: WithHttp) -> None:
    head = f"POST /v1/push HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {PASSWORD}\r\nContent-Length: 1000000\r\n\r\n"
    with raw(server.http_port) as connection:
        connection.sendall(head.encode())
        for _ in range(20):
            time.sleep(0.005)
            connection.sendall(b" " * 50_000)
        answer = ends(connection)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["status"] == 413


def test_a_client_that_sends_on_reads_why_a_body_without_a_length_is_refused(server: WithHttp) -> None:
    head = (
        f"POST /v1/push HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {PASSWORD}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    with raw(server.http_port) as connection:
        connection.sendall(head.encode())
        for _ in range(40):
            time.sleep(0.005)
            connection.sendall(b"4000\r\n" + b" " * 0x4000 + b"\r\n")
        answer = ends(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["status"] == 413


def test_a_client_that_sends_on_gets_the_answer_to_a_head_that_is_too_long(server: WithHttp) -> None:
    with raw(server.http_port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        for _ in range(64):
            connection.sendall(b"X: %b\r\n" % (b"y" * 4_000))
            time.sleep(0.001)
        answer = ends(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b"\r\n\r\nThe headers are too long; allowed are 65536 bytes.")


def test_a_connection_too_many_gets_the_reason_though_it_has_asked(server: WithHttp) -> None:
    head = f"POST /v1/push HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {PASSWORD}\r\nContent-Length: 9000\r\n\r\n"

    with contextlib.ExitStack() as stack:

        def is_refused() -> bool:
            connection = stack.enter_context(raw(server.http_port))
            for _ in range(20):
                connection.sendall(head.encode())
                time.sleep(0.005)
            connection.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                return connection.recv(100).startswith(b"HTTP/1.1 503 ")
            return False

        for _ in range(http_protocol.CONNECTIONS_MAX):
            stack.enter_context(raw(server.http_port)).sendall(head.encode())
        until(is_refused)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000,
        b"GET /" + b"x" * 200_000,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000,
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000 + b"GET",
        b"\x00\xff" * 1_000,
        b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999999999999999\r\n\r\n",
    ],
)
def test_what_is_too_much_ends_the_connection(server: WithHttp, sent: bytes) -> None:
    with raw(server.http_port) as connection:
        try:
            connection.sendall(sent)
        except ConnectionError:
            return
        assert b"HTTP/1.1 " in ends(connection) + b"HTTP/1.1 "
    assert server.status("/health") == 200


def test_a_client_that_leaves_keeps_what_was_pushed(server: WithHttp) -> None:
    rows = b"".join(
        json.dumps({"collection": "left", "bucket": "b", "object": f"o{n}", "text": f"early{n}"}).encode() + b"\n"
        for n in range(600)
    )
    head = f"POST /v1/bulk HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {PASSWORD}\r\nContent-Length: 10000000\r\n\r\n"
    with raw(server.http_port) as connection:
        connection.sendall(head.encode() + rows + b'{"half a')
        until(lambda: server.count("left") >= 500)
    assert server.status("/health") == 200  # the log holds no traceback: the fixture looks


def test_pipelined_requests_are_answered_in_order(server: WithHttp) -> None:
    asked = b"".join(
        f"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: n{number}\r\n\r\n".encode() for number in range(10)
    )
    with raw(server.http_port) as connection:
        connection.sendall(asked + b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answers = ends(connection)
    places = [answers.index(f"x-request-id: n{number}\r".encode()) for number in range(10)]
    assert places == sorted(places)
    assert answers.count(b'{"status":"ok"}') == 11


def test_wrong_passwords_wait_and_count_for_both_ways(tmp_path: Path) -> None:
    with WithHttp(tmp_path, PASSWORD) as server:
        began = time.monotonic()
        for _ in range(3):
            assert server.status("/v1/collections", "wrong") == 401
        with Peer(server) as peer:
            peer.line()
            peer.ask("START search wrong")
        assert server.status("/v1/collections", "wrong") == 401
        assert time.monotonic() - began > 0.2, "the fifth waits"
        with server.asking() as asking, Peer(server, "search") as search:
            began = time.monotonic()
            assert asking.get("/v1/collections").status == 200
            assert search.ask("PING") == "PONG"
            assert is_within(5, began)
        assert server.status("/health") == 200


def wrong_at_once(server: WithHttp, count: int, source: str) -> list[int]:
    """Return the statuses of simultaneous requests with wrong passwords from one address, as different clients by their
    headers.
    """
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(raw(server.http_port, source)) for _ in range(count)]
        for number, peer in enumerate(peers):
            peer.sendall(asking_wrongly(f"198.51.100.{number}"))
        return [int(ends(peer)[9:12]) for peer in peers]


def asking_wrongly(client: str) -> bytes:
    head = f"GET /v1/collections HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: {client}\r\nConnection: close\r\n"
    return f"{head}Authorization: Bearer wrong\r\n\r\n".encode()


@pytest.mark.full
@pytest.mark.parametrize("proxies", [HOST, ""])
def test_wrong_passwords_are_bounded_by_the_connection(tmp_path: Path, proxies: str) -> None:
    with WithHttp(tmp_path, PASSWORD, **{"http.proxies": proxies}) as server:
        assert set(wrong_at_once(server, 40, HOST)) == {401, 429}
        assert server.status("/v1/collections", PASSWORD) == 200


def test_a_server_that_stops_does_not_wait_for_delayed_refusals(tmp_path: Path) -> None:
    with WithHttp(tmp_path, PASSWORD) as server, contextlib.ExitStack() as stack:
        peers = [stack.enter_context(raw(server.http_port)) for _ in range(40)]
        for peer in peers:
            peer.sendall(asking_wrongly("198.51.100.1"))
        until(lambda: peers[-1].recv(12), "the last one is refused, because too many wait")
        began = time.monotonic()
        assert server.stop() == 0
        assert is_within(http.STOP_S, began)
        assert {ends(peer)[9:12] for peer in peers[:-1]} <= {b"401", b"429"}
        assert server.log() == ""


@pytest.mark.skipif(sys.platform != "linux", reason="needs all of 127.0.0.0/8")
def test_the_client_that_a_configured_proxy_names_is_counted(tmp_path: Path) -> None:
    with WithHttp(tmp_path, PASSWORD, **{"http.proxies": "127.0.0.2, 127.0.0.3"}) as server:

        def ask(source: str) -> float:
            with raw(server.http_port, source) as peer:
                began = time.monotonic()
                peer.sendall(asking_wrongly("198.51.100.7"))
                assert ends(peer).startswith(b"HTTP/1.1 401 ")
                return time.monotonic() - began

        for _ in range(FREE):
            ask("127.0.0.2")
        assert ask("127.0.0.3") >= FIRST_DELAY_S * 0.9, "a connection from elsewhere, for the same client"


def test_a_foreign_host_and_odd_targets(tmp_path: Path) -> None:
    with WithHttp(tmp_path, host="localhost", **{"http.hosts": "search.example.com"}) as server:
        for target, host, status in (
            ("/v1/collections", "localhost", 200),
            ("/v1/collections", "search.example.com", 200),
            ("/v1/collections", "evil.example", 403),
            ("http://search.example.com/v1/collections", "search.example.com", 200),
            ("http://evil.example/v1/collections", "localhost", 403),
            (f"http://[::1]:{server.http_port}/v1/collections", "evil.example", 200),
            ("*", "localhost", 403),
            ("evil.example:80", "localhost", 400),
            ("/health", "evil.example", 200),
            ("http://evil.example/health", "localhost", 200),
            ("/health%0A", "evil.example", 403),
        ):
            with raw(server.http_port) as peer:
                peer.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                assert ends(peer).startswith(f"HTTP/1.1 {status} ".encode()), (target, host)


@pytest.mark.parametrize("durability", ["interval", "commit"])
def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path, durability: str) -> None:
    server = WithHttp(tmp_path, **{"store.kv.durability": durability})
    server.start()
    try:
        with server.asking() as asking:
            rows = [json.dumps({**SCOPE, "object": f"b{n}", "text": f"bulk{n}"}).encode() + b"\n" for n in range(300)]
            assert asking.stream("/v1/bulk", [b"".join(rows)]).body["pushed"] == 300
            for number in range(30):
                assert asking.post("/v1/push", **SCOPE, object=f"o{number}", text=f"kept{number}").status == 200
            rules = ["tv, television"]
            assert asking.post("/v1/synonyms", collection=SCOPE["collection"], rules=rules).body == {"rules": 1}
    finally:
        server.kill()
    with sonicpy.open(server.folder / "store") as index:
        assert index.count_objects(*SCOPE.values()) == 330
        assert index.query(*SCOPE.values(), "kept29") == ["o29"]
        assert index.query(*SCOPE.values(), "bulk299") == ["b299"]
        assert index.synonyms(SCOPE["collection"]) == rules


@pytest.mark.parametrize("space", [" ", "\n", "\t", "\u3000"])
def test_a_long_text_keeps_its_words(server: WithHttp, space: str) -> None:
    bucket, text = {"collection": "long", "bucket": f"b{ord(space)}"}, space.join(f"word{n}" for n in range(3_000))
    with server.asking() as asking:
        assert asking.post("/v1/push", **bucket, object="o", text=text).status == 200
        assert asking.get("/v1/count", **bucket).body["count"] == 3_000
        assert asking.post("/v1/pop", **bucket, object="o", text=text).body["removed"] == 3_000


@pytest.mark.parametrize("filter", [None, "old AND NOT new"])
def test_a_large_object_is_gone_when_the_answer_comes(server: WithHttp, filter: str | None) -> None:
    bucket, text = {"collection": "large", "bucket": "b"}, " ".join(f"word{number}" for number in range(1_500))
    with server.asking() as asking:
        for _ in range(3):
            for name, tags in (("old", ["old"]), ("new", ["old", "new"])):
                assert asking.post("/v1/push", **bucket, object=name, text=f"{text} {name}", tags=tags).status == 200
            which = {"object": "old"} if filter is None else {"filter": filter}
            removed = asking.post("/v1/flush", **bucket, **which).body["removed"]
            assert removed == (1_501 if filter is None else 1)
            assert asking.get("/v1/stats", **bucket).body["objects"] == 1
            assert objects_of(asking.get("/v1/query", **bucket, text="word7", total="true")) == ["new"]
        wrong = asking.post("/v1/flush", **bucket, object="new", filter="old")
        assert (wrong.status, wrong.body["detail"][:9]) == (400, "filter is")


def test_other_machines_need_a_password_unless_told_otherwise(tmp_path: Path) -> None:
    arguments = ["--inet", f"{HOST}:{free_port()}", "--data", str(tmp_path / "store")]
    status, said = refused_start(arguments, tmp_path, {"http.inet": f"{EVERY_ADDRESS}:{free_port()}"})
    assert status == 2
    assert "channel.auth_password is not set" in said
    assert "http.without_password" in said


@pytest.mark.full
def test_a_public_address_that_changes_nothing_stops_in_time(tmp_path: Path) -> None:
    allowed = {"http.without_password": "true", "http.read_only": "true", "http.page": "false"}
    with WithHttp(tmp_path, host=EVERY_ADDRESS, **allowed) as server:
        with server.asking() as asking:
            refused = asking.post("/v1/push", **SCOPE, object="o", text="t")
            assert (refused.status, refused.body["detail"]) == (403, "this address is read-only")
            assert asking.get("/").status == 404
        with server.asking() as asking:
            assert asking.get("/v1/collections").body == {"names": []}
        idle, slow = raw(server.http_port), raw(server.http_port)
        with idle, slow:
            slow.sendall(b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            time.sleep(0.1)
            assert server.stop() == 0
            ends(idle)


START = """\
import sys
sys.modules["uvicorn"] = None  # as if it were not installed
from sonicpy.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.full
@pytest.mark.parametrize("arguments", [["serve", "--inet", f"{HOST}:0"], ["browse", "store"]])
def test_a_missing_package_is_one_sentence(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, *arguments],
        cwd=tmp_path,
        env=environment({"http.inet": f"{HOST}:0"}),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (done.returncode, is_one_sentence(done.stderr)) == (2, True), done.stderr
    assert "pip install 'sonicpy-search[http]'" in done.stderr


@contextlib.contextmanager
def browsing(what: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Yield a process of `sonicpy browse` and its first line; a block that fails ends the process."""
    command = [sys.executable, "-m", "sonicpy", "browse", what, "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment({})) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        except BaseException:  # Popen would wait for a process that nothing ends
            process.kill()
            raise


@pytest.mark.full
def test_browse_shows_a_folder_to_this_machine_alone(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        index.push("notes", "mine", "note:1", "a small note")
    with browsing(str(tmp_path / "store")) as (process, said):
        shown = re.search(r"http://127.0.0.1:(\d+)/", said)
        assert shown is not None
        with Asking(int(shown[1])) as asking:
            assert objects_of(asking.get("/v1/query", collection="notes", bucket="mine", text="small")) == ["note:1"]
            assert asking.post("/v1/push", collection="n", bucket="b", object="o", text="t").status == 403
        for target, host in (("GET /v1/collections", "evil.example"), ("POST /v1/flush%0A", "localhost")):
            with raw(int(shown[1])) as connection:
                head = f"{target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
                connection.sendall(
                    f'{head}Connection: close\r\nContent-Length: 22\r\n\r\n{{"collection":"notes"}}'.encode()
                )
                assert ends(connection).startswith(b"HTTP/1.1 403")
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 130


@pytest.mark.full
def test_browse_of_a_server_shows_no_password(server: WithHttp) -> None:
    url = f"sonic://:{server.password}@{HOST}:{server.port}"
    with browsing(url) as (process, said):
        process.terminate()
    assert said.startswith(f"{HOST}:{server.port} is shown on http://{HOST}:")


def test_browse_takes_the_password_of_the_variable_and_names_a_port_in_use(
    server: WithHttp, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["browse", f"sonic://{HOST}:{server.port}", "--no-open"]
    monkeypatch.delenv("SONICPY_PASSWORD", raising=False)
    assert main(where) == 1
    assert "requires a password" in capsys.readouterr().err
    monkeypatch.setenv("SONICPY_PASSWORD", str(server.password))
    assert main([*where, "--port", str(server.port)]) == 1
    said = f"sonicpy: cannot listen on {HOST}:{server.port}: Address already in use; set --port to a free one\n"
    assert capsys.readouterr().err == said
    with pytest.raises(SystemExit) as exit_:
        main([*where, "--port", "65536"])
    assert exit_.value.code == 2
    assert "65536 is no port; allowed are numbers up to 65535" in capsys.readouterr().err


def test_a_server_without_http_imports_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with Server(tmp_path) as server:
        pass
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in server.log().splitlines() if "|" in line}
    whole = {line.rpartition("|")[2].strip() for line in server.log().splitlines() if "|" in line}
    assert "sonicpy.server.server" in whole
    assert not imported & {"fastapi", "starlette", "uvicorn", "httptools", "h11"}
    assert not [name for name in whole if name.startswith(("sonicpy.http", "sonicpy.server.web.http"))]


def test_slow_headers_end_in_time(server: WithHttp) -> None:
    """The test calls the sweep with its own clock, because waiting for the limits takes too long for the gate."""
    protocol = mock.Mock(spec=http_protocol.LimitedProtocol)
    now = time.monotonic()
    protocol.cycle, protocol._due, protocol._stuck_since = None, now + 5, float("inf")
    protocol.is_waiting = True
    overdue = http_protocol.LimitedProtocol.is_overdue
    assert not overdue(protocol, now)
    assert overdue(protocol, now + 6)
    protocol.is_waiting = False
    assert not overdue(protocol, now + 6)
    protocol._stuck_since = now
    assert overdue(protocol, now + http_protocol.STUCK_S + 1)


@pytest.mark.parametrize("origin", ['["https://a.example"]', "https://a.example/", "a.example"])
def test_what_is_no_origin_is_refused(tmp_path: Path, origin: str) -> None:
    status, said = refused_start(["--inet", f"{HOST}:0"], tmp_path, {"http.origins": origin})
    assert (status, is_one_sentence(said)) == (2, True), said
    assert "http.origins" in said
    assert "https://example.com" in said


@pytest.mark.full
def test_connections_that_are_reset_leave_nothing(tmp_path: Path) -> None:
    def reset(count: int) -> None:
        for _ in range(count):
            with raw(server.http_port) as peer:
                peer.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert peer.recv(5) == b"HTTP/"  # what is left unread makes the close a reset

    with WithHttp(tmp_path) as server:
        reset(100)
        rss_bytes = server.rss_bytes()
        reset(250)
        assert server.rss_bytes() - rss_bytes < 1 << 20
