"""Acknowledged changes are kept, whatever messages a network loses between processes on this machine, with gates
between them.
"""

import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.judge import Change, Channel, Load, judge

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from tests.cluster.clusters import check, running  # noqa: E402
from tests.cluster.splits import CUT, OPEN, SILENT, SILENT_FROM, SILENT_TO, SplitCluster  # noqa: E402
from tests.support.patience import WAIT_S, until

pytestmark = pytest.mark.full


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SplitCluster]:
    with running(SplitCluster(tmp_path / "cluster", copies=3)) as cluster:
        yield cluster


def broker_of(cluster: SplitCluster, node: str) -> str:
    (broker,) = {broker for (name, broker), gate in cluster.to_broker.items() if name == node and gate.connections}
    return broker


def log_of(cluster: SplitCluster, node: str) -> str:
    return (cluster.folder / node / "log.txt").read_text("utf-8")


def test_nodes_leave_a_broker_that_is_cut_off(cluster: SplitCluster, tmp_path: Path) -> None:
    """The broker that is cut off answers the nodes, but accepts no changes and receives no messages of other
    brokers."""
    broker = broker_of(cluster, "n1")
    with Load([cluster.node_ports["n1"]], writers=4) as load:
        load.wait_for(100)
        for gate in cluster.gates_between(broker):
            gate.set(CUT)
        load.wait_for(300)
        gap_s = load.gap_s()
        print(f"{broker} cut off: at most {gap_s:.1f} s without an acknowledgement for one writer")
        assert gap_s < 30
        assert broker_of(cluster, "n1") != broker
        assert log_of(cluster, "n1").count("maybe because the broker is cut off") == 1
        for gate in cluster.gates_between(broker):
            gate.heal(forgets=True)
        load.wait_for(100)
    # Brokers seldom need more than one election; a change that waits for two is answered with ERR after 15 s.
    assert max(writer.repeated for writer in load.writers) <= 1
    check(cluster, load, tmp_path / "replay")


def test_a_node_with_a_stale_broker_stops_no_replica(cluster: SplitCluster, tmp_path: Path) -> None:
    """A node changes to a broker that is cut off, whose log ends before the entries that the node has."""
    broker = broker_of(cluster, "n1")
    stale = next(name for name in cluster.broker_ports if name != broker)
    with Load([cluster.node_ports["n1"]], writers=4) as load:
        load.wait_for(50)
        for gate in cluster.gates_between(stale):
            gate.set(CUT)
        load.wait_for(100)
        for (node, name), gate in cluster.to_broker.items():
            gate.set(CUT if node == "n1" and name != stale else OPEN)
        time.sleep(8)
        assert "answers nothing from now on" not in log_of(cluster, "n1")
        for gate in cluster.to_broker.values():
            gate.set(OPEN)
        for gate in cluster.gates_between(stale):
            gate.heal(forgets=True)
        load.wait_for(50)
    check(cluster, load, tmp_path / "replay")


@pytest.mark.parametrize("state", [SILENT_TO, SILENT_FROM, SILENT])
@pytest.mark.parametrize("forgets", [False, True])
def test_a_node_in_silence(cluster: SplitCluster, tmp_path: Path, state: str, forgets: bool) -> None:
    with Load(list(cluster.node_ports.values()), writers=6) as load:
        load.wait_for(100)
        for gate in cluster.gates_of("n1"):
            gate.set(state)
        time.sleep(
            22
        )  # longer than a client waits for an OK, and a broker for an answer (20 s), which has no more to come
        for gate in cluster.gates_of("n1"):
            gate.heal(forgets=forgets)
        load.wait_for(200)
    check(cluster, load, tmp_path / "replay")


def test_a_name_that_was_taken_while_its_machine_was_cut_off(cluster: SplitCluster, tmp_path: Path) -> None:
    """A machine with a broker and a node is cut off; an operator starts another node with the name, as if both were
    lost.
    """
    cluster.to_broker["n1", "b2"].set(CUT)
    cluster.to_broker["n1", "b3"].set(CUT)
    until(lambda: cluster.to_broker["n1", "b1"].connections == 1)
    old = cluster.nodes["n1"]
    with Load([cluster.node_ports["n1"], cluster.node_ports["n2"]], writers=6) as load:
        load.wait_for(100)
        for gate in cluster.gates_of("n1", "b1"):
            gate.set(CUT)
        time.sleep(12)  # until the others have elected leaders, without which no node starts
        cluster.start_node("n1", gates="n9", folder="n9")
        channel = wait_for_node(cluster.node_ports["n9"])
        assert channel.ask(b'PUSH judge new o1 "x"\n') == b"OK"
        for gate in cluster.gates_of("n1", "b1"):
            gate.set(OPEN)
        assert old.wait(WAIT_S) == 1
        assert channel.ask(b'PUSH judge new o2 "y"\n') == b"OK"
        channel.close()
        load.wait_for(50)
    del cluster.nodes["n1"]
    load.writers[0].acknowledged += [Change("PUSH", "new", "o1", "x"), Change("PUSH", "new", "o2", "y")]
    time.sleep(3)
    assert "another process has taken the name n1" in log_of(cluster, "n1")
    cluster.stop()
    assert judge(load, [cluster.folder / name / "data" for name in ("n2", "n3", "n9")], tmp_path / "replay") == []


def wait_for_node(port: int) -> Channel:
    def opened() -> Channel | None:
        with contextlib.suppress(OSError):
            return Channel(port)
        return None

    channel = until(opened, "the node serves", pause_s=0.1)
    assert channel is not None
    return channel


def test_a_password_that_is_changed(tmp_path: Path) -> None:
    cluster = SplitCluster(tmp_path / "cluster", more='authorization { user: "u", password: "first-one" }')
    cluster.credentials = "u:first-one@"
    cluster.addresses = cluster.addresses.replace("nats://", "nats://u:first-one@")
    with running(cluster):
        set_password(cluster, "second-one")
        refusal = "a broker refuses the user or the password that --cluster holds"
        until(lambda: all(refusal in log_of(cluster, name) for name in cluster.nodes))
        time.sleep(5)
        set_password(cluster, "first-one")
        channel = wait_for_node(cluster.node_ports["n1"])
        until(lambda: "a broker answers again" in log_of(cluster, "n1"))
        assert channel.ask(b'PUSH c b o1 "x"\n') == b"OK"
        channel.close()
        for name in cluster.nodes:
            assert log_of(cluster, name).count(refusal) == 1
            assert "-one" not in log_of(cluster, name)
        tries = sum(log_of(cluster, name).count("authentication error") for name in cluster.brokers)
        assert tries < 60


def set_password(cluster: SplitCluster, password: str) -> None:
    cluster.broker_settings = f'authorization {{ user: "u", password: "{password}" }}'
    for name, process in cluster.brokers.items():
        cluster.write_settings(name)
        process.send_signal(signal.SIGHUP)
