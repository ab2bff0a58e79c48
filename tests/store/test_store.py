"""Opening and closing a store: the allowed processes, the messages of refusals, and the content of a closed store."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sonicpy._native.terms import Terms
from sonicpy.errors import InvalidArgument, StoreDamaged, StoreError, StoreLocked
from sonicpy.store.changing.mutations import FlushBucket, FlushObject, PopTerms, PushTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.boot_mark import BOOT_FILE
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.folder import LOCK_FILE
from sonicpy.store.disk.log import HEADER, Log
from sonicpy.store.disk.platform import boot_id
from sonicpy.store.rows.meta import ANALYZER, FORMAT
from sonicpy.store.store import Store
from sonicpy.store.views.write_view import WriteView
from tests.store.consistency import check_consistent
from tests.store.shorthand import ANALYSER, MAP_BYTES, found, open_store, push, terms
from tests.support.patience import WAIT_S

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("durability", ["interval", "commit"])
def test_a_closed_store_opens_with_everything_in_it(tmp_path: Path, durability: str) -> None:
    store = open_store(tmp_path, durability=durability)
    assert store.durability == durability
    assert not store.was_converted
    store.apply(push("o1", "alpha beta"))
    store.seal()
    store.sync_log()
    store.apply(push("o2", "alpha"))
    store.close()
    (segment,) = (tmp_path / "log").iterdir()
    assert segment.stat().st_size == HEADER.size, "what is in the tables goes"
    for _ in range(3):
        store = open_store(tmp_path, durability=durability)
        assert found(store, "alpha") == ["o2", "o1"]
        check_consistent(store)
        store.close()
    assert len(list((tmp_path / "log").iterdir())) == 1, "older segments go"


def test_a_sync_lets_older_segments_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonicpy.store.store.SEGMENT_BYTES", 200)
    store = open_store(tmp_path)
    for number in range(50):
        store.apply(push(f"o{number}", "alpha"))
        store.commit()
    assert len(list((tmp_path / "log").iterdir())) > 3
    store.sync()
    assert len(list((tmp_path / "log").iterdir())) == 1
    store.close()


def test_the_log_of_what_is_committed_can_go(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.commit()
    store.apply(push("o2", "alpha"))
    store.seal()
    store.shorten_log()
    store.sync()
    assert store.log_bytes() > 0, "o2 stands in the log alone"
    store.commit()
    store.shorten_log()
    assert store.log_bytes() > 0, "it may not be on the disk yet"
    store.sync()
    assert store.log_bytes() == 0
    store.apply(push("o3", "alpha"))
    store.seal()
    copy = shutil.copytree(tmp_path, tmp_path.with_name("as a killed process leaves it"))
    store.close()
    again = open_store(copy)
    with again.reading() as view:
        state = view.bucket("c", "b")
    assert state is not None and state.objects == 3
    again.close()


def test_a_sync_keeps_the_records_of_a_commit_it_did_not_cover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread commits and rotates just after the environment's sync, so that commit may not be on the disk."""
    monkeypatch.setattr("sonicpy.store.store.SEGMENT_BYTES", 1)
    store = open_store(tmp_path)
    before = store.log_position
    store.apply(push("o1", "alpha"))
    store.seal()
    original = Environment.sync

    def sync_then_commit(self: Environment) -> None:
        original(self)
        store.commit()

    with monkeypatch.context() as patch:
        patch.setattr(Environment, "sync", sync_then_commit)
        store.sync()
    assert len(list(Log(tmp_path / "log").replay(before))) == 1
    store.sync()
    assert list(Log(tmp_path / "log").replay(store.log_position)) == []
    assert len(list((tmp_path / "log").iterdir())) == 1
    store.close()


def test_positions_rise_and_the_environment_never_runs_ahead(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    positions = [store.log_position]
    for number in range(20):
        store.apply(push(f"o{number}", "alpha"))
        assert store.log_position == positions[-1], "only a seal writes"
        if number % 3 == 0:
            store.commit()
        else:
            store.seal()
        positions.append(store.log_position)
        check_consistent(store)
    assert positions == sorted(set(positions))
    store.close()
    store = open_store(tmp_path)
    assert store.log_position == positions[-1]
    store.close()


def test_other_threads_and_processes_see_commits_only(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.commit()
    store.apply(push("o2", "alpha"))
    store.seal()
    assert found(store, "alpha") == ["o2", "o1"]
    assert _in_a_thread(lambda: found(store, "alpha")) == ["o1"]
    assert _in_a_thread(store.shown_now) is None
    store.commit()
    assert _in_a_thread(lambda: found(store, "alpha")) == ["o2", "o1"]
    store.close()


def _in_a_thread(work: Callable[[], object]) -> object:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(timeout=WAIT_S)


# -- one writer ------------------------------------------------------------------------------------------------------


def test_a_second_store_in_this_process_is_refused_with_the_holders_number(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    with pytest.raises(StoreLocked, match=rf"already open for writing by process {os.getpid()}: stop that process, "):
        open_store(tmp_path)
    assert found(store, "alpha") == ["o1"], "the first one goes on"
    store.close()
    open_store(tmp_path).close()


def test_who_is_refused_hears_where_the_store_is_served(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.note_server("sonic://127.0.0.1:1")
    with pytest.raises(StoreLocked, match="sonic://127.0.0.1:1"):
        open_store(tmp_path)
    store.close()


def test_a_second_process_is_refused_until_the_first_one_is_gone(tmp_path: Path) -> None:
    hold = (
        "import sys; from pathlib import Path; from tests.store.shorthand import open_store\n"
        "store = open_store(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None and other.stdin is not None
    with other:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(StoreLocked, match=f"by process {other.pid}: stop that process, "):
            open_store(tmp_path)
        other.kill()
    open_store(tmp_path).close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=f"cannot write the store folder {tmp_path}/file"):
        open_store(tmp_path / "file")


def test_files_of_other_programs_stay_as_they_are(tmp_path: Path) -> None:
    others = {"README": b"mine", "kv/0/CURRENT": b"rocksdb", "fst/a.fst": b"graph", "log/old.log.gz": b"z"}
    for name, content in others.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.close()
    open_store(tmp_path).close()
    assert {name: (tmp_path / name).read_bytes() for name in others} == others


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_another_analysis_is_refused_by_the_name_of_its_key(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    changed = [
        ({**ANALYSER, "stopwords.mode": "drop"}, "stopwords.mode = weigh, not drop", "set it back, or push the texts"),
        ({**ANALYSER, "tokenization.new": "1"}, "tokenization.new = unset, not 1", "set it back, or push the texts"),
        ({**ANALYSER, "lexer": "0"}, "lexer = 1, not 0", "; export and import into a new store"),
        ({"lexer": "1"}, "stopwords.mode = weigh, not unset", "set it back, or push the texts"),
    ]
    refusals = []
    for analyser, words, advice in changed:
        with pytest.raises(StoreError, match=f"{words}: new texts would get other terms.*{advice}") as refusal:
            Store(tmp_path, analyser, map_bytes=MAP_BYTES)
        refusals.append(refusal)
    assert len(refusals) == 4
    store = open_store(tmp_path)  # although the callers still hold the refusals
    store.apply(push("o1", "alpha"))
    store.close()


def test_another_format_version_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.maintain(lambda view: FORMAT.write(view.transaction, "7"))
    store.close()
    for _ in range(2):
        with pytest.raises(
            StoreError, match="format version 7, this sonicpy reads 4, 5 and 6: export it with the version"
        ):
            open_store(tmp_path)


def test_a_log_of_another_version_is_refused_and_kept(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.close()
    (segment,) = (tmp_path / "log").glob("*.log")
    held = bytearray(segment.read_bytes())
    held[8] = 2
    segment.write_bytes(held)
    for _ in range(2):
        with pytest.raises(StoreError, match="format version 2"):
            open_store(tmp_path)
    assert segment.read_bytes() == held
    held[8] = 1
    segment.write_bytes(held)
    store = open_store(tmp_path)
    assert found(store, "alpha") == ["o1"]
    store.close()


def test_a_store_whose_log_begins_too_late_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.close()
    (segment,) = (tmp_path / "log").glob("*.log")
    late = segment.with_name(f"{1 << 40:016x}.log")
    held = bytearray(segment.read_bytes())
    held[10:18] = (1 << 40).to_bytes(8, "little")
    late.write_bytes(held)
    segment.unlink()
    with pytest.raises(StoreDamaged, match=f"begins at {1 << 40}, but the store needs it"):
        open_store(tmp_path)


def test_a_file_that_is_no_environment_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"something else" * 1000)
    with pytest.raises(StoreError, match=f"cannot open the store in {tmp_path}"):
        open_store(tmp_path)


def test_an_unreadable_analyser_row_is_named_as_damage(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.maintain(lambda view: view.transaction.put(tables.META, ANALYZER.name, b"\xff{"))
    store.close()
    with pytest.raises(StoreDamaged):
        open_store(tmp_path)


# -- after the machine was switched off --------------------------------------------------------------------------------


def switched_off(folder: Path) -> None:
    assert json.loads((folder / BOOT_FILE).read_text())["boot"] == boot_id()
    (folder / BOOT_FILE).write_text(json.dumps({"version": 2, "boot": "an-older-boot", "clean": False}))


def test_after_a_power_cut_the_store_is_checked_and_opens(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.close()
    switched_off(tmp_path)
    store = open_store(tmp_path)
    assert "checking every row" in caplog.text and "can be read" in caplog.text
    assert found(store, "alpha") == ["o1"]
    assert json.loads((tmp_path / BOOT_FILE).read_text()) == {"version": 2, "boot": boot_id(), "clean": False}
    store.close()
    assert json.loads((tmp_path / BOOT_FILE).read_text()) == {"version": 2, "boot": boot_id(), "clean": True}
    caplog.clear()
    open_store(tmp_path).close()
    assert not caplog.text


NOTES = [
    ('{"boot": "an-older-boot", "clean": true}', False, "it was closed in order, by an older version"),
    ('{"version": 2, "boot": "an-older-boot", "clean": true}', False, "it was closed in order"),
    ('{"boot": "an-older-boot", "clean": false}', True, "it was open in another boot, by an older version"),
    ('{"version": 2, "boot": "", "clean": false}', True, "it was open in a boot without an id"),
    ("", True, "an empty file"),
    ("[]", True, "a file of something else"),
    ("{not json", True, "half a file"),
    ('{"boot": 1, "clean": false}', True, "a boot that is no text"),
    ('{"boot": "an-older-boot"}', True, "it does not say whether it was closed"),
    pytest.param("[" * 100_000, True, "nested too deeply", id="deep"),
    (None, True, "no file"),
]


@pytest.mark.parametrize(("note", "checks", "why"), NOTES)
def test_what_is_not_said_to_be_closed_is_checked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, note: str | None, checks: bool, why: str
) -> None:
    open_store(tmp_path).close()
    if note is None:
        (tmp_path / BOOT_FILE).unlink()
    else:
        (tmp_path / BOOT_FILE).write_text(note)
    open_store(tmp_path).close()
    assert ("every row of" in caplog.text) == checks, why
    caplog.clear()
    open_store(tmp_path).close()
    assert not caplog.text


def test_a_mark_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    (tmp_path / BOOT_FILE).write_text('{"version": 3, "boot": "b", "clean": true}')
    with pytest.raises(StoreError, match="has version 3, this sonicpy reads 2"):
        open_store(tmp_path)


def test_a_process_that_died_is_no_power_cut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    open_store(tmp_path).close()
    (tmp_path / BOOT_FILE).write_text(json.dumps({"version": 2, "boot": boot_id(), "clean": False}))
    open_store(tmp_path).close()
    assert not caplog.text


def test_a_damaged_store_is_refused_after_a_power_cut(tmp_path: Path) -> None:
    """Pages of the environment that were never written have zeros instead of a table."""
    store = open_store(tmp_path)
    for number in range(500):
        store.apply(push(f"o{number}", f"word{number} alpha"))
    store.close()
    switched_off(tmp_path)
    held = bytearray((tmp_path / "data.mdb").read_bytes())
    held[2 * 4096 :] = bytes(len(held) - 2 * 4096)
    (tmp_path / "data.mdb").write_bytes(held)
    script = (
        "import sys; from pathlib import Path; from sonicpy.errors import StoreError\n"
        "from tests.store.shorthand import open_store\n"
        "try: open_store(Path(sys.argv[1]))\n"
        "except StoreError as fault: print(type(fault).__name__, fault)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, "damage must not kill the process"
    assert "Store" in done.stdout, done.stderr


# -- unusual input -----------------------------------------------------------------------------------------------------

NAMES = ["a", "~" * 128, "\0", "a\0b", "\x1f\x7f", "..", "/", '"', "LIMIT(1)", "\x01a"]


def test_any_valid_name_keeps_to_itself(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    scopes = [(collection, bucket) for collection in NAMES for bucket in NAMES]
    for number, (collection, bucket) in enumerate(scopes):
        store.apply(push(f"o{number}", "alpha", collection=collection, bucket=bucket))
        store.apply(push(bucket, "beta", collection=collection, bucket=bucket))
    store.commit()
    with store.reading() as view:
        assert [len(view.buckets(collection)) for collection in NAMES] == [len(NAMES)] * len(NAMES)
    for number, (collection, bucket) in enumerate(scopes):
        assert found(store, "alpha", collection=collection, bucket=bucket) == [f"o{number}"]
        assert found(store, "beta", collection=collection, bucket=bucket) == [bucket]
    check_consistent(store)
    store.close()


def test_unknown_names_give_zero_and_make_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for mutation in (PopTerms("c", "b", "o", terms("a")), FlushObject("c", "b", "o"), FlushBucket("c", "b")):
        assert store.apply(mutation) == 0
    store.commit()
    with store.reading() as view:
        assert view.bucket("c", "b") is None
        assert view.transaction.count(tables.SCOPES) == view.transaction.count(tables.DROPPED) == 0
    store.close()


def test_what_is_no_fault_of_the_storage_leaves_nothing_half_done(tmp_path: Path) -> None:
    """A mutation with a name that the lower layers refuse is refused; the changes before it remain."""
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    for oid in ("", "x" * 256, "\ud800"):
        with pytest.raises((StoreError, ValueError)):
            store.apply(push(oid, "alpha beta", bucket="new"))
    store.seal()
    with store.reading() as view:
        assert isinstance(view, WriteView)
        assert view.bucket("c", "new") is None
    assert found(store, "alpha") == ["o1"]
    check_consistent(store)
    store.close()


def test_a_text_too_large_for_the_log_is_refused_alone(tmp_path: Path) -> None:
    """A checkpoint at that moment prevents that other changes of the same turn are undone with the refused text."""
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    words = [b"%d" % number + b"x" * (1 << 20) for number in range(17)]
    with pytest.raises(InvalidArgument, match="at most 16777216 are accepted; split the text"):
        store.apply(PushTerms("c", "b", "large", Terms(words, b"\1" * 17, b"\0" * 17), 0))
    store.apply(push("o2", "alpha"))
    store.seal()
    assert found(store, "alpha") == ["o2", "o1"]
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None and state.objects == 2
    store.close()


def test_the_lock_file_names_the_holder(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text("99999999999999\n")
    store = open_store(tmp_path)
    assert (tmp_path / LOCK_FILE).read_text() == f"{os.getpid()}\n"
    store.close()
