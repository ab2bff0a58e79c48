"""Rows of words whose pages were filled at rest have dense blocks as tails, which can be read and changed as before."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.postings import unpack_block
from sonicpy._native.term_rows import TermInfo, row_at_rest
from sonicpy._native.varint import pack_varints
from sonicpy.store.care.packing import Packer, SparseRange
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.changing.mutations import FlushObject, PopTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.store import Store
from sonicpy.store.views.write_view import WriteView
from tests.reference import dense_rows
from tests.store.consistency import check_consistent
from tests.store.shorthand import ORDERS, found, open_store, push, terms
from tests.support.examples import examples

WORDS = [f"word{number}" for number in range(30)]


def rest(store: Store) -> None:
    """Rewrite all rows of words, as a server without changes does with half-empty pages."""
    store.commit()
    for table in (tables.WORDS, tables.COMMON):
        everything = SparseRange(table, b"", None, 1.0)

        def fill(view: WriteView, everything: SparseRange = everything) -> None:
            Packer().rewrite(view, everything)

        store.maintain(fill)
    store.commit()


def tails(store: Store) -> list[bytes]:
    with store.reading() as view:
        rows = [*view.transaction.rows(tables.WORDS, b""), *view.transaction.rows(tables.COMMON, b"")]
        return [tail for _, row in rows if len(row) > 4 and (tail := TermInfo(row, 3).tail)]


@settings(max_examples=examples(12), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(ORDERS))
def test_a_store_that_rests_now_and_then_is_one_that_does_not(seed: int, order: str) -> None:
    """Both stores get the same changes, of words with plain tails, with dense tails, and of words that become
    common.
    """
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        resting, busy = open_store(Path(one), order=order), open_store(Path(other), order=order)
        for number in range(400):
            oid = f"o{dice.randrange(200)}"
            text = " ".join(sorted(set(dice.choices(WORDS, range(1, 31), k=dice.randrange(1, 6)))))
            change = dice.choice(
                [push(oid, text), push(oid, text), push(f"new{number}", text), FlushObject("c", "b", oid),
                 PopTerms("c", "b", oid, terms(text))]
            )  # fmt: skip
            assert resting.apply(change) == busy.apply(change)
            if number % 60 == 59:
                rest(resting)
                busy.commit()
        rest(resting)
        busy.commit()
        for word in WORDS:
            assert found(resting, word) == found(busy, word)
        assert any(tail[0] > 128 for tail in tails(resting)) == (order == "object")
        check_consistent(resting)
        with resting.snapshot() as view:
            assert list(table_faults(view.transaction)) == []
        resting.close()
        busy.close()


def test_a_tail_of_a_few_neighbours_is_dense_at_rest(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number in range(50):
        store.apply(push(f"o{number}", f"often only{number}"))
    before = found(store, "often")
    rest(store)
    dense = [tail for tail in tails(store) if tail[0] > 128]
    assert [dense_rows.read_block(tail) for tail in dense] == [[(iid, 1) for iid in range(50)]]
    assert found(store, "often") == before
    store.apply(push("after", "often"))
    assert found(store, "often") == ["after", *before]
    store.commit()
    assert [tail for tail in tails(store) if tail[0] > 128] == [], "a PUSH writes a plain one"
    store.close()


@given(st.lists(st.integers(0, 2**32 - 2), min_size=1, max_size=128, unique=True).map(sorted), st.integers(0, 2**40))
def test_a_row_at_rest_says_the_same(iids: list[int], term_id: int) -> None:
    for head in ([term_id, 0], [term_id, len(iids) + 3, 1, 7]):
        numbers = [len(iids)]
        for before, iid in zip([0, *iids], iids, strict=False):
            numbers.append((iid - before) << 2)
        row = pack_varints([*head, *numbers])
        resting = row_at_rest(row)
        assert len(resting) <= len(row)
        for one in (TermInfo(row, 3), TermInfo(resting, 3)):
            assert unpack_block(one.tail) == [(iid, 1) for iid in iids]
            assert (one.term_id, one.df) == (term_id, head[1] or len(iids))
        assert row_at_rest(resting) == resting


@pytest.mark.parametrize(
    "row",
    [
        b"\5",
        b"\5\0",
        b"\5\0\0\0",
        b"\5\0\x81",
        b"\5\1\1\1\1",
        b"v" * 20,
        b"\x80",
        b"\x0b\3\1\0\3\xb4\x99\xfa\x9d\5\4\5\0",
    ],
)
def test_a_row_that_holds_no_tail_or_cannot_be_read_stays(row: bytes) -> None:
    assert row_at_rest(row) == row
