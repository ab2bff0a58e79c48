"""`sonicpy cluster drain` leaves no partition without its replicas, unless an option allows it."""

import re

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cli.parser import make_parser
from sonicpy.cluster.operator.setup import nodes_without
from sonicpy.cluster.registry.registry import Layout
from sonicpy.errors import ConfigError

FOUR = Layout(6, 3, ("n1", "n2", "n3", "n4"))
THREE = Layout(6, 3, ("n1", "n2", "n3"))


def test_a_node_goes_where_enough_are_left() -> None:
    assert nodes_without(FOUR, "n2", force=False) == ("n1", "n3", "n4")


def test_too_few_nodes_are_left_only_by_force() -> None:
    said = "without which only n1, n2 may hold partitions, and each should have 3 replicas; allowed is to add another"
    with pytest.raises(ConfigError, match=re.escape(said)):
        nodes_without(THREE, "n3", force=False)
    assert nodes_without(THREE, "n3", force=True) == ("n1", "n2")


@pytest.mark.parametrize(("layout", "node"), [(THREE, "n9"), (Layout(6, 1, ("n1",)), "n1")])
def test_what_no_force_allows(layout: Layout, node: str) -> None:
    with pytest.raises(ConfigError, match=f"the node is {node}; allowed is one of several that hold partitions: n1"):
        nodes_without(layout, node, force=True)


def test_force_is_for_drain() -> None:
    line = ["cluster", "drain", "n1", "--cluster", "nats://a"]
    assert make_parser().parse_args(line).force is False
    assert make_parser().parse_args([*line, "--force"]).force is True
