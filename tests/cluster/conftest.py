"""Repeats the tests of faults of a cluster, because chance decides the course of each."""

import os

import pytest

ROUNDS = int(os.environ.get("SONICPY_FAULT_ROUNDS", "3"))
"""The number of rounds in the full set; `python -m tests.cluster.rounds` sets a higher one."""
FAULTS = ("test_faults", "test_full_brokers", "test_splits")


@pytest.fixture(autouse=True)
def fault_round() -> None:
    """Add the number of the round to the names of tests."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat the tests of faults that belong to the full set."""
    module = metafunc.module.__name__.rpartition(".")[2]
    is_full = any(metafunc.definition.iter_markers("full"))
    if module in FAULTS and is_full:
        rounds = [f"round{number}" for number in range(1, ROUNDS + 1)]
        metafunc.parametrize("fault_round", rounds, indirect=True)
