"""Tests of `sonicpy load` with real servers and agents as processes, and with servers that fail."""

import asyncio
import contextlib
import csv
import json
import math
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

import sonicpy
from sonicpy.client.address import Address
from sonicpy.errors import LoadError
from sonicpy.load.agent import Agent
from sonicpy.load.hub import LoadOutcome, open_hub
from sonicpy.load.messages import LINE_BYTES_MAX, QueryStatus, Result
from sonicpy.load.report import as_text, processing_times, timings
from sonicpy.load.shards import Shards
from sonicpy.load.test_set import TestSet, read_test_set
from tests.processes import HOST, Server, environment, free_port
from tests.support import proc
from tests.support.patience import WAIT_S, until

LETARETTE = '{"iterations": 20, "SPACES": ["wp"], "Queries": ["bike", "new york", "-not", "pre*"], "Color": 1}'
PASSWORD = "secret"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sonicpy", "load", *arguments],
        capture_output=True, text=True, timeout=WAIT_S, check=False, env=environment({}),
    )  # fmt: skip


@contextmanager
def three_servers(tmp_path: Path) -> Iterator[list[Server]]:
    """Three servers; each of 30 objects is on one of them."""
    folders = [tmp_path / str(number) for number in range(3)]
    for folder in folders:
        folder.mkdir()
    with (
        Server(folders[0], password=PASSWORD) as first,
        Server(folders[1], password=PASSWORD) as second,
        Server(folders[2], password=PASSWORD) as third,
    ):
        servers = [first, second, third]
        for number, server in enumerate(servers):
            with sonicpy.connect(f"sonic://:{PASSWORD}@{HOST}:{server.port}") as client:
                for row in range(number, 30, 3):
                    client.push("wp", "default", f"o{row}", f"bike number{row} new york")
        yield servers


@pytest.mark.full
def test_runs_over_three_servers_with_agents_of_its_own(tmp_path: Path) -> None:
    set_file = tmp_path / "set.json"
    set_file.write_text(LETARETTE)
    with three_servers(tmp_path) as servers:
        addresses = ",".join(f"{HOST}:{server.port}" for server in servers)
        hub = f"{HOST}:{free_port()}"
        done = run("run", "--hub", hub, "--agents", "2", "--server", addresses, "--password", PASSWORD, "--strict",
                   "--output", str(tmp_path / "out.csv"), "--json", str(tmp_path / "out.json"), "--seed", "1",
                   str(set_file))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Testset run on 2 concurrent agents in ")
    assert "Success ratio: 100.0000%" in done.stdout
    assert done.stderr.splitlines() == [
        f'sonicpy: the key "Color" in {set_file} has no meaning',
        "sonicpy: 2 queries use syntax the server does not have: sent as plain text",
    ]
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.reader(file))
    held = json.loads((tmp_path / "out.json").read_text())
    assert len(rows) == held["queries"] == 40
    assert {row[2] for row in rows} <= {"found in index", "not found"}
    assert {row[5] for row in rows if row[4] == "bike"} == {"3"}  # Limit 0: one hit of each server
    roundtrips = sorted(float(row[0]) for row in rows)
    assert held["roundtrip_s"]["Median"] == roundtrips[20]
    assert held["roundtrip_s"]["99%"] == roundtrips[39]
    assert math.isclose(held["roundtrip_s"]["Mean"], sum(roundtrips) / 40)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a parent's death signal")
def test_agents_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    set_file = tmp_path / "set.json"
    set_file.write_text(LETARETTE)
    port = free_port()
    command = [sys.executable, "-m", "sonicpy", "load", "run", "--hub", f"{HOST}:{port}", "--agents", "1",
               "--server", f"{HOST}:{free_port()}", str(set_file)]  # fmt: skip
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment({}))
    try:
        agents = until(lambda: proc.children(running.pid), "an agent is started")
    finally:
        running.kill()
        running.wait()
    until(lambda: not any(map(proc.is_running, agents)), "the agents end")


@pytest.mark.full
def test_agents_come_first_and_serve_many_runs(tmp_path: Path) -> None:
    set_file = tmp_path / "set.json"
    hub = f"{HOST}:{free_port()}"
    (tmp_path / "s").mkdir()
    with Server(tmp_path / "s") as server:
        command = [sys.executable, "-m", "sonicpy", "load", "agent", "--hub", hub, "--server", f"{HOST}:{server.port}"]
        agents = [subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment({})) for _ in range(2)]
        time.sleep(1)
        try:
            listed = run("list", "--hub", hub, "--wait", "1.5", "--json")
            assert len(json.loads(listed.stdout)) == 2
            for operation, queries in (("ping", ["x"]), ("count", ["o"]), ("suggest", ["bi"])):
                set_file.write_text(
                    json.dumps({"Iterations": 5, "Queries": queries, "Op": operation, "Spaces": ["c/b"], "Warmup": 2})
                )
                done = run("run", "--hub", hub, "--wait", "0.7", "--limit", "1", "--strict", str(set_file))
                assert done.returncode == 0, done.stderr
                assert "Testset run on 1 concurrent agents" in done.stdout
        finally:
            for agent in agents:
                agent.terminate()
            for agent in agents:
                agent.wait(WAIT_S)


@pytest.mark.full
def test_no_agent_and_no_set(tmp_path: Path) -> None:
    set_file = tmp_path / "set.json"
    set_file.write_text(LETARETTE)
    hub = f"{HOST}:{free_port()}"
    done = run("run", "--hub", hub, "--wait", "0.1", str(set_file))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("sonicpy: no agents available\n")
    assert run("list", "--hub", hub, "--wait", "0.1").returncode == 2
    set_file.write_text('{"Iterations": 0, "Queries": ["a"]}')
    done = run("run", "--hub", hub, str(set_file))
    assert done.returncode == 3
    assert done.stderr == f"sonicpy: {set_file}: Iterations: Input should be greater than or equal to 1\n"


def connected(port: int) -> socket.socket | None:
    """Return a connection, or None if no server listens."""
    with contextlib.suppress(OSError):
        return socket.create_connection((HOST, port), WAIT_S)
    return None


@pytest.mark.full
def test_an_agent_that_does_not_answer_is_named(tmp_path: Path) -> None:
    set_file = tmp_path / "set.json"
    set_file.write_text('{"Iterations": 1, "Queries": ["a"]}')
    port = free_port()

    def silent() -> None:
        with until(lambda: connected(port), "the hub is there") as connection, contextlib.suppress(OSError):
            connection.sendall(b'{"type": "hello", "id": "the silent one"}\n')
            while connection.recv(1000):
                pass

    thread = threading.Thread(target=silent)
    thread.start()
    done = run("run", "--hub", f"{HOST}:{port}", "--wait", "1.5", "--deadline", "0.5", str(set_file))
    thread.join()
    assert done.returncode == 4, done.stderr
    assert "No whole results from: the silent one" in done.stdout
    assert "Success ratio: 0.0000%" in done.stdout


@pytest.mark.full
def test_strangers_at_the_hub_change_nothing() -> None:
    port = free_port()
    sayings = (b"GET / HTTP/1.1\r\n\r\n", b"[]\n", b'{"type": "hello"}\n', b"x" * (LINE_BYTES_MAX + 9))

    def stranger(said: bytes) -> None:
        with until(lambda: connected(port), "the hub is there") as connection, contextlib.suppress(OSError):
            connection.sendall(said)
            connection.settimeout(WAIT_S)
            connection.recv(10)

    threads = [threading.Thread(target=stranger, args=(said,)) for said in sayings]
    for thread in threads:
        thread.start()
    done = run("list", "--hub", f"{HOST}:{port}", "--wait", "1")
    for thread in threads:
        thread.join()
    assert (done.returncode, done.stdout, done.stderr) == (2, "0 agents responding: []\n", "")


def answer(replies: list[bytes]) -> Address:
    """Return the address of a server that sends one of `replies` after each line that it receives, and then closes."""
    listener = socket.create_server((HOST, 0))

    def serve() -> None:
        with listener:
            connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            connection.sendall(b"CONNECTED <sonic-server v1>\r\n")
            for reply, _ in zip(replies, lines, strict=False):
                connection.sendall(reply)

    threading.Thread(target=serve, daemon=True).start()
    return Address(HOST, listener.getsockname()[1])


STARTED = b"STARTED search protocol(1) buffer(20000)\r\n"


@pytest.mark.parametrize(
    ("replies", "status", "hits"),
    [
        ([STARTED, b"PENDING x\r\nEVENT QUERY x a b\r\n"], QueryStatus.FOUND, 2),
        ([STARTED, b"PENDING x\r\nEVENT QUERY x \r\n"], QueryStatus.NOT_FOUND, 0),
        ([STARTED, b"ERR query_error\r\n"], QueryStatus.REFUSED, 0),
        ([b"ENDED authentication_failed\r\n"], QueryStatus.REFUSED, 0),
        ([STARTED, b"PENDING x\r\n"], QueryStatus.LOST, 0),
        ([STARTED, b""], QueryStatus.LOST, 0),
    ],
)
def test_every_end_of_a_query_has_a_status(replies: list[bytes], status: int, hits: int) -> None:
    asked = TestSet(Iterations=1, Queries=["q"], Limit=10)
    with closing(Shards([answer(replies)], asked, 2.0)) as shards:
        result = shards.ask("q")
    assert (result.status, result.hits, bool(result.error)) == (status, hits, status not in (42, 44))


@asynccontextmanager
async def running(agent: Agent) -> AsyncIterator["asyncio.Task[None]"]:
    """Run an agent for the length of a block; after it no socket is open."""
    task = asyncio.create_task(agent.run())
    try:
        yield task
    finally:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0.01)  # transports close in the iteration after that of `close`


async def outcome_of(asked: TestSet) -> LoadOutcome:
    """Return the outcome of a run with one agent whose server is not there."""
    hub_at = (HOST, free_port())
    async with running(Agent(hub_at, [Address(HOST, free_port())], 1, 1.0)), open_hub(hub_at) as hub:
        return await hub.run(asked, await hub.gather(WAIT_S, 1), 1, WAIT_S)


@pytest.mark.full
def test_results_of_long_queries_take_several_lines() -> None:
    for query, count in (("w" * 1200, 1500), ("\u00e9" * 100_000, 3)):
        outcome = asyncio.run(outcome_of(TestSet(Iterations=count, Queries=[query])))
        assert outcome.missing == []
        assert [result.query == query for _, result in outcome.results] == [True] * count


def test_a_set_that_fits_no_message_is_not_sent() -> None:
    with pytest.raises(LoadError, match="the ids of 1 agents take .* allowed are 1048576"):
        asyncio.run(outcome_of(TestSet(Iterations=1, Queries=["w" * LINE_BYTES_MAX])))


BAD_LINES = [
    b"x" * (LINE_BYTES_MAX + 9) + b"\n",
    b"[" * 100_000 + b"\n",
    b'{"type": "request", "filter": 5}\n',
    b'{"type": "request", "filter": ["me"], "run": "1", "seed": Infinity, "set": {}}\n',
    b'{"type": "request", "filter": ["me"], "run": "1", "seed": 1, "set": {"Iterations": 0}}\n',
]


@pytest.mark.full
@pytest.mark.parametrize("line", BAD_LINES, ids=range(len(BAD_LINES)))
def test_an_agent_comes_again_after_a_line_that_it_cannot_read(line: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    async def serve() -> None:
        hellos: asyncio.Queue[bytes] = asyncio.Queue()

        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.closing(writer), contextlib.suppress(OSError):
                hellos.put_nowait(await reader.readline())
                writer.write(line)
                await reader.read()

        async with await asyncio.start_server(welcome, HOST, 0) as server:
            agent = Agent(server.sockets[0].getsockname()[:2], [Address(HOST, 1)], id="me")
            async with running(agent) as task:
                for _ in range(2):
                    hello = asyncio.create_task(hellos.get())
                    await asyncio.wait([hello, task], return_when=asyncio.FIRST_COMPLETED, timeout=WAIT_S)
                    assert not task.done()
                    assert b"hello" in hello.result()

    asyncio.run(serve())
    said = capsys.readouterr().err.splitlines()
    assert said and all(each.startswith("sonicpy load: the other side sent a") for each in said)


def test_a_late_answer_is_a_timeout_and_nobody_there_is_an_error() -> None:
    asked = TestSet(Iterations=1, Queries=["q"])
    with socket.create_server((HOST, 0)) as mute:
        late = Shards([Address(HOST, mute.getsockname()[1])], asked, 0.1).ask("q")
    assert (late.status, late.error) == (QueryStatus.TIMEOUT, "no answer in time")
    assert Shards([Address(HOST, free_port())], asked, 1.0).ask("q").status == QueryStatus.LOST


def test_shards_are_merged_in_turn_and_the_slowest_counts() -> None:
    asked = TestSet(Iterations=1, Queries=["q"], Limit=5)
    first = answer([STARTED, b"PENDING x\r\nEVENT QUERY x a b c d\r\n"])
    second = answer([STARTED, b"PENDING x\r\nEVENT QUERY x e f\r\n"])
    with closing(Shards([first, second], asked, 2.0)) as shards:
        assert shards.ask("q").hits == 5
    assert asked.limit_of_shard(3) == 1
    assert TestSet(Iterations=1, Queries=["q"]).limit_of_shard(3) == 1
    assert TestSet(Iterations=1, Queries=["q"], LimitPerShard=7).limit_of_shard(3) == 7


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{", "is no JSON file"),
        ("[]", "holds no test set"),
        ('{"Queries": ["a"]}', "Iterations: Field required"),
        ('{"Iterations": 1, "Queries": []}', "Queries: List should have at least 1 item"),
        ('{"Iterations": 1, "Queries": ["a"], "Spaces": ["a b"]}', "is no collection/bucket"),
        ('{"Iterations": 1, "Queries": ["a"], "Weights": [1, 2]}', "Weights needs one number"),
        ('{"Iterations": 1, "Queries": ["a"], "Weights": [0]}', "above 0"),
        ('{"Iterations": 1, "Queries": ["a"], "Weights": [1e400]}', "must be finite"),
        ('{"Iterations": 1, "Queries": ["a"], "Weights": [NaN]}', "must be finite"),
        ('{"Iterations": 1, "Queries": ["a", "b"], "Weights": [1e308, 1e308]}', "must be finite"),
        ('{"Iterations": 1, "Queries": ["' + 170_000 * "\u00e9" + '"]}', "allowed are 983040"),
        ('{"Iterations": 1, "Queries": ["a"], "Op": "push"}', "Op: Input should be 'query'"),
    ],
)
def test_a_wrong_set_is_said(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(LoadError, match="s.json") as raised:
        read_test_set(tmp_path / "s.json")
    assert wrong in str(raised.value)


def test_figures_of_nothing_and_of_what_cannot_be_measured() -> None:
    assert "Success ratio: 0.0000%" in as_text(LoadOutcome(1, 0.0))
    assert timings([]) == {}
    together = LoadOutcome(1, 1.0, [("a", Result(0.0, 0.001, 1e-7, QueryStatus.FOUND, 1, "", "q"))] * 3)
    assert processing_times(together) == {}
    assert "Query processing times:\nn/a\n" in as_text(together)
    assert timings([float(number) for number in range(100)]) == {
        "Mean": 49.5, "Median": 50.0, "90%": 90.0, "95%": 95.0, "99%": 99.0,
    }  # fmt: skip
