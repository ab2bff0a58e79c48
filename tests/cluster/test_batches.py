"""Batches: bytes there and back, what is skipped, and the chain."""

import pytest

from sonicpy.cluster.batches import Batch, following, pack_batch, unpack_batch
from sonicpy.errors import StoreDamaged
from sonicpy.store.replica import Progress

BATCH = Batch("n1", 7, 3, [b"one", b"", b"three" * 1000])


def test_a_batch_comes_back_as_it_was() -> None:
    assert unpack_batch(pack_batch(BATCH)) == BATCH


def test_the_bytes_of_a_batch_are_frozen() -> None:
    packed = pack_batch(Batch("n1", 2, 1, [b"ab"]))
    assert packed.hex() == "01026e310200000000000000010000000000000002000000" + b"ab".hex()


@pytest.mark.parametrize("size", range(1, len(pack_batch(Batch("n1", 2, 1, [b"ab"])))))
def test_a_batch_that_is_cut_off_is_refused(size: int) -> None:
    packed = pack_batch(Batch("n1", 2, 1, [b"ab"]))
    if size == len(packed) - 6:
        assert unpack_batch(packed[:size]).records == []  # whole, without records
    else:
        with pytest.raises(StoreDamaged):
            unpack_batch(packed[:size])


def test_a_batch_of_a_later_version_is_refused() -> None:
    with pytest.raises(StoreDamaged, match="version 2"):
        unpack_batch(b"\2" + pack_batch(BATCH)[1:])


def step(progress: Progress, batch: Batch) -> tuple[list[bytes], Progress]:
    records, after = following(progress, batch, pack_batch(batch), "epoch")
    return list(records), after


def test_a_batch_that_comes_twice_has_one_effect() -> None:
    records, once = step(Progress(), BATCH)
    assert records == BATCH.records
    records, twice = step(once, BATCH)
    assert records == []
    assert (twice.position, twice.writers) == (2, {"n1": (7, 3)})
    assert twice.chain != once.chain


@pytest.mark.parametrize(
    ("incarnation", "number", "counts"), [(7, 2, False), (6, 9, False), (7, 5, True), (8, 1, True)]
)
def test_a_batch_counts_only_behind_the_last_one_of_its_writer(incarnation: int, number: int, counts: bool) -> None:
    _, progress = step(Progress(), BATCH)
    records, after = step(progress, Batch("n1", incarnation, number, [b"x"]))
    assert records == ([b"x"] if counts else [])
    assert after.writers["n1"] == ((incarnation, number) if counts else (7, 3))


def test_writers_do_not_know_of_each_other() -> None:
    _, progress = step(Progress(), BATCH)
    records, after = step(progress, Batch("n2", 1, 1, [b"x"]))
    assert records == [b"x"]
    assert after.writers == {"n1": (7, 3), "n2": (1, 1)}


def test_the_chain_depends_on_every_entry_and_its_place() -> None:
    one, two = Batch("n1", 1, 1, [b"a"]), Batch("n2", 1, 1, [b"b"])
    assert step(step(Progress(), one)[1], two)[1].chain != step(step(Progress(), two)[1], one)[1].chain
