"""Tests of sonicpy.store.rows.meta: each row of the table is read back, is documented, and counts as damaged if it
cannot be read.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged
from sonicpy.store.disk.table_numbers import META
from sonicpy.store.rows.meta import (
    ANALYZER,
    CHANGES,
    CONVERSION,
    FORMAT,
    KEYS,
    NEXT_BUCKET,
    POSITION,
    REPLICA,
    SMALL_ROWS,
    USES,
    MetaKey,
)
from sonicpy.store.rows.mirror_notes import unpack_mirrors
from sonicpy.store.rows.synonym_rules import unpack_synonyms
from sonicpy.store.rows.vector_columns import unpack_columns
from tests.store.shorthand import open_store, push

FORMAT_PAGE = Path(__file__).parents[2] / "docs" / "storage-format.md"

VALUES: dict[bytes, tuple[Any, bytes]] = {
    FORMAT.name: ("4", b"4"),
    ANALYZER.name: ({"stopwords.mode": "weigh", "lexer": "1"}, b'{"lexer": "1", "stopwords.mode": "weigh"}'),
    POSITION.name: (300, b"\xac\x02"),
    NEXT_BUCKET.name: (0, b"\0"),
    CONVERSION.name: ((3, 300), b"\3\xac\x02"),
    CHANGES.name: (b"\7" + bytes(7), b"\7" + bytes(7)),
    REPLICA.name: ({"position": 3, "chain": "0f"}, b'{"chain": "0f", "position": 3}'),
    USES.name: ({"tags", "facts"}, b'["facts", "tags"]'),
    SMALL_ROWS.name: ([3, 300], b"\3\xac\x02"),
}
DAMAGED: dict[bytes, list[bytes]] = {
    ANALYZER.name: [b"", b"\xff{", b"[]", b"[" * 100_000],
    POSITION.name: [b"", b"\x80", b"\1\2"],
    NEXT_BUCKET.name: [b"", b"\x80", b"\1\2"],
    CONVERSION.name: [b"", b"\x80", b"\1"],
    REPLICA.name: [b"", b"\xff{", b"[]"],
    USES.name: [b"", b"\xff{", b"{}", b"[1]", b'"facts"', b"[" * 100_000],
}


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name.decode())
def test_a_value_has_the_documented_bytes_and_comes_back(key: MetaKey[Any], tmp_path: Path) -> None:
    value, row = VALUES[key.name]
    assert key.pack(value) == row
    assert key.unpack(row) == value


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name.decode())
def test_the_storage_format_names_every_key(key: MetaKey[Any]) -> None:
    if not FORMAT_PAGE.exists():
        pytest.skip("needs the pages of the checkout")
    (row,) = [line for line in FORMAT_PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| meta |")]
    assert f"`{key.name.decode()}`: " in row


def test_a_store_has_these_rows_and_no_other(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.commit()
    with store.snapshot() as view:
        assert sorted(name for name, _ in view.transaction.rows(META, b"")) == sorted(
            key.name for key in KEYS if key not in (CONVERSION, REPLICA, USES, SMALL_ROWS)
        )
    store.close()


@pytest.mark.parametrize(
    ("key", "row"), [(key, row) for key in KEYS for row in DAMAGED.get(key.name, [])], ids=lambda part: repr(part)[:40]
)
def test_a_row_that_cannot_be_read_is_damage(key: MetaKey[Any], row: bytes, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.maintain(lambda view: view.transaction.put(META, key.name, row))
    with store.reading() as view, pytest.raises(StoreDamaged, match=f"the row '{key.name.decode()}' of meta"):
        key.read(view.transaction)
    store.close()


@pytest.mark.parametrize("unpack", [unpack_columns, unpack_mirrors, unpack_synonyms])
def test_json_that_cannot_be_read_is_damage(unpack: Callable[[bytes], object]) -> None:
    for packed in (b"\xff{", b"[", b"[1]", b"[" * 100_000):
        with pytest.raises(DamagedBytes):
            unpack(packed)


@pytest.mark.parametrize("column", [["v", 0, 0], ["v", 40_000, 0], ["v", 12, 0], ["v", 64, 256], ["v", 64, -1]])
def test_a_column_of_vectors_that_cannot_be_is_damage(column: list[object]) -> None:
    with pytest.raises(DamagedBytes, match="a column of vectors has"):
        unpack_columns(json.dumps([column]).encode())


def test_a_row_that_is_missing_is_none(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.reading() as view:
        assert NEXT_BUCKET.read(view.transaction) is None
    store.close()
