"""With a log cut short or damaged at any byte, the store opens in a state that a serial run had."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import sonicpy
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.store.changing.mutations import FlushBucket, FlushCollection, FlushObject, Mutation, PopTerms
from sonicpy.store.disk.log import HEADER
from sonicpy.store.store import Store
from sonicpy.store.views.write_view import WriteView
from tests.reference.store import Model
from tests.store.consistency import check_consistent
from tests.store.shorthand import found, open_store, picture, push, terms

SCOPES = (("c", "b"), ("c", "b2"), ("d", "b"))
RUN: list[Mutation] = [
    push("o1", "alpha beta*2", 2),
    push("o2", "alpha", 2),
    push("o3", "alpha gamma", 2),
    PopTerms("c", "b", "o2", terms("alpha")),
    push("o9", "zeta", bucket="b2"),
    FlushObject("c", "b", "o1"),
    push("o1", "iota", collection="d"),
    FlushBucket("c", "b2"),
    push("o4", "beta", 2),
    FlushCollection("d"),
]
VERSION_BYTES = range(8, 10)
EVERY = 23
"""The gate tries one in this many places, the full set all."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """The name and the content of a segment that holds the run, without committed changes."""
    folder = tmp_path_factory.mktemp("written")
    store = open_store(folder)
    for mutation in RUN:
        store.apply(mutation)
        store.seal()
    (segment,) = (folder / "log").glob("*.log")
    name, content = segment.name, segment.read_bytes()
    store.close()
    return name, content


def states() -> Iterator[dict[tuple[str, str], object]]:
    """Yield the content of the buckets before the run and after each of its steps."""
    model = Model()
    yield {}
    for mutation in RUN:
        model.apply(mutation)
        yield {scope: bucket.picture() for scope, bucket in model.copy().buckets.items()}


def state_of(store: Store) -> dict[tuple[str, str], object]:
    with store.reading() as view:
        return {scope: picture(view, *scope) for scope in SCOPES if view.bucket(*scope) is not None}


def opened_on(folder: Path, name: str, content: bytes) -> dict[tuple[str, str], object]:
    """Return the content of a store whose only file is this segment, after checking that it takes and keeps changes."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "log").mkdir(parents=True)
    (folder / "log" / name).write_bytes(content)
    store = open_store(folder)
    check_consistent(store)
    held = state_of(store)
    store.apply(push("after", "omega", bucket="b3"))
    store.close()
    store = open_store(folder)
    assert state_of(store) == held
    with store.reading() as view:
        assert view.bucket("c", "b3") is not None
    store.close()
    return held


def check_prefixes(folder: Path, written: tuple[str, bytes], step: int) -> None:
    name, content = written
    serial = list(states())
    last = 0
    for size in range(0, len(content) + 1, step):
        place = serial.index(opened_on(folder, name, content[:size]))
        assert place >= last, f"{size} bytes hold less than fewer did"
        last = place
    assert opened_on(folder, name, content) == serial[-1], "all of it"


def check_damage(folder: Path, written: tuple[str, bytes], step: int) -> None:
    name, content = written
    serial = list(states())
    for place in range(0, len(content), step):
        damaged = bytearray(content)
        damaged[place] ^= 0x5A
        if place in VERSION_BYTES:
            with pytest.raises(StoreError, match="format version"):
                opened_on(folder, name, bytes(damaged))
            continue
        held = opened_on(folder, name, bytes(damaged))
        assert held in serial[:-1], place
        if place < HEADER.size:
            assert held == serial[0]


def test_cut_short_anywhere(tmp_path: Path, written: tuple[str, bytes]) -> None:
    check_prefixes(tmp_path / "store", written, EVERY)


def test_damaged_anywhere(tmp_path: Path, written: tuple[str, bytes]) -> None:
    check_damage(tmp_path / "store", written, EVERY)


def segment_of(folder: Path) -> Path:
    return max((folder / "log").glob("*.log"))


def test_whole_records_behind_the_damage_are_set_aside_and_the_log_of_the_process_says_so(
    tmp_path: Path, written: tuple[str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    name, content = written
    damaged = bytearray(content)
    damaged[len(damaged) // 2] ^= 0x5A
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / name).write_bytes(damaged)
    open_store(tmp_path).close()
    (aside,) = (tmp_path / "log").glob("*.damaged")
    assert aside.read_bytes() == damaged
    assert f"was set aside as {aside}" in caplog.text


@pytest.fixture
def damaged_while_open(tmp_path: Path) -> Iterator[Store]:
    """An open store with one object in its commit and two behind it in its log, the second of which is damaged."""
    store = open_store(tmp_path / "open")
    try:
        for oid in ("o1", "o2", "o3"):
            store.apply(push(oid, "alpha"))
            store.seal()
            if oid == "o1":
                store.commit()
        path = segment_of(store.folder)
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b"\xff")
        yield store
    finally:
        with suppress(StoreDamaged):
            store.close()


def test_a_recovery_that_a_damaged_log_cuts_short_drops_nothing_in_silence(
    damaged_while_open: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store = damaged_while_open
    said = "is damaged at position .* takes no more changes until it is opened again"
    assert found(store, "alpha") == ["o3", "o2", "o1"]

    def fail(view: WriteView) -> None:
        raise ZeroDivisionError

    with pytest.raises(StoreDamaged, match=said):
        store.maintain(fail)
    for _ in range(2):
        assert found(store, "alpha") == ["o1"], "readers see the last commit"
        assert store.refusing
        for change in (lambda: store.apply(push("o4", "alpha")), store.commit):
            with pytest.raises(StoreDamaged, match=said):
                change()
    assert caplog.text.count("is damaged at position") == 1
    with pytest.raises(StoreDamaged, match=said):
        store.close()
    again = open_store(store.folder)
    try:
        assert found(again, "alpha") == ["o2", "o1"], "the part before the damage"
        assert "was set aside" in caplog.text
        again.apply(push("o4", "alpha"))
        again.commit()
        assert found(again, "alpha") == ["o4", "o2", "o1"]
    finally:
        again.close()


def test_changes_before_the_damage_was_found_are_not_sealed_behind_it(damaged_while_open: Store) -> None:
    store = damaged_while_open
    size = segment_of(store.folder).stat().st_size
    store.apply(push("o4", "alpha"))
    with pytest.raises(StoreDamaged):
        store.maintain(lambda view: 1 // 0)
    with pytest.raises(StoreDamaged, match="takes no more changes"):
        store.seal()
    assert segment_of(store.folder).stat().st_size == size
    assert found(store, "alpha") == ["o1"]


def test_threads_of_an_index_read_on_after_a_recovery_that_a_damaged_log_cuts_short(tmp_path: Path) -> None:
    index = sonicpy.open(tmp_path)
    try:
        with index.batch():
            index.push("c", "b", "o1", "alpha")
        index.commit()
        with index.engine.changing():  # no late commit comes between
            index.push("c", "b", "o2", "alpha")
            index.engine.store.seal()
            path = segment_of(tmp_path)
            path.write_bytes(path.read_bytes()[:-1] + b"\xff")
            with pytest.raises(StoreDamaged, match="is damaged at position"):
                index.engine.store.maintain(lambda view: 1 // 0)
        assert index.query("c", "b", "alpha") == ["o1"]
        assert index.count("c", "b", of="objects") == 1
        with pytest.raises(StoreDamaged, match="takes no more changes until it is opened again"):
            index.push("c", "b", "o3", "alpha")
    finally:
        with suppress(StoreDamaged):
            index.close()


@pytest.mark.full
def test_cut_short_at_every_byte(tmp_path: Path, written: tuple[str, bytes]) -> None:
    check_prefixes(tmp_path / "store", written, 1)


@pytest.mark.full
def test_damaged_at_every_byte(tmp_path: Path, written: tuple[str, bytes]) -> None:
    check_damage(tmp_path / "store", written, 1)
