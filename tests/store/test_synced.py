"""The order of syncs: data has to be on the disk before certain later steps, whatever a loss of power leaves."""

from pathlib import Path

from tests.support.disk_calls import Call, Disk, record_calls, replayed

DATA = "data.mdb"
LOG = ".log"

STORE = """
from tests.store.shorthand import open_store, push
def filled(durability="interval"):
    store = open_store(folder / "store", durability=durability)
    for number in range(20):
        store.apply(push(f"o{number}", f"alpha word{number}"))
    store.seal()
    return store
"""


def at(calls: list[Call], what: str, ending: str) -> list[Disk]:
    """Return the disk just before each call of one kind to a file whose name has this ending."""
    found = []
    for call, disk in replayed(calls):
        if call.what == what and call.name.endswith(ending):
            found.append(Disk(disk.unsynced.copy()))
    return found


def test_the_log_goes_only_when_the_environment_is_on_the_disk(tmp_path: Path) -> None:
    code = (
        "store = filled(); store.commit(); store.shorten_log(); mark('sync'); store.sync(); mark('done'); os._exit(0)"
    )
    calls = record_calls(STORE + code, tmp_path / "f")
    gone = at(calls[calls.index(Call("mark", "sync", "")) :], "unlink", LOG)
    assert gone, "the log of what is committed goes"
    for disk in at(calls, "unlink", LOG):
        assert not disk.lacks(DATA)
    assert not at(calls, "mark", "done")[0].lacks(DATA)


def test_the_log_goes_after_a_replay_only_when_the_environment_is_on_the_disk(tmp_path: Path) -> None:
    record_calls(STORE + "store = filled(); os._exit(0)", tmp_path / "f")
    calls = record_calls(STORE + "open_store(folder / 'store'); mark('open'); os._exit(0)", tmp_path / "f")
    gone = at(calls, "unlink", LOG)
    assert gone, "what was replayed needs no log any more"
    for disk in gone:
        assert not disk.lacks(DATA)


def test_the_log_goes_only_when_the_name_of_a_data_file_that_was_made_anew_is_on_the_disk(tmp_path: Path) -> None:
    """A loss of power while a store was made has left the file of checkpoints and the log, but not the data file."""
    record_calls(STORE + "store = filled(); os._exit(0)", tmp_path / "f")
    (tmp_path / "f" / "store" / DATA).unlink()
    (tmp_path / "f" / "store" / "sonicpy.checkpoint").write_bytes(bytes(256 << 10))
    calls = record_calls(STORE + "open_store(folder / 'store'); mark('open'); os._exit(0)", tmp_path / "f")
    gone = at(calls, "unlink", LOG)
    assert gone, "what was replayed needs no log any more"
    for disk in gone:
        assert not disk.lacks(DATA, "/store"), "the data file, and its name in its folder"


def test_an_open_store_has_its_log_on_the_disk(tmp_path: Path) -> None:
    calls = record_calls(STORE + "open_store(folder / 'store'); mark('open'); os._exit(0)", tmp_path / "f")
    (disk,) = at(calls, "mark", "open")
    assert not disk.lacks(LOG, "/log"), "else what was set aside could come back behind what is appended"


def test_with_durability_commit_what_was_sealed_is_on_the_disk(tmp_path: Path) -> None:
    code = "store = filled('commit'); store.sync_log(); mark('sealed'); store.sync(); mark('synced'); os._exit(0)"
    calls = record_calls(STORE + code, tmp_path / "f")
    (sealed,), (synced,) = at(calls, "mark", "sealed"), at(calls, "mark", "synced")
    assert not sealed.lacks(LOG, "/log"), "the log, and its name in its folder"
    assert not synced.lacks(DATA), "and what was committed, with the page that names the commit"


def test_a_backup_is_on_the_disk_before_it_has_its_name_and_its_name_before_ok(tmp_path: Path) -> None:
    code = "store = filled(); store.commit(); store.backup(folder / 'backup'); mark('done'); os._exit(0)"
    calls = record_calls(STORE + code, tmp_path / "f")
    (named,) = at(calls, "rename", "sonicpy.backup")
    assert not named.lacks("sonicpy.backup.new")
    (done,) = at(calls, "mark", "done")
    assert not done.lacks("/backup", "sonicpy.backup")


def test_a_graph_is_on_the_disk_before_it_has_its_name(tmp_path: Path) -> None:
    code = """
from sonicpy.store.views.write_cache import WriteCache
from tests.index.shorthand import open_index, push
WriteCache.begins_small = False
index = open_index(folder)
push(index, "o", "amber birch cedar")
index.consolidate()
os._exit(0)
"""
    calls = record_calls(code, tmp_path / "f")
    named = at(calls, "rename", ".graph")
    assert named
    for disk in named:
        assert not disk.lacks(".graph.new", ".graph")


def test_the_boot_mark_is_replaced_whole_and_says_clean_last(tmp_path: Path) -> None:
    calls = record_calls(STORE + "store = filled(); mark('close'); store.close()", tmp_path / "f")
    assert not [call for call in calls if "write" in call.what and call.name == "sonicpy.boot"], "never half of it"
    closing = calls.index(Call("mark", "close", ""))
    marked = [place for place, call in enumerate(calls) if call.what == "rename" and call.name == "sonicpy.boot"]
    assert [place > closing for place in marked].count(True) == 1
    (*_, (_, disk)) = replayed(calls[: marked[-1] + 1])
    assert not disk.lacks(DATA, LOG)
    assert not [call for call in calls[marked[-1] :] if "write" in call.what and call.name.endswith((DATA, LOG))]


def test_what_an_import_has_pushed_is_on_the_disk_before_its_position(tmp_path: Path) -> None:
    code = """
from sonicpy.cli import main
from sonicpy.cli.importing import job
job.CHUNK_ROWS = 10
job.SAVE_EVERY_S = 0.0
(folder / "rows.csv").write_text("id,text\\n" + "".join(f"{number},word{number}\\n" for number in range(35)))
sys.exit(main.main(["import", str(folder / "rows.csv"), "--collection", "c", "--data", str(folder / "d")]))
"""
    calls = record_calls(code, tmp_path / "f")
    saved, removed = at(calls, "rename", ".json"), at(calls, "unlink", ".json")
    assert (len(saved), len(removed)) == (4, 1)
    for disk in (*saved, *removed):
        assert not disk.lacks(DATA, LOG)
