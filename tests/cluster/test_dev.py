"""`sonicpy cluster dev` as a user runs it, and the recorded scenarios of Sonic played against one of its nodes."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from sonicpy.config import Config
from sonicpy.errors import ConfigError
from tests.cluster.judge import Channel
from tests.processes import HOST, environment, run_here
from tests.transcripts import test_golden as golden

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.operator.dev import START_S, DevCluster, held  # noqa: E402
from sonicpy.cluster.operator.restarts import PAUSE_S, Restarts  # noqa: E402
from tests.cluster.clusters import broker_program  # noqa: E402
from tests.support import proc
from tests.support.patience import WAIT_S, is_within, until

PASSWORD = "SecretPassword"


@contextmanager
def running(
    *arguments: str,
    settings: dict[str, object] | None = None,
    status: int = 0,
    lines: list[list[str]] | None = None,
) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Run `cluster dev` inside a `with` block; yield it and the ports of its nodes once it is ready.

    Args:
        status: the expected exit status.
        lines: a list that gets the words of each printed line.
    """
    lines = [] if lines is None else lines
    broker_program()
    process = subprocess.Popen(
        [sys.executable, "-m", "sonicpy", "cluster", "dev", *arguments],
        env=environment(settings or {}),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            lines.append(line.split())
            if line == "ready\n":
                break
        else:
            pytest.fail(f"it never was ready: {lines}")
        yield process, [int(words[2].rpartition(":")[2]) for words in lines if words[0] == "node"]
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == status
        process.stdout.close()


def test_a_folder_has_one_cluster_at_a_time(tmp_path: Path) -> None:
    with held(tmp_path / "data"), pytest.raises(ConfigError, match="another sonicpy cluster dev"):
        held(tmp_path / "data").__enter__()
    with held(tmp_path / "data"):
        pass


@pytest.mark.parametrize(
    ("number", "wait_for"),
    [(signal.SIGTERM, "b1/nats.conf"), pytest.param(signal.SIGINT, "n1", marks=pytest.mark.full)],
)
def test_it_ends_soon_if_it_is_stopped_before_it_is_ready(
    tmp_path: Path, number: signal.Signals, wait_for: str
) -> None:
    broker_program()
    command = [sys.executable, "-m", "sonicpy", "cluster", "dev", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment({})) as process:
        until(lambda: (tmp_path / wait_for).exists())
        process.send_signal(number)
        began_s = time.monotonic()
        assert process.communicate(timeout=WAIT_S) == (b"", None)
        assert process.returncode == 0
        assert is_within(15, began_s)


def test_each_node_has_places_of_its_own(tmp_path: Path) -> None:
    settings = {"http": {"inet": "[::1]:8491"}, "channel": {"unix_socket": str(tmp_path / "sonic.sock")}}
    cluster = DevCluster(tmp_path, 2, 2, config=Config.model_validate(settings))
    sockets = {place["channel.unix_socket"] for place in cluster.places.values()}
    assert sockets == {str(tmp_path / f"sonic-{name}.sock") for name in cluster.layout.nodes}
    addresses = {place["http.inet"] for place in cluster.places.values()}
    others = {f"{HOST}:{port}" for ports in (cluster.broker_ports, cluster.node_ports) for port in ports.values()}
    assert len(addresses) == 3 and not addresses & others
    assert not any(DevCluster(tmp_path, 2, 2).places.values())


def test_a_wrong_setting_is_refused_before_anything_starts(tmp_path: Path) -> None:
    command = ["cluster", "dev", "--data", str(tmp_path / "data")]
    status, output, error = run_here(command, tmp_path, {"http.inet": "nowhere"})
    assert (status, output) == (2, "") and "SONIC_HTTP__INET" in error
    assert not (tmp_path / "data").exists()


@pytest.mark.full
def test_settings_that_name_one_place_do_for_three_nodes(tmp_path: Path) -> None:
    lines: list[list[str]] = []
    settings = {"http.inet": f"{HOST}:8491", "channel.unix_socket": tmp_path / "sonic.sock"}
    with running("--partitions", "2", settings=settings, lines=lines):
        places = [dict(word.split("=") for word in words[3:]) for words in lines if words[0] == "node"]
        assert len({place["http.inet"] for place in places}) == 3
        for place in places:
            with urlopen(f"http://{place['http.inet']}/docs", timeout=WAIT_S) as answer:
                assert answer.status == 200
            assert Path(place["channel.unix_socket"]).is_socket()


@pytest.mark.full
def test_a_folder_of_another_layout_is_refused_at_once(tmp_path: Path) -> None:
    with running("--data", str(tmp_path), "--partitions", "2", "--copies", "2"):
        pass
    began_s = time.monotonic()
    status, output, error = run_here(["cluster", "dev", "--data", str(tmp_path), "--partitions", "2"], tmp_path)
    assert is_within(START_S / 2, began_s)
    assert (status, output) == (2, "")
    assert f"--data is {tmp_path}: these brokers hold a cluster with another layout" in error


@contextmanager
def on_sighup(action: signal.Handlers) -> Iterator[None]:
    """Set the action on SIGHUP for processes that are started inside a `with` block."""
    before = signal.signal(signal.SIGHUP, action)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def wait_until_ended(processes: list[int]) -> None:
    until(lambda: not any(map(proc.is_running, processes)), "all processes end")


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see the processes")
def test_it_runs_until_sigterm_and_leaves_no_process(tmp_path: Path) -> None:
    for run in range(2):
        with running("--data", str(tmp_path / "data"), "--partitions", "2") as (process, ports):
            children = proc.children(process.pid)
            assert len(children) == 6
            assert len(ports) == 3
            channel = Channel(ports[run])
            assert channel.ask(f'PUSH c b o{run} "apple"\n'.encode()) == b"OK"
            assert channel.ask(f"TAG c b o{run} TAGS(red)\n".encode()) == b"RESULT 1", "a new cluster needs no upgrade"
            assert channel.ask(b"COUNTB c b\n") == f"RESULT {run + 1}".encode()  # the first run's is still there
            channel.close()
        wait_until_ended(children)


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has ended")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGHUP, 0)])
def test_its_processes_end_with_it_however_it_ends(tmp_path: Path, number: signal.Signals, status: int) -> None:
    with on_sighup(signal.SIG_DFL), running("--data", str(tmp_path), "--partitions", "2", status=status) as started:
        process, _ = started
        children = proc.children(process.pid)
        process.send_signal(number)
        process.wait(WAIT_S)
    assert len(children) == 6
    wait_until_ended(children)
    for name in ("n1", "n2", "n3"):
        assert "Traceback" not in (tmp_path / name / "log.txt").read_text()


def push_everywhere(ports: list[int], names: Iterator[int], acknowledged: list[str]) -> None:
    """Push an object to every node, each until it is acknowledged."""
    deadline = time.monotonic() + WAIT_S
    for port in ports:
        oid = f"o{next(names)}"
        while True:
            assert time.monotonic() < deadline
            try:
                channel = Channel(port)
                answer = channel.ask(f'PUSH c b {oid} "apple"\n'.encode())
                channel.close()
            except (OSError, AssertionError):
                answer = b""
            if answer == b"OK":
                acknowledged.append(oid)
                break
            time.sleep(0.05)


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see the processes")
def test_everything_that_is_killed_comes_back_by_itself(tmp_path: Path) -> None:
    """First only the processes of `cluster dev` are killed, then also `cluster dev` itself; acknowledged changes are
    kept."""
    names, acknowledged = itertools.count(), list[str]()
    arguments = ("--data", str(tmp_path / "data"), "--partitions", "2")
    with running(*arguments, status=-signal.SIGKILL) as (process, ports):
        for _ in range(2):
            push_everywhere(ports, names, acknowledged)
            children = proc.children(process.pid)
            for child in children:
                os.kill(child, signal.SIGKILL)
            until(
                lambda before=set(children): len(set(proc.children(process.pid)) - before) >= 6,  # type: ignore[misc]
                "everything is started again",
            )
        push_everywhere(ports, names, acknowledged)
        children = proc.children(process.pid)
        process.kill()
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        wait_until_ended(children)
    with running(*arguments) as (_, ports):
        push_everywhere(ports, names, acknowledged)
        channel = Channel(ports[0], "search")
        # The first node may be behind the two that acknowledged the last changes.
        until(
            lambda: sorted(channel.event(b'QUERY c b "apple" LIMIT(100)\n')) == sorted(acknowledged),
            "the first node knows all acknowledged changes",
        )
        channel.close()


def test_what_ends_is_started_again_after_a_pause(tmp_path: Path) -> None:
    class Processes:
        folder = tmp_path

        def __init__(self) -> None:
            self.down: list[str] = []
            self.started: list[str] = []

        def ended(self) -> Iterator[str]:
            yield from self.down

        def start_again(self, name: str) -> None:
            self.started.append(name)
            self.down.remove(name)

    clock, said, processes = [0.0], list[str](), Processes()
    restarts = Restarts(processes, said.append, lambda: clock[0])
    restarts.look()
    processes.down = ["n1", "b2"]
    for _ in range(2 * int(PAUSE_S)):
        restarts.look()
        clock[0] += 1.0
        if processes.started == ["n1"]:
            break
    assert sorted(processes.started) == ["b2", "n1"]
    assert clock[0] >= PAUSE_S
    assert [line.partition(" has ended, and is started again")[0] for line in said] == ["n1", "b2"]


@pytest.mark.full
def test_a_closed_terminal_does_not_stop_it_if_it_was_started_by_nohup(tmp_path: Path) -> None:
    with on_sighup(signal.SIG_IGN), running("--data", str(tmp_path), "--partitions", "2") as (process, ports):
        process.send_signal(signal.SIGHUP)
        for port in ports:
            channel = Channel(port)
            assert channel.ask(b"PING\n") == b"PONG"
            channel.close()


@pytest.mark.full
def test_a_node_answers_every_recorded_scenario_as_one_machine() -> None:
    files = sorted(str(path) for path in (golden.FOLDER / "golden").glob("[0-9]*.txt"))
    settings = {"server.compat": "sonic", "channel.auth_password": PASSWORD}
    with running(settings=settings) as (_, ports):
        for port in ports[:2]:
            done = subprocess.run(
                [
                    *(sys.executable, str(golden.FOLDER / "replay.py"), *golden.COMMON),
                    *("--host", "127.0.0.1", "--port", str(port), "--password", PASSWORD, *files),
                ],
                env=os.environ,
                capture_output=True,
                text=True,
                timeout=WAIT_S,
                check=False,
            )
            golden.check(done, len(files))
