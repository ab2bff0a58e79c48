"""Clients of the nodes get answers with all changes of any client, and one answer from several partitions."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sonicpy.channel.commands import Query
from sonicpy.errors import ConfigError
from tests.cluster.judge import Channel
from tests.processes import environment

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.log.jetstream import connect  # noqa: E402
from sonicpy.cluster.operator.dev import HOST, DevCluster, free_ports, nats_server  # noqa: E402
from sonicpy.cluster.operator.setup import check_broker  # noqa: E402
from sonicpy.cluster.peers.peers import Peers  # noqa: E402
from sonicpy.cluster.peers.questions import Question, pack_question  # noqa: E402
from sonicpy.cluster.registry.partitions import partition_of  # noqa: E402
from sonicpy.cluster.registry.registry import Registry  # noqa: E402
from tests.cluster.clusters import running, wait_for_port  # noqa: E402
from tests.support.patience import WAIT_S, until

pytestmark = pytest.mark.full

BUCKETS = [f"bucket{number}" for number in range(12)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevCluster]:
    """A cluster in which each node lacks some partitions, so that it has to ask one of the two others about these."""
    with running(DevCluster(tmp_path_factory.mktemp("cluster"), partitions=6, copies=2, logs=2)) as cluster:
        yield cluster


@pytest.fixture
def ports(cluster: DevCluster) -> list[int]:
    return list(cluster.node_ports.values())


def talk(port: int, mode: str, *lines: str) -> list[str]:
    channel = Channel(port, mode)
    try:
        return [channel.ask(f"{line}\n".encode()).decode() for line in lines]
    finally:
        channel.close()


def finds_apples(channel: Channel) -> bool:
    return all(channel.event(f'QUERY every {bucket} "apple"\n'.encode()) == ["o1"] for bucket in BUCKETS)


def test_every_node_finds_what_another_was_given(ports: list[int]) -> None:
    for bucket in BUCKETS:
        assert talk(ports[0], "ingest", f'PUSH every {bucket} o1 "red apple"') == ["OK"]
    for port in ports:
        channel = Channel(port, "search")
        until(partial(finds_apples, channel), "the other nodes have caught up")
        for bucket in BUCKETS:
            assert channel.event(f'QUERY every {bucket} "apple" TOTAL(1) OFFSET(1)\n'.encode()) == ["1"]
        channel.close()


def test_a_client_of_a_node_reads_what_it_wrote(ports: list[int]) -> None:
    for number, port in enumerate(ports * 4):
        ingest, search = Channel(port), Channel(port, "search")
        for bucket in BUCKETS:
            assert ingest.ask(f'PUSH own {bucket} o{number} "green pear"\n'.encode()) == b"OK"
            assert f"o{number}" in search.event(f'QUERY own {bucket} "pear" LIMIT(50)\n'.encode())
        ingest.close()
        search.close()


def test_a_client_of_a_node_reads_what_it_removed(ports: list[int]) -> None:
    for port in ports:
        channel = Channel(port)
        for number in range(60):
            bucket = BUCKETS[number % len(BUCKETS)]
            channel.ask(f'PUSH removed {bucket} o1 "apple pear"\n'.encode())
            assert channel.ask(f'POP removed {bucket} o1 "apple"\n'.encode()) == b"RESULT 1"
            assert channel.ask(f"COUNTO removed {bucket} o1\n".encode()) == b"RESULT 1"
            assert channel.ask(f"FLUSHO removed {bucket} o1\n".encode()) == b"RESULT 1"
            assert channel.ask(f"COUNTB removed {bucket}\n".encode()) == b"RESULT 0"
        channel.close()


def test_a_turn_reads_what_it_wrote(ports: list[int]) -> None:
    channel = Channel(ports[1])
    for bucket in BUCKETS:
        lines = f'PUSH turn {bucket} o1 "apple"\nCOUNTB turn {bucket}\nPOP turn {bucket} o1 "apple"\n'
        answers = [channel.ask(lines.encode()), channel.line(), channel.line()]
        assert answers == [b"OK", b"RESULT 1", b"RESULT 1"]
    channel.close()


def test_changes_answer_their_numbers(ports: list[int]) -> None:
    for port, bucket in zip(ports * 4, BUCKETS, strict=True):
        assert talk(
            port,
            "ingest",
            f'PUSH numbers {bucket} o1 "one two three"',
            f'POP numbers {bucket} o1 "two four"',
            f"COUNT numbers {bucket} o1",
            f"FLUSHO numbers {bucket} o1",
            f"FLUSHO numbers {bucket} o2",
            f"FLUSHB numbers {bucket}",
            f"FLUSHB numbers {bucket}",
        ) == ["OK", "RESULT 1", "RESULT 2", "RESULT 2", "RESULT 0", "RESULT 1", "RESULT 0"]


def test_what_lies_in_several_partitions_is_one_answer(ports: list[int]) -> None:
    for bucket in BUCKETS:
        talk(ports[0], "ingest", f'PUSH merged {bucket} o1 "red apple"', f'PUSH merged {bucket} o2 "apple"')
    assert talk(ports[0], "ingest", "COUNTC merged", "FLUSHC none") == [f"RESULT {len(BUCKETS)}", "RESULT 0"]
    answers = talk(ports[0], "control", "STATS merged", "STATS")
    answers += talk(ports[0], "search", "BUCKETS merged LIMIT(5)", "COLLECTIONS LIMIT(100)")
    figures, whole, buckets, collections = (json.loads(answer.removeprefix("RESULT ")) for answer in answers)
    assert (figures["buckets"], figures["objects"], figures["words"]) == (12, 24, 24)
    assert figures["average_length"] == 1.5
    assert list(figures["by_bucket"]) == sorted(BUCKETS)
    assert buckets == sorted(BUCKETS)[:5]
    assert "merged" in collections
    assert whole["by_collection"]["merged"]["objects"] == 24
    assert talk(ports[0], "ingest", "FLUSHC merged", "COUNTC merged") == ["RESULT 1", "RESULT 0"]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ('PUSH bad b\xfc o1 "x"', "ERR invalid_format"),
        ('POP bad "b c" o1 "x"', "ERR invalid_format"),
        ("COUNTC " + "x" * 129, "ERR invalid_format"),
    ],
)
def test_wrong_names_are_refused_as_by_one_machine(line: str, answer: str, ports: list[int]) -> None:
    for port in ports:
        assert talk(port, "ingest", line)[0].startswith(answer.split()[0])


def test_trigger_offers_consolidation_alone(ports: list[int]) -> None:
    assert talk(ports[0], "control", "TRIGGER consolidate", "TRIGGER backup /tmp/x") == [
        "OK",
        "ERR invalid_argument(TRIGGER backup is refused: a node of a cluster offers consolidate alone)",
    ]


def test_verify_and_info_answer(ports: list[int]) -> None:
    verified, info = talk(ports[0], "control", "VERIFY", "INFO")
    assert verified == "RESULT []"
    assert info.startswith("RESULT uptime(")


def test_status_shows_every_replica(cluster: DevCluster) -> None:
    done = sonicpy("cluster", "status", "--cluster", cluster.addresses, "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["faults"] == []
    assert sum(len(node["replicas"]) for node in figures["nodes"].values()) == 12
    done = sonicpy("cluster", "status", "--cluster", cluster.addresses)
    assert done.stdout.startswith("partitions: 6, logs: 2, copies: 2\nnode n1: ")


def test_a_node_with_other_terms_is_refused(cluster: DevCluster, tmp_path: Path) -> None:
    done = sonicpy(
        *("serve", "--cluster", cluster.addresses, "--node", "n9", "--data", str(tmp_path), "--inet", f"{HOST}:0"),
        settings={"normalization.unicode_normalization": "none"},
    )
    assert done.returncode == 2
    assert "as on the other nodes of the cluster" in done.stderr


@pytest.mark.full
def test_init_changes_no_cluster_that_exists(cluster: DevCluster) -> None:
    monitors = ",".join(f"http://{HOST}:{port}" for port in cluster.monitor_ports.values())
    given = ("cluster", "init", "--cluster", cluster.addresses, "--monitor", monitors, "--nodes", "n1,n2,n3")
    same = sonicpy(*given, "--partitions", "6", "--copies", "2", "--logs", "2")
    assert (same.returncode, same.stdout) == (0, "the cluster has 6 partitions on n1, n2, n3\n")
    other = sonicpy(*given, "--partitions", "5", "--copies", "2")
    assert other.returncode == 1
    assert "another layout" in other.stderr


@pytest.mark.full
def test_a_silent_address_is_a_clear_error() -> None:
    done = sonicpy("cluster", "status", "--cluster", f"nats://{HOST}:1")
    assert done.returncode == 1
    assert "no broker answers there" in done.stderr


def sonicpy(*arguments: str, settings: dict[str, object] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sonicpy", *arguments],
        env=environment(settings or {}),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def test_strong_reads_see_what_any_node_has_acknowledged(cluster: DevCluster, tmp_path: Path) -> None:
    port = free_ports(1)[0]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "sonicpy", "serve", "--cluster", cluster.addresses, "--node", "n8"),
            *("--consistency", "strong", "--inet", f"{HOST}:{port}", "--data", str(tmp_path / "data")),
        ],
        env=environment({}),
    )
    try:
        wait_for_port(port)
        ingest, search = Channel(cluster.node_ports["n1"]), Channel(port, "search")
        for number in range(40):
            bucket = BUCKETS[number % len(BUCKETS)]
            assert ingest.ask(f'PUSH strong {bucket} o{number} "apple"\n'.encode()) == b"OK"
            assert f"o{number}" in search.event(f'QUERY strong {bucket} "apple" LIMIT(50)\n'.encode())
        ingest.close()
        search.close()
    finally:
        process.terminate()
        assert process.wait(WAIT_S) == 0


def test_a_broker_that_does_not_sync_is_refused(tmp_path: Path) -> None:
    port, monitor = free_ports(2)
    settings = tmp_path / "nats.conf"
    settings.write_text(
        f'listen: "{HOST}:{port}"\nhttp: "{HOST}:{monitor}"\n'
        f'jetstream {{ store_dir: "{tmp_path}", sync_interval: 2m }}\n'
    )
    process = subprocess.Popen([str(nats_server()), "-c", str(settings)], stderr=subprocess.DEVNULL)
    try:
        until(lambda: "does not answer" not in refusal_of(f"http://{HOST}:{monitor}"), "it answers", pause_s=0.05)
        assert "does not sync before it acknowledges" in refusal_of(f"http://{HOST}:{monitor}")
    finally:
        process.terminate()
        process.wait()


def refusal_of(monitor: str) -> str:
    with pytest.raises(ConfigError) as caught:
        check_broker(monitor)
    return str(caught.value)


def test_nodes_answer_each_other_on_connections_of_their_own(cluster: DevCluster, ports: list[int]) -> None:
    assert talk(ports[0], "ingest", 'PUSH peers b o1 "red apple"') == ["OK"]
    partition = partition_of("peers", "b", cluster.layout.partitions)
    question = pack_question(partition, Question("Query", tuple(Query("peers", "b", "apple", 10, 0, None))))

    async def ask(node: str) -> bytes:
        connection = await connect(cluster.addresses, "test")
        peers = Peers("test", await Registry.open(connection), lambda _: None, lambda _: never())
        try:
            async with asyncio.timeout(WAIT_S):
                while not (answer := await peers.ask((node,), question) or b"").endswith(b" o1\r\n"):
                    await asyncio.sleep(0.01)
            return answer
        finally:
            await peers.close()
            await connection.close()

    for holder in cluster.layout.holders(partition):
        assert asyncio.run(ask(holder)).startswith(b"+")


async def never() -> bytes:
    raise AssertionError("nobody asks this process")
