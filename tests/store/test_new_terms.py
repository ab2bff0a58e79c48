"""Terms of new words are held back in the open transaction: reads and removals in it find them all."""

from pathlib import Path

import pytest

from sonicpy.store.changing.mutations import FlushBucket, FlushObject, Mutation, PopTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.rows.numbered_terms import all_terms
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from tests.store.consistency import check_consistent
from tests.store.shorthand import found, open_store, push, terms

WORDS = [f"word{number}" for number in range(40)]
LARGE = " ".join(f"part{number}" for number in range(900))


def rows(store: Store) -> int:
    """Return the number of rows in the table `terms`."""
    with store.reading() as view:
        return len(list(view.transaction.rows(tables.TERMS, b"")))


def held(store: Store, oid: str) -> list[str]:
    """Return the words of an object, as the reader of an export finds them."""
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        reader = BucketReader(view, state)
        record = reader.object(oid)
        assert record is not None
        return sorted(reader.terms([term_id for term_id, *_ in record.terms()]))


def push_words(store: Store) -> None:
    for number, word in enumerate(WORDS):
        store.push(*push(f"o{number}", word)[:4])


def test_sixteen_share_one_write(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    push_words(store)
    assert rows(store) == 0
    store.commit()
    assert rows(store) == 3
    with store.snapshot() as view:
        assert [term.decode() for _, term in sorted(all_terms(view.transaction, 0))] == WORDS
    check_consistent(store)
    store.close()


def test_a_reader_of_the_open_transaction_finds_them(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    push_words(store)
    assert held(store, "o7") == ["word7"]
    store.push(*push("o7", "more of it")[:4])
    assert held(store, "o7") == ["it", "more", "of", "word7"]
    store.close()


@pytest.mark.parametrize(
    "removal", [PopTerms("c", "b", "large", terms(LARGE)), FlushObject("c", "b", "large"), FlushBucket("c", "b")]
)
@pytest.mark.parametrize("in_steps", [False, True])
def test_what_is_new_can_be_removed_at_once(tmp_path: Path, removal: Mutation, in_steps: bool) -> None:
    store = open_store(tmp_path)
    push_words(store)
    store.push(*push("large", LARGE)[:4])
    store.apply(removal, in_steps=in_steps)
    store.push(*push("o1", "alpha")[:4])
    while store.has_removals:
        store.take_step()
    assert found(store, "alpha") == ["o1"]
    check_consistent(store)
    store.commit()
    check_consistent(store)
    with store.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
        left = {term.decode() for _, term in all_terms(view.transaction, state.bucket)}
    assert left == ({"alpha"} if isinstance(removal, FlushBucket) else {*WORDS, "alpha"})
    store.close()
