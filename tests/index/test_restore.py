"""Restoring puts back the whole content of a backup or nothing, whatever happens meanwhile."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy import Index
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.index.maintenance.verify import verify_folder
from sonicpy.store.care.backup import BACKUP_FILE
from sonicpy.store.care.restore import STEP_ROWS
from sonicpy.store.rows.keys import word_key
from tests.index.shorthand import B, C, contents, found, open_index, push
from tests.store.consistency import check_consistent
from tests.store.trouble import failing_writes, roll_back
from tests.support.examples import thinned

WORDS = "amber birch cedar dahlia elder fennel ginger hazel iris juniper".split()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An index with a backup in tmp_path/"backup", which holds other texts than the index now."""
    with open_index(tmp_path) as index:
        with index.batch():
            for number in range(30):
                push(index, f"old{number}", " ".join(WORDS[: 1 + number % 10]))
                index.push(C, "second", f"old{number}", f"oak ash{number}")
        index.backup(tmp_path / "backup")
        push(index, "new", "amber newcomer")
        index.flush_object(C, B, "old3")
        index.push("elsewhere", B, "stays", "not in the backup")
        yield index


def expected() -> dict[str, set[str]]:
    return {word: {f"old{n}" for n in range(30) if n % 10 >= place} for place, word in enumerate(WORDS)}


def check_restored(index: Index) -> None:
    assert contents(index) == expected()
    assert index.count_objects(C, "second") == 30
    assert index.query("elsewhere", B, "backup") == ["stays"]
    assert index.suggest(C, B, "gin") == ["ginger"]
    assert index.suggest(C, B, "ginegr") == ["ginger"], "the graph is there"
    assert index.verify() == []
    check_consistent(index.engine.store)


def check_untouched(index: Index) -> None:
    assert found(index, "newcomer") == ["new"]
    assert index.count_objects(C, B) == 30
    assert index.count_objects(C, "second") == 30
    assert index.engine.count_scopes() == 3
    assert index.verify() == []


def test_a_restored_collection_is_what_it_was(index: Index, tmp_path: Path) -> None:
    index.restore(tmp_path / "backup")
    check_restored(index)
    push(index, "after", "juniper")
    assert found(index, "juniper")[0] == "after", "it goes on from there"
    check_consistent(index.engine.store)


def test_it_is_there_after_the_next_start(index: Index, tmp_path: Path) -> None:
    index.restore(tmp_path / "backup")
    shutil.copytree(tmp_path / "store", tmp_path / "later" / "store")
    with open_index(tmp_path / "later") as again:
        check_restored(again)


def test_into_an_empty_index_in_compat_mode(tmp_path: Path) -> None:
    with open_index(tmp_path / "one", server__compat="sonic") as index:
        push(index, "o1", "amber birch")
        index.backup(tmp_path)
        assert index.count_words(C, B) == 0
    with open_index(tmp_path / "two", server__compat="sonic") as other:
        other.restore(tmp_path)
        assert found(other, "amber") == ["o1"]
        assert other.words(C, B) == ["amber", "birch"], "what was pending is consolidated"
        assert other.verify() == []


def test_an_empty_backup_replaces_nothing(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.backup(tmp_path / "backup")
        push(index, "o1", "amber")
        index.restore(tmp_path / "backup")
        assert found(index, "amber") == ["o1"]


def test_more_rows_than_a_step_holds(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        with index.batch():
            for number in range(3 * STEP_ROWS):
                push(index, f"o{number}", f"amber word{number} word{number % 7}")
        before = contents(index)
        index.backup(tmp_path / "backup")
        index.flush_collection(C)
        index.restore(tmp_path / "backup")
        assert contents(index) == before
        assert index.verify() == []
        check_consistent(index.engine.store)


def test_a_damaged_backup_changes_nothing(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "backup" / BACKUP_FILE
    whole = path.read_bytes()
    path.write_bytes(whole[:5000] + b"XX" + whole[5002:])
    with pytest.raises(StoreDamaged, match="checksum"):
        index.restore(tmp_path / "backup")
    check_untouched(index)


def test_a_backup_with_faults_in_its_tables_changes_nothing(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonicpy.index.maintenance.verify.table_faults", lambda transaction: ["one", "two", "three"])
    with pytest.raises(StoreDamaged, match=r"is not restored, it is damaged: one \(and 2 more faults\)"):
        index.restore(tmp_path / "backup")
    monkeypatch.undo()
    check_untouched(index)


def test_a_backup_of_texts_that_were_cut_differently(index: Index, tmp_path: Path) -> None:
    with open_index(tmp_path / "other", normalization__stemming_enabled=True) as other:
        push(other, "o", "amber")
        with pytest.raises(StoreError, match=r"was made with normalization.stemming_enabled = false, not true"):
            other.restore(tmp_path / "backup")
        assert found(other, "amber") == ["o"]


def steps_of_a_restore(index: Index, folder: Path) -> int:
    with index.maintainer.restoration(folder) as restoration:
        return sum(1 for _ in restoration.fill())


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonicpy.store.care.restore.STEP_ROWS", 10)


@pytest.mark.full
@pytest.mark.usefixtures("small_steps")
def test_given_up_at_any_step_it_changes_nothing(index: Index, tmp_path: Path) -> None:
    steps = steps_of_a_restore(index, tmp_path / "backup")
    assert steps >= 10
    for last in thinned(range(steps)):
        with index.maintainer.restoration(tmp_path / "backup") as restoration:
            for step, _ in enumerate(restoration.fill()):
                if step == last:
                    break
        check_untouched(index)
    while index.engine.sweep(1000):
        index.engine.commit()
    check_consistent(index.engine.store)
    index.restore(tmp_path / "backup")
    check_restored(index)


@pytest.mark.usefixtures("small_steps")
def test_killed_at_any_step_it_changes_nothing(index: Index, tmp_path: Path) -> None:
    """A restore that is killed at any step changes nothing; a copy of the folder represents the folder of a killed
    process.
    """
    with index.maintainer.restoration(tmp_path / "backup") as restoration:
        for step, _ in enumerate(restoration.fill()):
            index.engine.commit()
            shutil.copytree(tmp_path / "store", tmp_path / f"killed{step}" / "store")
        for bucket in restoration.staged_buckets():
            index.maintainer.consolidate_bucket(bucket)
        shutil.copytree(tmp_path / "store", tmp_path / "killed-built" / "store")
        restoration.switch()
        shutil.copytree(tmp_path / "store", tmp_path / "switched" / "store")
    killed = sorted(tmp_path.glob("killed*"))
    assert len(killed) > 10, killed
    for folder in thinned(killed):
        assert verify_folder(folder / "store") == [], "staged buckets are no fault"
        with open_index(folder) as again:
            check_untouched(again)
            while again.engine.sweep(1000):
                again.engine.commit()
            check_consistent(again.engine.store)
    with open_index(tmp_path / "switched") as again:
        check_restored(again)


def test_a_transaction_undone_at_any_step_is_done_again(index: Index, tmp_path: Path) -> None:
    steps = steps_of_a_restore(index, tmp_path / "backup")
    for victim in thinned(range(steps + 1), steps):
        push(index, "new", "amber newcomer")
        with index.maintainer.restoration(tmp_path / "backup") as restoration:
            for step, _ in enumerate(restoration.fill()):
                if step == victim:
                    roll_back(index.engine.store)
            for bucket in restoration.staged_buckets():
                index.maintainer.consolidate_bucket(bucket)
            restoration.switch()
        check_restored(index)


@pytest.mark.usefixtures("small_steps")
def test_steps_that_a_change_has_committed_may_be_done_again(tmp_path: Path) -> None:
    """Small buckets count their rows: a bucket that is begun again on its committed rows would count them twice."""
    with sonicpy.open(tmp_path / "store") as index:
        for number in range(20):
            for bucket in ("one", "two"):
                index.push(C, bucket, f"o{number}", f"amber word{number}", "none")
        index.backup(tmp_path / "backup")
        steps = steps_of_a_restore(index, tmp_path / "backup")
        for victim in thinned(range(steps)):
            with index.maintainer.restoration(tmp_path / "backup") as restoration:
                for step, _ in enumerate(restoration.fill()):
                    if step == victim:
                        with index.engine.changing():
                            index.push("elsewhere", B, f"o{step}", "quince")
                            index.commit()
                            roll_back(index.engine.store)
                restoration.switch()
            assert index.verify() == []
            assert index.count_objects(C, "one") == index.count_objects(C, "two") == 20


@pytest.mark.usefixtures("small_steps")
def test_a_write_that_fails_once_at_any_step_is_done_again(index: Index, tmp_path: Path) -> None:
    steps = steps_of_a_restore(index, tmp_path / "backup")
    for victim in thinned(range(steps - 1)):  # behind the last one comes the commit
        push(index, "new", "amber newcomer")
        with index.maintainer.restoration(tmp_path / "backup") as restoration:
            with failing_writes((), lambda: StoreError("a fault of the test")) as calls:
                for step, _ in enumerate(restoration.fill()):
                    calls.failing = {calls.made} if step == victim else ()
            for bucket in restoration.staged_buckets():
                index.maintainer.consolidate_bucket(bucket)
            restoration.switch()
        check_restored(index)


def test_changes_made_meanwhile_to_other_collections_stay(index: Index, tmp_path: Path) -> None:
    with index.maintainer.restoration(tmp_path / "backup") as restoration:
        for step, _ in enumerate(restoration.fill()):
            index.push("elsewhere", f"b{step}", "o", "quince")
            push(index, f"lost{step}", "quince")
        for bucket in restoration.staged_buckets():
            index.maintainer.consolidate_bucket(bucket)
        restoration.switch()
    check_restored(index)
    assert index.count_buckets("elsewhere") == step + 2
    assert found(index, "quince") == [], "its collection was replaced"


def test_a_bucket_without_its_graph_is_not_switched(in_tables: None, index: Index, tmp_path: Path) -> None:
    with index.maintainer.restoration(tmp_path / "backup") as restoration:
        for _ in restoration.fill():
            pass
        with pytest.raises(StoreError, match="was not restored whole, so nothing was"):
            restoration.switch()
    check_untouched(index)


def test_verify_names_a_damaged_and_a_missing_graph(in_tables: None, index: Index, tmp_path: Path) -> None:
    index.consolidate()
    one, two = sorted((tmp_path / "store" / "graph").iterdir())[:2]
    one.unlink()
    two.write_bytes(two.read_bytes()[:-1])
    faults = index.verify()
    assert len(faults) == 2
    assert all(fault.startswith(f"{C}/") and "cannot be read as a word graph" in fault for fault in faults)


def test_verify_names_words_that_neither_the_graph_nor_pending_knows(in_tables: None, index: Index) -> None:
    index.consolidate()
    push(index, "late", "quince")
    index.engine.store.maintain(lambda view: view.forget_pending(0, [word_key(0, b"quince")]))
    assert index.verify() == [f"{C}/{B}: 1 words are neither in its graph nor pending"]
