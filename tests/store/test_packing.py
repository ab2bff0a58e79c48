"""Half empty pages are filled: no row changes, and what is full stays as it is."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy.store import packing
from sonicpy.store.environment import Environment
from sonicpy.store.packing import SparseRange, rewrite, sparse_ranges
from sonicpy.store.transaction import POSTINGS, WORDS
from sonicpy.store.view import View

MAP_BYTES = 1 << 27


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "WORTH_PAGES", 10)


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    held = Environment(tmp_path, MAP_BYTES)
    yield held
    held.close()


def fill(environment: Environment, table: int, row_bytes: int, count: int, seed: int = 1) -> None:
    """Put rows in no order, a few at each commit."""
    dice = random.Random(seed)
    numbers = dice.sample(range(10**9), count)
    for first in range(0, count, 500):
        transaction = environment.begin(write=True)
        for number in numbers[first : first + 500]:
            transaction.put(table, b"%010d" % number, b"v" * dice.randint(1, 2 * row_bytes))
        environment.commit(transaction)


def size_bytes(environment: Environment, table: int) -> int:
    with environment.reading() as transaction:
        return transaction.size_bytes(table)


def rows(environment: Environment, table: int) -> list[tuple[bytes, bytes]]:
    with environment.reading() as transaction:
        return list(transaction.rows(table, b""))


def sparse(environment: Environment) -> list[SparseRange]:
    with environment.reading() as transaction:
        return sparse_ranges(transaction, environment.data_file.parent)


def pack(environment: Environment, found: list[SparseRange]) -> None:
    for one in found:
        transaction = environment.begin(write=True)
        rewrite(View(transaction), one)
        environment.commit(transaction)


@pytest.mark.parametrize(("table", "row_bytes", "count"), [(WORDS, 30, 20_000), (POSTINGS, 200, 6_000)])
def test_pages_are_filled_and_rows_stay(environment: Environment, table: int, row_bytes: int, count: int) -> None:
    fill(environment, table, row_bytes, count)
    before, held = size_bytes(environment, table), rows(environment, table)
    found = sparse(environment)
    pack(environment, found)
    assert rows(environment, table) == held
    gained = before - size_bytes(environment, table)
    expected = sum(one.gained for one in found) * 4096
    assert gained > 0.2 * before and 0.8 < gained / expected < 1.25
    assert sparse(environment) == [], "once is enough"


def test_rows_that_came_in_order_stay(environment: Environment) -> None:
    transaction = environment.begin(write=True)
    for number in range(20_000):
        transaction.append(WORDS, b"%010d" % number, b"v" * 40)
    environment.commit(transaction)
    assert sparse(environment) == []


def test_large_rows_are_not_moved_again_and_again(environment: Environment) -> None:
    """Of four rows that fit into a page, the last one goes to the next page: no order of PUTs fills them better."""
    fill(environment, POSTINGS, 450, 5_000)
    pack(environment, sparse(environment))
    assert sparse(environment) == []


def test_little_is_not_worth_it(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(environment, WORDS, 30, 5_000)
    assert sparse(environment)
    monkeypatch.setattr(packing, "WORTH_PAGES", 256)
    assert sparse(environment) == []


def test_changes_between_finding_and_rewriting_stay(environment: Environment) -> None:
    fill(environment, WORDS, 30, 10_000)
    found = sparse(environment)
    fill(environment, WORDS, 30, 3_000, seed=2)
    transaction = environment.begin(write=True)
    assert transaction.delete_rows(WORDS, b"0", 300) == 300
    environment.commit(transaction)
    held = rows(environment, WORDS)
    pack(environment, found)
    assert rows(environment, WORDS) == held


def test_an_empty_store_has_nothing_to_fill(environment: Environment) -> None:
    assert sparse(environment) == []
