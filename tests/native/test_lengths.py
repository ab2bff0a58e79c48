"""Tests of sonicpy.store.rows.lengths: changing lengths, compared with a dictionary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.store.rows.keys import length_key
from sonicpy.store.rows.lengths import OBJECTS_PER_ROW, Lengths

iids = st.integers(0, 50) | st.integers(0, 2).map(lambda row: (row + 1) * OBJECTS_PER_ROW - 1) | st.integers(0, 12_500)


@given(st.binary(max_size=20), st.lists(st.tuples(iids, st.integers(0, 255)) | st.none(), max_size=40))
def test_lengths_change_and_tell_their_rows(first: bytes, changes: list[tuple[int, int] | None]) -> None:
    lengths = Lengths(bytearray(first))
    held = dict(enumerate(first))
    changed = set()
    for change in [*changes, None, None]:
        if change is not None:
            lengths[change[0]] = change[1]
            held[change[0]] = change[1]
            changed.add(change[0] // OBJECTS_PER_ROW)
            continue
        whole = bytes(held.get(iid, 0) for iid in range(max(held, default=-1) + 1))
        assert lengths.packed == whole
        stored = {row: whole[row * OBJECTS_PER_ROW : (row + 1) * OBJECTS_PER_ROW] for row in sorted(changed)}
        assert taken(lengths) == (
            changed,
            [(length_key(7, row), packed) for row, packed in stored.items() if any(packed)],
            [length_key(7, row) for row, packed in stored.items() if not any(packed)],
        )
        changed.clear()


def test_lengths_that_cannot_be() -> None:
    lengths = Lengths(bytearray(b"abc"))
    with pytest.raises(IndexError):
        lengths[-1] = 5
    with pytest.raises(OverflowError):
        lengths[1] = 256
    assert lengths.packed == b"abc"
    with memoryview(lengths.packed), pytest.raises(BufferError):
        lengths[3] = 1
    assert taken(lengths) == (set(), [], [])


def taken(lengths: Lengths) -> tuple[set[int], list[tuple[bytes, bytes]], list[bytes]]:
    """Return the numbers of the changed rows, the rows of bucket 7 to write, and the keys of those to delete."""
    numbers, rows, emptied = set[int](), list[tuple[bytes, bytes]](), list[bytes]()
    lengths.take_changed(7, numbers, rows, emptied)
    return numbers, rows, emptied
