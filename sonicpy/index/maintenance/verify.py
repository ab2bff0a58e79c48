"""Verify a folder that holds a store, a backup or both; sonicpy/store/care/verify_tables.py checks the tables."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from sonicpy._native.keys import bucket_key
from sonicpy._native.term_rows import live_words
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import GraphError, StoreDamaged, StoreError
from sonicpy.graph.graph_pool import GraphPool, graph_folder
from sonicpy.graph.word_graph import WordGraph
from sonicpy.ids import Scope
from sonicpy.store.care.backup import BACKUP_FILE, open_backup
from sonicpy.store.care.verify_tables import faults_beside_a_writer, readable_scopes, table_faults
from sonicpy.store.disk.check_process import faults_in_child
from sonicpy.store.disk.environment import DATA_FILE, Environment
from sonicpy.store.disk.folder import ReaderLock, holds_store, is_there, is_written, may_write, refuse_unrecovered
from sonicpy.store.disk.log import log_faults
from sonicpy.store.disk.page_check import page_faults
from sonicpy.store.disk.pages import ROWS_MAX, pages
from sonicpy.store.disk.slices import lasting_faults, slices
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.meta import RESTORE_ELSEWHERE, check_analyzer, check_format, read_position
from sonicpy.store.views.view import View

__all__ = [
    "check_backup", "folder_faults", "graph_faults", "holds_store", "is_there", "store_faults", "verify_backup",
    "verify_folder", "verify_in_child", "verify_store_in_child",
]  # fmt: skip


def verify_folder(folder: Path) -> list[str]:
    """Return the faults of the backup and the store in a folder, as sentences, without changing anything.

    Reading a damaged page may crash this process: see `verify_in_child`. If another process writes the store, only the
    last commit is checked.

    Raises:
        StoreError: the folder holds neither, or it cannot be read at all.
    """
    return list(folder_faults(folder))


def verify_in_child(folder: Path) -> list[str]:
    """Return the faults of the backup and the store in a folder, as `verify_folder` does, in a child process.

    Raises:
        StoreError: the folder holds neither, it cannot be read at all, or the child was killed from outside.
    """
    return faults_in_child(folder_faults, folder)


def verify_store_in_child(folder: Path) -> list[str]:
    """Return the faults of the store in a folder, as `verify_in_child` does; a backup beside it is not checked."""
    return faults_in_child(store_faults, folder)


def folder_faults(folder: Path) -> Iterator[str]:
    """Yield the faults that `verify_folder` returns one by one. Raises like `verify_folder`."""
    has_backup = is_there(folder / BACKUP_FILE)
    if has_backup:
        yield from verify_backup(folder)
    if not has_backup or holds_store(folder):  # a backup may be written into the folder of its own index
        yield from store_faults(folder)


def store_faults(folder: Path) -> Iterator[str]:
    """Yield the faults of the store in a folder. Raises like `verify_folder`."""
    data = folder / DATA_FILE
    if not holds_store(folder):
        raise StoreError(f"{folder} holds neither a store ({DATA_FILE} is missing) nor a backup ({BACKUP_FILE})")
    refuse_unrecovered(folder)
    has_writer = is_written(folder)
    if not has_writer and (faults := [*page_faults(data)]):
        yield from _unread(folder, faults)
        return
    unlocked = not may_write(folder)
    reader_lock = ReaderLock(folder) if unlocked else None
    try:
        environment = Environment(folder, data.stat().st_size, read_only=True, unlocked=unlocked)
        try:
            if has_writer and (faults := _page_faults_beside_a_writer(environment, data)):
                yield from _unread(folder, faults)
                return
            with environment.reading() as transaction:
                check_format(transaction)
                position = read_position(transaction)
            yield from faults_beside_a_writer(environment)
            pool, version_now = GraphPool(graph_folder(folder)), partial(_version, environment)
            with slices(environment) as sliced:
                for scope in readable_scopes(sliced):
                    check = partial(_graph_faults_in, scope=scope, pool=pool, version_now=version_now)
                    yield from lasting_faults(environment, sliced, check)
            if not has_writer:
                yield from log_faults(folder / "log", position)
        finally:
            environment.close()
    finally:
        if reader_lock is not None:
            reader_lock.release()


def verify_backup(folder: Path, analyser: Mapping[str, str] | None = None) -> list[str]:
    """Return the faults of the backup in a folder, as sentences.

    Args:
        analyser: the analysis settings of the target store, by key; None: any.

    Raises:
        StoreError: there is no backup, it is incomplete, or its texts were analysed differently.
    """
    with open_backup(folder) as environment, environment.reading() as transaction:
        check_format(transaction, "the backup", RESTORE_ELSEWHERE)
        if analyser is not None:
            check_analyzer(folder, transaction, analyser)
        return [*page_faults(folder / BACKUP_FILE, transaction.number), *table_faults(transaction)]


def check_backup(folder: Path, analyser: Mapping[str, str]) -> None:
    """Raise StoreError unless the backup in a folder can be restored into a store with these analysis settings."""
    faults = verify_backup(folder, analyser)
    if faults:
        more = f" (and {len(faults) - 1} more faults)" if len(faults) > 1 else ""
        raise StoreDamaged(f"the backup in {folder} is not restored, it is damaged: {faults[0]}{more}")


def graph_faults(view: View, pool: GraphPool, version_now: Callable[[int], int | None] | None = None) -> Iterator[str]:
    """Yield the faults of graph files, as sentences; an index rebuilds a faulty graph when it finds one.

    A graph may hold vanished words: compat mode keeps them, and their rows show that they vanished.

    Args:
        version_now: returns the version of a bucket's graph in the last commit: if it differs from that in `view`, the
            file was replaced meanwhile, which is no fault. None: no process writes.
    """
    try:
        states = list(view.all_states())
    except (StoreError, ValueError, IndexError) as error:  # ValueError: of a name or a row
        yield f"the graphs cannot be checked, because the buckets cannot be read: {error}"
        return
    for scope, state in states:
        yield from _faults_of_graph(view, scope, state, pool, version_now)


def _graph_faults_in(
    transaction: Transaction, scope: Scope, pool: GraphPool, version_now: Callable[[int], int | None]
) -> Iterator[str]:
    """Yield the faults of the graph of a bucket, if it has a graph."""
    view = View(transaction)
    state = view.bucket(*scope)
    if state is not None:
        yield from _faults_of_graph(view, scope, state, pool, version_now)


def _faults_of_graph(
    view: View, scope: Scope, state: BucketState, pool: GraphPool, version_now: Callable[[int], int | None] | None
) -> Iterator[str]:
    if not state.lexicon_version:
        return
    name = "/".join(scope)
    try:
        graph = WordGraph(pool.path(state.bucket, state.lexicon_version))
    except GraphError as error:
        if version_now is None or version_now(state.bucket) == state.lexicon_version:
            yield f"{name}: {error}"
        return
    if len(graph) != state.graph_words:
        yield f"{name}: its graph holds {len(graph)} words instead of {state.graph_words}"
    try:
        missing = _missing(view, state, graph)
    except (DamagedBytes, StoreError) as error:
        yield f"{name}: its words cannot be compared with its graph: {error}"
        return
    if missing:
        yield f"{name}: {missing} words are neither in its graph nor pending"


def _unread(folder: Path, page_faults: list[str]) -> Iterator[str]:
    """Yield the faults of pages. LMDB must not read these pages: a wrong reference may make it loop for ever."""
    yield from page_faults
    yield f"the rows of {folder} were not checked, because pages are damaged"


def _page_faults_beside_a_writer(environment: Environment, data: Path) -> list[str]:
    """Return the faults of the pages of the last commit, if a second check finds faults, too.

    During the first check, the writing process may have been writing a meta page.
    """
    faults: list[str] = []
    for _ in range(2):
        with environment.reading() as transaction:
            faults = list(page_faults(data, transaction.number))
        if not faults:
            break
    return faults


def _missing(view: View, state: BucketState, graph: WordGraph) -> int:
    """Return the number of live words that are neither in the graph nor pending."""
    prefix = bucket_key(state.bucket)
    letters = view.counts_letters(state.bucket)
    missing = 0
    for rows in pages(view.word_rows_from, prefix, ROWS_MAX):
        for word in live_words(rows, prefix, letters=letters):
            if not graph.contains(word):
                missing += not view.is_pending(state.bucket, word)
    return missing


def _version(environment: Environment, bucket: int) -> int | None:
    """Return the version of a bucket's graph in the last commit; None: there is no such bucket."""
    with environment.reading() as transaction:
        state = View(transaction).bucket_numbered(bucket)
    return None if state is None else state.lexicon_version
