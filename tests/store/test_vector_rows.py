"""Rows of vectors and orders: each commit writes those that changed, and rows of new objects fill their pages."""

import random
from contextlib import closing
from pathlib import Path

import pytest

from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.table_numbers import ORDERS, VECTORS
from sonicpy.store.rows.keys import term_key
from sonicpy.store.views.vector_rows import VectorRows

MAP_BYTES = 1 << 26


def put(environment: Environment, table: int, rows: dict[bytes, bytes]) -> None:
    transaction = environment.begin()
    waiting = VectorRows(table)
    waiting.waiting.update(rows)
    waiting.write(transaction)
    assert not waiting.waiting
    environment.commit(transaction)


def test_rows_of_new_objects_fill_pages(tmp_path: Path) -> None:
    """As a bucket grows: each commit writes the last row again, and further ones."""
    dice = random.Random(1)
    sizes = [dice.randint(160, 530) for _ in range(2_000)]
    with closing(Environment(tmp_path, MAP_BYTES)) as environment:
        for first in range(0, len(sizes), 16):
            rows = {term_key(7, first + at): b"o" * size for at, size in enumerate(sizes[first : first + 16])}
            put(environment, ORDERS, {**rows, term_key(7, first + len(rows)): b"o" * 80})
        with environment.reading() as transaction:
            used = sum(sizes) + (9 + 10) * len(sizes)
            assert used / transaction.size_bytes(ORDERS) > 0.9


@pytest.mark.parametrize("seed", range(20))
def test_the_table_holds_the_last_of_all_rows(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    held: dict[bytes, bytes] = {}
    with closing(Environment(tmp_path, MAP_BYTES)) as environment:
        for _ in range(30):
            keys = [term_key(dice.randint(1, 3), dice.randrange(60)) for _ in range(dice.randint(1, 12))]
            rows = {key: b"v" * dice.choice((0, 5, 300)) for key in keys}
            put(environment, VECTORS, rows)
            held = {key: row for key, row in {**held, **rows}.items() if row}
            with environment.reading() as transaction:
                assert dict(transaction.rows(VECTORS, b"")) == held
