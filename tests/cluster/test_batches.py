"""Tests of batches: their bytes there and back, skipped batches, and the chain."""

import pytest

from sonicpy.cluster.log.batches import Batch, following, pack_batch, pack_records, unpack_batch, unpack_records
from sonicpy.errors import StoreDamaged
from sonicpy.store.rows.log_progress import LogProgress

RECORDS = [b"one", b"", b"three" * 1000]
BATCH = Batch("n1", 7, 3, {0: pack_records(RECORDS), 9: pack_records([b"nine"])})
SMALL = pack_batch(Batch("n1", 2, 1, {5: pack_records([b"ab"])}))


def test_a_batch_comes_back_as_it_was() -> None:
    assert unpack_batch(pack_batch(BATCH)) == BATCH
    assert unpack_records(BATCH.sections[0]) == RECORDS


def test_the_bytes_of_a_batch_are_frozen() -> None:
    head = "01026e3102000000000000000100000000000000"
    assert SMALL.hex() == head + "05000600000002000000" + b"ab".hex()


@pytest.mark.parametrize("size", range(1, len(SMALL)))
def test_a_batch_that_is_cut_off_is_refused(size: int) -> None:
    if size == len(SMALL) - 12:
        assert unpack_batch(SMALL[:size]).sections == {}  # whole, without sections
    else:
        with pytest.raises(StoreDamaged):
            unpack_batch(SMALL[:size])


@pytest.mark.parametrize("size", range(1, 6))
def test_a_section_that_is_cut_off_is_refused(size: int) -> None:
    with pytest.raises(StoreDamaged):
        unpack_records(pack_records([b"ab"])[:size])


def test_a_batch_of_a_later_version_is_refused() -> None:
    with pytest.raises(StoreDamaged, match="version 2"):
        unpack_batch(b"\2" + pack_batch(BATCH)[1:])


def batch(writer: str, incarnation: int, number: int, *records: bytes) -> Batch:
    return Batch(writer, incarnation, number, {0: pack_records(records)})


def step(progress: LogProgress, batch: Batch, partition: int = 0) -> tuple[list[bytes], LogProgress]:
    (records,), after = following(progress, [(progress.position + 3, batch)], partition, "epoch")
    return list(records), after


def test_a_batch_that_comes_twice_has_one_effect() -> None:
    records, once = step(LogProgress(), BATCH)
    assert records == RECORDS
    records, twice = step(once, BATCH)
    assert records == []
    assert (twice.position, twice.writers) == (6, {"n1": (7, 3)})
    assert twice.chain != once.chain


@pytest.mark.parametrize(
    ("incarnation", "number", "counts"), [(7, 2, False), (6, 9, False), (7, 5, True), (8, 1, True)]
)
def test_a_batch_counts_only_behind_the_last_one_of_its_writer(incarnation: int, number: int, counts: bool) -> None:
    _, progress = step(LogProgress(), BATCH)
    records, after = step(progress, batch("n1", incarnation, number, b"x"))
    assert records == ([b"x"] if counts else [])
    assert after.writers["n1"] == ((incarnation, number) if counts else (7, 3))


def test_writers_do_not_know_of_each_other() -> None:
    _, progress = step(LogProgress(), BATCH)
    records, after = step(progress, batch("n2", 1, 1, b"x"))
    assert records == [b"x"]
    assert after.writers == {"n1": (7, 3), "n2": (1, 1)}


def test_the_chain_depends_on_every_entry_and_its_order() -> None:
    one, two = batch("n1", 1, 1, b"a"), batch("n2", 1, 1, b"a")
    assert step(step(LogProgress(), one)[1], two)[1].chain != step(step(LogProgress(), two)[1], one)[1].chain


def test_the_chain_of_a_partition_does_not_depend_on_the_others() -> None:
    alone = Batch("n1", 7, 3, {9: BATCH.sections[9]})
    assert step(LogProgress(), BATCH, 9) == step(LogProgress(), alone, 9)


def test_batches_that_are_taken_together_leave_what_they_leave_one_by_one() -> None:
    batches = [BATCH, batch("n2", 1, 1, b"a", b"b"), BATCH, batch("n1", 7, 2, b"old"), batch("n1", 7, 4, b"c")]
    entries = list(zip((3, 4, 7, 8, 12), batches, strict=True))
    progress, alone = LogProgress(), []
    for entry in entries:
        (records,), progress = following(progress, [entry], 0, "epoch")
        alone.append(list(records))
    together, after = following(LogProgress(), entries, 0, "epoch")
    assert [list(records) for records in together] == alone == [RECORDS, [b"a", b"b"], [], [], [b"c"]]
    assert after == progress
