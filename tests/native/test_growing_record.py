"""A record that grows equals a dict of its terms, and its bytes are those of a plain record."""

import random
from collections.abc import Callable

import pytest

from sonicpy._native.dense_records import dense_row
from sonicpy._native.growing_record import GrowingRecord
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import RecordRow, oid_at, record_at
from sonicpy._native.varint import DamagedBytes
from sonicpy._native.waiting_rows import BufferedRow

Term = tuple[int, int, bool, int]
FEW = 255
"""The most terms of a record that stays plain."""


def made(random_: random.Random, count: int, ids: int, has_blocks: bool) -> dict[int, Term]:
    """Return terms by id; `ids` is above all of them."""
    return {term_id: some_term(random_, term_id, has_blocks) for term_id in random_.sample(range(ids), count)}


def some_term(random_: random.Random, term_id: int, has_blocks: bool) -> Term:
    tf = random_.choice([0, 1, 1, 1, 2, 200])
    return term_id, tf, random_.random() < 0.2, random_.randrange(1 << random_.choice([3, 30])) if has_blocks else 0


def growing(oid: bytes, terms: dict[int, Term], has_blocks: bool) -> GrowingRecord:
    record = GrowingRecord.of(ObjectRecord.of(oid, list(terms.values()), has_blocks).pack(), has_blocks)
    assert isinstance(record, GrowingRecord)
    return record


@pytest.mark.parametrize("has_blocks", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_it_holds_what_a_dict_holds(seed: int, has_blocks: bool) -> None:
    random_ = random.Random(seed)
    ids = random_.choice([400, 5_000, 1 << 39])
    terms = made(random_, random_.choice([256, 257, 300, 319, 320]), ids, has_blocks)
    record = growing(b"large", terms, has_blocks)
    for _ in range(60):
        step = [
            some_term(random_, random_.choice([random_.randrange(ids + 9), random_.choice(list(terms))]), has_blocks)
            for _ in range(random_.choice([0, 1, 9, 60]))
        ]
        record.add(step)
        terms.update({term[0]: term for term in step})
        for term_id in [*random_.sample(list(terms), 30), 0, ids, *(random_.randrange(ids) for _ in range(30))]:
            assert record.term(term_id) == terms.get(term_id)
        assert (len(record), record.length) == (len(terms), sum(tf for _, tf, _, _ in terms.values()))
        if random_.random() < 0.4:
            assert record.pack() == ObjectRecord.of(b"large", list(terms.values()), has_blocks).pack()
            assert not record.is_changed


def test_terms_that_stay_the_same_are_no_change() -> None:
    terms = made(random.Random(1), 300, 900, False)
    record = growing(b"o", terms, False)
    record.add(list(terms.values()))
    assert not record.is_changed


def test_a_small_record_stays_plain() -> None:
    small = ObjectRecord.of(b"o", [(number, 1, False, 0) for number in range(FEW)]).pack()
    found = GrowingRecord.of(small)
    assert isinstance(found, ObjectRecord)
    assert found.pack() == small


@pytest.mark.parametrize("size", [1, 2, 3, 255, 256, 300, 500])
def test_damaged_bytes_are_refused(size: int) -> None:
    whole = ObjectRecord.of(b"o", [(300 * number, 1, False, 0) for number in range(FEW + 9)]).pack()
    with pytest.raises(DamagedBytes):
        GrowingRecord.of(whole[:size])
    with pytest.raises(DamagedBytes):
        GrowingRecord.of(whole + b"\0")


@pytest.mark.parametrize("form", [bytes, dense_row], ids=["plain", "dense"])
def test_a_row_has_the_terms_of_its_growing_records(form: Callable[[bytes], bytes]) -> None:
    terms = made(random.Random(2), 300, 900, False)
    others = {place: ObjectRecord.of(b"o%d" % place, [(place, 1, False, 0)]).pack() for place in (1, 9)}
    plain = RecordRow(b"")
    plain.put(1, others[1])
    plain.put(4, ObjectRecord.of(b"large", list(terms.values())).pack())
    row = BufferedRow(7, form(plain.put(9, others[9])), dense=True)
    assert (row.number, len(row), row.is_changed) == (7, 3, False)
    record = growing(b"large", terms, False)
    row.grow(4, record)
    assert row.is_changed
    record.add([(1_000, 3, False, 0)])
    terms[1_000] = (1_000, 3, False, 0)
    expected = ObjectRecord.of(b"large", list(terms.values())).pack()
    assert record_at(row.names, 4) != expected
    assert [oid_at(row.names, place) for place in (0, 1, 4, 9)] == [None, b"o1", b"large", b"o9"]
    assert row.record(1) == others[1]
    assert row.record(4) == expected
    assert RecordRow(row.packed).records() == [(1, others[1]), (4, expected), (9, others[9])]
    assert row.growing(4) is record
    row.put(4, others[1])
    record.add([(1_001, 3, False, 0)])
    assert (row.growing(4), row.record(4)) == (None, others[1])
    row.grow(4, record)
    row.drop(4)
    assert (row.growing(4), record_at(row.packed, 4)) == (None, None)


@pytest.mark.parametrize("seed", range(20))
def test_a_row_changes_as_one_that_was_read(seed: int) -> None:
    """Replaced and removed records leave a dense row dense; a new one, or one of another object, makes it plain."""
    random_ = random.Random(seed)
    plain = RecordRow(b"")
    for place in random_.sample(range(16), random_.randint(1, 16)):
        plain.put(place, some_record(random_, b"o%d" % place))
    dense = dense_row(plain.put(3, some_record(random_, b"o3")))
    plain, row = RecordRow(dense), BufferedRow(0, dense, dense=True)
    is_dense = True
    for _ in range(30):
        place = random_.randrange(16)
        held = dict(plain.oids())
        if random_.random() < 0.3:
            is_dense &= place in held
            expected, changed = plain.drop(place), row.drop(place)
        else:
            oid = random_.choice([b"o%d" % place] * 5 + [b"new"])
            is_dense &= held.get(place) == oid
            record = some_record(random_, oid)
            expected, changed = plain.put(place, record), row.put(place, record)
            assert row.record(place) == record
        assert row.packed == row.names == changed == (dense_row(expected) if is_dense else expected)
        assert dict(BufferedRow(0, changed, dense=True).oids()) == dict(plain.oids())
    assert row.is_changed
    assert row.records() == plain.records()


def some_record(random_: random.Random, oid: bytes) -> bytes:
    """Return a record that can be in a dense row."""
    ids = random_.sample(range(500), random_.randrange(9))
    return ObjectRecord.of(oid, [(term_id, random_.choice([1, 1, 2, 200]), False, 0) for term_id in ids]).pack()
