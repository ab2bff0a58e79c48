"""The refusals of `sonicpy cluster recover`, given the answers of nodes."""

from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.log.broker import Epoch  # noqa: E402
from sonicpy.cluster.operator.recover import Wish, check_log, check_wish  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.errors import ConfigError  # noqa: E402

LAYOUT = Layout(2, 2, ("n1", "n2"))
LOGS = [Epoch("today", 1, 7)]


def answers(position: int, epoch: str) -> dict[str, Any]:
    replica = {"position": position, "epoch": epoch, "chain": "aa", "fault": None}
    return {"n1": {"replicas": {"0": {**replica, "position": 1, "epoch": ""}, "1": replica}}}


def test_a_replica_that_holds_what_the_brokers_lost_is_not_thrown_away() -> None:
    check_log(LAYOUT, LOGS, answers(7, "today"), [0, 1], "n1")
    for position, epoch in ((8, "today"), (3, "yesterday")):
        with pytest.raises(ConfigError, match="n1, whose partition 1 holds changes that the brokers have lost; "):
            check_log(LAYOUT, LOGS, answers(position, epoch), [0, 1], "n1")
        check_log(LAYOUT, LOGS, answers(position, epoch), [0], "n1")


def test_the_nodes_that_may_be_named_are_listed() -> None:
    with pytest.raises(ConfigError, match=r"--from is n2, which does not answer; allowed are n1\.$"):
        check_wish(LAYOUT, answers(7, "today"), Wish(source="n2"))
    with pytest.raises(ConfigError, match=r"--node is n2, which does not answer; no node does: start them\.$"):
        check_wish(LAYOUT, {}, Wish(node="n2"))
