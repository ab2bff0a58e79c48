"""A reader in another process (read_only=True) keeps its caches when the writer commits."""

import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path

import sonicpy
from sonicpy.store.views.read_cache import SnapshotSource
from tests.support.patience import WAIT_S

KINDS = ("read_postings", "read_lengths")


def read(folder: Path, link: Connection) -> None:
    """Answer queries, and report the rows that each of them had to read."""
    done: list[str] = []
    for kind in KINDS:
        original = getattr(SnapshotSource, kind)
        setattr(
            SnapshotSource, kind, lambda *given, kind=kind, original=original: done.append(kind) or original(*given)
        )
    with sonicpy.open(folder, read_only=True) as index:
        while (text := link.recv()) is not None:
            found = index.query_ids("c", "b", text)
            link.send((found, sorted(done)))
            done.clear()


def test_only_what_a_commit_rewrote_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()

    def ask(text: str) -> tuple[list[str], list[str]]:
        ours.send(text)
        assert ours.poll(WAIT_S)
        found, done = ours.recv()
        return found, done

    with sonicpy.open(folder, autocommit=True) as index:
        for number in range(300):
            index.push("c", "b", f"o{number}", "amber beryl" if number % 2 else "amber")
        reader = spawn.Process(target=read, args=(folder, theirs), daemon=True)
        reader.start()
        assert ask("beryl") == ([f"o{number}" for number in range(299, 279, -2)], ["read_lengths", "read_postings"])
        index.push("c", "other", "o1", "amber beryl")
        assert ask("beryl")[1] == []
        index.push("c", "b", "new", "beryl")
        found, done = ask("beryl")
        assert (found[0], done) == ("new", [])
        index.flush("c", "b", "new")
        found, done = ask("beryl")
        assert (found[0], done) == ("o299", ["read_postings"]), "its list was rewritten"
        index.flush("c", "b")
        assert ask("beryl")[0] == []
        ours.send(None)
        reader.join(WAIT_S)
