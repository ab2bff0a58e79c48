"""The faults that `sonicpy cluster status` reports, given the answers of nodes."""

from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.node.moves import reasons  # noqa: E402
from sonicpy.cluster.operator.emptiness import not_empty  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.cluster.registry.status import Status, faults, too_few_nodes  # noqa: E402

LAYOUT = Layout(3, 2, ("n1", "n2"))


def answer(*replicas: int, chain: str = "aa", fault: str | None = None) -> dict[str, Any]:
    state = {"position": 7, "chain": chain, "fault": fault}
    return {"replicas": {str(number): state for number in replicas}}


def test_a_silent_node_is_one_sentence_however_much_it_holds() -> None:
    assert list(faults(LAYOUT, {"n1": answer(0, 1, 2)})) == ["n2 does not answer; its partitions: 0, 1, 2"]
    large = Layout(100, 2, ("n1", "n2"))
    assert list(faults(large, {"n1": answer(*range(100))})) == [
        f"n2 does not answer; its partitions: {', '.join(map(str, range(16)))} and 84 more"
    ]


def test_a_node_that_answers_is_not_said_to_be_silent() -> None:
    assert list(faults(LAYOUT, {"n1": answer(0, 1, 2), "n2": answer(0, 2)})) == [
        "partition 1 at n2: the node has not opened it yet"
    ]


def test_replicas_that_stopped_or_differ_are_named() -> None:
    stopped = answer(0, 1, 2, fault="it has stopped")
    assert list(faults(LAYOUT, {"n1": answer(0, 1, 2), "n2": stopped})) == [
        f"partition {number} at n2: it has stopped" for number in range(3)
    ]
    other = answer(0, 1, 2, chain="bb")
    for sentence in faults(LAYOUT, {"n1": answer(0, 1, 2), "n2": other}):
        assert "differ at position 7" in sentence


def test_too_few_nodes_for_the_copies_are_a_fault() -> None:
    assert list(too_few_nodes(LAYOUT)) == []
    assert list(too_few_nodes(Layout(3, 3, ("n1", "n2")))) == [
        "only n1, n2 may hold partitions, and each should have 3 replicas: add another node"
    ]


def test_what_is_shown_says_how_far_each_node_is() -> None:
    figures = {
        "partitions": 3, "copies": 2, "logs": 1, "last": {"0": 9, "1": 9, "2": 9}, "faults": ["n2 is ill"],
        "nodes": {"n1": answer(0, 1, 2), "n2": None},
    }  # fmt: skip
    assert list(Status(figures).lines()) == [
        "partitions: 3, logs: 1, copies: 2", "node n1: 3 replicas, 2 entries behind", "node n2: silent", "n2 is ill",
    ]  # fmt: skip


def test_who_waits_hears_the_first_reason_and_how_many_more_there_are() -> None:
    assert reasons(["n2 is silent"]) == ": n2 is silent"
    assert reasons(["n2 is silent", "n3 is silent"]) == ": n2 is silent (and 1 more)"


def test_an_answer_that_should_be_empty_is_told_in_words() -> None:
    assert not_empty(3, b'+["mail", "news"]') == "which holds mail, news"
    assert not_empty(3, b"~it has stopped") == "partition 3 answers: it has stopped"
