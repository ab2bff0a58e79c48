"""Half-empty pages are filled: no row changes, and full pages stay as they are."""

import random
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy.store.care import packing
from sonicpy.store.care.packing import Packer, SparseRange, sparse_ranges
from sonicpy.store.disk.data_file import newest_meta_page
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.page_tree import Leaf, PageTrees
from sonicpy.store.disk.table_numbers import ORDERS, POSTINGS, TABLE_NAMES, WORDS
from sonicpy.store.views.view import View
from tests.support.examples import examples

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
    """Put rows in random order, a few in each commit."""
    dice = random.Random(seed)
    numbers = dice.sample(range(10**9), count)
    for first in range(0, count, 500):
        transaction = environment.begin()
        for number in numbers[first : first + 500]:
            transaction.put(table, b"%010d" % number, b"v" * dice.randint(1, 2 * row_bytes))
        environment.commit(transaction)


def size_bytes(environment: Environment, table: int) -> int:
    with environment.reading() as transaction:
        return transaction.size_bytes(table)


def leaves(environment: Environment, table: int) -> list[Leaf]:
    with environment.data_file.open("rb") as file:
        return list(PageTrees(file.fileno(), newest_meta_page(file.fileno())).leaves(TABLE_NAMES[table]))


def rows(environment: Environment, table: int) -> list[tuple[bytes, bytes]]:
    with environment.reading() as transaction:
        return list(transaction.rows(table, b""))


def sparse(environment: Environment) -> list[SparseRange]:
    with environment.reading() as transaction:
        return sparse_ranges(transaction, environment.data_file.parent)


def pack(environment: Environment, found: list[SparseRange]) -> None:
    packer = Packer()
    for one in found:
        transaction = environment.begin()
        packer.rewrite(View(transaction), one)
        environment.commit(transaction)


@pytest.mark.parametrize(
    ("table", "row_bytes", "count"), [(WORDS, 30, 20_000), (POSTINGS, 200, 6_000), (ORDERS, 200, 6_000)]
)
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
    transaction = environment.begin()
    for number in range(20_000):
        transaction.append(WORDS, b"%010d" % number, b"v" * 40)
    environment.commit(transaction)
    assert sparse(environment) == []


@pytest.mark.parametrize("row_bytes", [20, 150, 450])
def test_pages_are_full(environment: Environment, row_bytes: int) -> None:
    """All pages are full, except the first page of each branch page, those beside it, and room that a moved row leaves
    at times.
    """
    fill(environment, POSTINGS, row_bytes, 2_000_000 // (row_bytes + 20))
    pack(environment, sparse(environment))
    least, room = 1, 0
    for key, value in rows(environment, POSTINGS):
        size = len(key) + len(value) + 10
        if room < size:
            least, room = least + 1, 4080
        room -= size
    found = leaves(environment, POSTINGS)
    assert least <= len(found) <= 1.01 * least + 3 * sum(leaf.is_first for leaf in found)
    assert sparse(environment) == [], "large rows are not moved again and again"


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([5, 60, 600, 2_500]), st.sampled_from([12, 200, 511]))
def test_no_row_changes(seed: int, row_bytes: int, key_bytes: int) -> None:
    """Packing changes no rows, even rows with pages of their own, and rows whose keys are long or continue the key
    before.
    """
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, closing(Environment(Path(folder), MAP_BYTES)) as environment:
        keys = {b"%d" % number + b"k" * dice.randrange(key_bytes - 10) for number in dice.sample(range(10**9), 900)}
        keys |= {key + b"\0" for key in dice.sample(sorted(keys), 200) if len(key) < 511}
        mixed = dice.sample(sorted(keys), len(keys))
        for start in range(0, len(mixed), 90):
            transaction = environment.begin()
            for key in mixed[start : start + 90]:
                transaction.put(WORDS, key, b"v" * dice.randint(0, 2 * row_bytes))
            environment.commit(transaction)
        held = rows(environment, WORDS)
        first, last = sorted(dice.sample(sorted(keys), 2))
        parts = [SparseRange(WORDS, first, last, 1.0), SparseRange(WORDS, last, None, 1.0)]
        with patch.object(packing, "row_at_rest", lambda row: row):
            pack(environment, [*sparse(environment), *parts, *parts])
        assert rows(environment, WORDS) == held


def test_little_is_not_worth_it(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(environment, WORDS, 30, 5_000)
    assert sparse(environment)
    monkeypatch.setattr(packing, "WORTH_PAGES", 256)
    assert sparse(environment) == []


def test_changes_between_finding_and_rewriting_stay(environment: Environment) -> None:
    fill(environment, WORDS, 30, 10_000)
    found = sparse(environment)
    fill(environment, WORDS, 30, 3_000, seed=2)
    transaction = environment.begin()
    assert transaction.delete_rows(WORDS, b"0", 300) == 300
    environment.commit(transaction)
    held = rows(environment, WORDS)
    pack(environment, found)
    assert rows(environment, WORDS) == held


def test_an_empty_store_has_nothing_to_fill(environment: Environment) -> None:
    assert sparse(environment) == []
