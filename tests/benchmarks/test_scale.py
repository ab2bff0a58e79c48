"""Tests of the model of large clusters: its page shows its results, and these agree with calculations by hand."""

import json
from dataclasses import replace
from unittest import mock

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from benchmarks.scale import model  # noqa: E402
from benchmarks.scale.__main__ import MEASURED, PAGE, page_with, read  # noqa: E402
from benchmarks.scale.model import ASSUMED, SIZES, Plan, plan, tables  # noqa: E402

MEASURES = {key: float(value) for key, value in read().items() if not isinstance(value, str)}
ASSUMES = {key: value for key, (value, _) in ASSUMED.items()}


def planned(objects: int = 10**10, **changed: float) -> Plan:
    """Return a plan with some values changed; underscores in names mean spaces."""
    given = {key.replace("_", " "): value for key, value in changed.items()}
    measured = {**MEASURES, **{key: value for key, value in given.items() if key in MEASURES}}
    assumed = {**ASSUMES, **{key: value for key, value in given.items() if key in ASSUMES}}
    assert set(given) <= {*measured, *assumed}
    return plan(objects, measured, assumed)


def test_the_page_shows_what_the_model_computes() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == page_with(page, tables(read())), "run python -m benchmarks.scale write"
    for objects in SIZES:
        assert model.named(objects) in page


def test_what_was_measured_is_plausible() -> None:
    assert all(value >= 0 for value in MEASURES.values())
    assert 50 < MEASURES["store bytes per object"] < 1000
    assert MEASURES["64 under way: brokers us"] < MEASURES["brokers us"], "batches cost less than single changes"
    assert len(json.loads(MEASURED.read_text(encoding="utf-8"))) == len(MEASURES) + 1


def test_more_objects_never_need_less() -> None:
    plans = [plan(objects, MEASURES, ASSUMES) for objects in SIZES]
    for smaller, larger in zip(plans, plans[1:], strict=False):
        assert smaller.machines <= larger.machines
        assert smaller.stores_tib * 10 == pytest.approx(larger.stores_tib)
        assert smaller.changes_per_s * 10 == pytest.approx(larger.changes_per_s)


def test_processor_time_by_hand() -> None:
    """10,000 queries of 100 us take one core, so two nodes that are half busy; three copies make it three."""
    found = planned(
        10**6, queries_per_second=10_000, query_us=100, entry_us=0, replica_us=0, **{"passing_on:_nodes_us": 0.0}
    )
    assert found.query_cores == pytest.approx(1.0)
    assert found.nodes_by_cpu == 3
    assert found.passed_on == 0.0
    assert found.machines == 3


def test_queries_that_are_passed_on_need_nodes_that_pass_more_on() -> None:
    """With n nodes, a share of 1 - 3/n of the queries is passed on: n = 2 * (1 + 1 * (1 - 3/n)) * 10 holds for 37 nodes
    or more.
    """
    found = planned(
        10**6,
        queries_per_second=100_000,
        query_us=100,
        entry_us=0,
        replica_us=0,
        **{"passing_on:_nodes_us": 100.0, "idle_node,_share_of_a_core": 0.0},
    )
    assert found.nodes_by_cpu == 39
    assert found.passed_on == pytest.approx(1 - 3 / 39)


def test_disks_by_hand() -> None:
    """10 billion objects of 100 bytes, three copies, and room for 1.6 times that need 4.37 TiB of the 5.6 TiB that a
    machine may use.
    """
    numbers = {"store_bytes_per_object": 100.0, "graph_bytes_per_object": 0.0, "broker_disk_bytes_per_change": 0.0}
    assert planned(10**10, **numbers).by_disk == 1
    assert planned(2 * 10**10, **numbers).by_disk == 2
    assert planned(10**11, **numbers).by_disk == 8


def test_what_decides_is_named() -> None:
    found = planned()
    assert replace(found, by_cpu=1, by_memory=9, by_disk=3, by_network=2).limit == "memory"
    assert replace(found, by_cpu=10, by_memory=9, by_disk=3, by_network=2).limit == "processors"


@pytest.mark.full
@pytest.mark.timeout(300)
def test_it_measures() -> None:
    """A measurement with few texts returns every figure that the model needs."""
    measure = pytest.importorskip("benchmarks.scale.measure", reason="needs nats-py: pip install nats-py")
    small = {
        "OBJECTS": 3000,
        "BUCKET_OBJECTS": 1000,
        "QUERIES": 600,
        "CHANGES": 300,
        "BATCHED_CHANGES": 640,
        "IDLE_S": 2.0,
    }
    with mock.patch.multiple(measure, **small):
        found = measure.measure()
    assert set(found) == set(read())
    assert found["store bytes per object"] > 0
    assert tables(found).keys() == {"assumed", "needed"}
