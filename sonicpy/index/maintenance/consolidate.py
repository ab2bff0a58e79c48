"""Consolidation: the words of a bucket in one snapshot become its word graph.

    gather   read the words of a committed snapshot; if there is a graph, it and the words pending since are
             enough, so that the snapshot is held for a few milliseconds   (any process)
    write    write the graph file under its final name                     (the same process)
    publish    record its version in the bucket's state; from then on it is the bucket's graph
    prune    delete the pending words that it holds, a few at a time; delete the file before it

Once there are many files, a small bucket gets none: it is noted as done, and queries compare its words one by one.

A process killed in between loses nothing: the next start deletes a file that no state names, and a word that is pending
although the graph holds it is only compared twice.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from sonicpy._native.parts import JOINT_MARK
from sonicpy.errors import GraphError, StoreDamaged
from sonicpy.files import PRIVATE, Access
from sonicpy.graph.builder import WordGraphBuilder
from sonicpy.graph.graph_pool import GraphName, GraphPool, graph_folder
from sonicpy.graph.word_graph import WordGraph
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.why import Why
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.undecoded import UNDECODED
from sonicpy.store.rows.uses import GRAPHLESS
from sonicpy.store.views.all_words import all_live_words, joint_terms
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView

GRAPHLESS_WORDS = 1_000
"""The most words ever added to a bucket that needs no graph: comparing this many takes about 0.05 ms."""
PRUNED_ROWS = 200
"""The number of pending words deleted between two turns: about 0.2 ms."""
ADDED_AT_ONCE = 4_096
"""The number of words added to a graph between two turns: about 0.1 ms."""
Failure = GraphError | StoreDamaged
"""The errors of one bucket, for which the graphs of others need not wait."""
FAILURES = (GraphError, StoreDamaged)
"""The same, for `except`."""


class GraphLimits(NamedTuple):
    """The limits of a graph.

    Attributes:
        words, file_bytes: the most words and the most bytes of a graph; 0: no limit.
        keeps_orphans: as in Sonic, words that vanished with their object stay in the graph, only POP removes them; and
            a full graph takes no new words.
        graphless_words: the most words ever added to a bucket that needs no graph.
    """

    words: int = 0
    file_bytes: int = 0
    keeps_orphans: bool = False
    graphless_words: int = 0

    @property
    def take_all(self) -> bool:
        """Whether a graph holds exactly the live words."""
        return not (self.words or self.file_bytes or self.keeps_orphans)


class GraphWords(NamedTuple):
    """The words for a new graph.

    Attributes:
        version: the version of the graph.
        seq: the bucket's `pending_seq` that the words include.
        words: the words in byte order.
        joints: hidden terms that name joints of words.
    """

    bucket: int
    version: int
    seq: int
    words: list[bytes]
    joints: list[bytes]


class WordChanges(NamedTuple):
    """The changes of a bucket's words since its graph was built, and perhaps older ones.

    Attributes:
        expected: the number of words in the bucket.
        seq: the bucket's `pending_seq` that the changes include.
        pending: for each word that appeared or vanished, whether the bucket has it now.
        joints: hidden terms that name joints of words.
    """

    graph: WordGraph
    expected: int
    seq: int
    pending: dict[bytes, bool]
    joints: list[bytes]


class Built(NamedTuple):
    """A graph file that was written.

    Attributes:
        version: the version of the graph; 0: the bucket needs none.
        seq: the bucket's `pending_seq` that the graph includes.
        is_cut: the limits cut off the last words in byte order.
    """

    bucket: int
    version: int
    words: int
    seq: int
    is_cut: bool


def gather_words(
    snapshot: Callable[[], AbstractContextManager[View]], pool: GraphPool, bucket: int, limits: GraphLimits
) -> GraphWords | None:
    """Return the words for a bucket's graph from the last commit, or None if the bucket is gone.

    The snapshot is held only while rows are read: until it ends, LMDB reuses none of the pages that it shows.
    """
    with snapshot() as view:
        changes = read_changes(view, pool, bucket) if limits.take_all else None
        if changes is None:
            return read_words(view, pool, bucket, limits)
    words = changed_words(changes)
    if words is not None:
        return GraphWords(bucket, changes.graph.version + 1, changes.seq, words, changes.joints)
    with snapshot() as view:
        return read_words(view, pool, bucket, limits)


def read_changes(view: View, pool: GraphPool, bucket: int) -> WordChanges | None:
    """Return the changes of a bucket's words since its graph was built; None: it has no graph."""
    state = view.bucket_numbered(bucket)
    graph = None if state is None else pool.get(bucket, state.lexicon_version)
    if state is None or graph is None or graph.version != state.lexicon_version:
        return None
    changes = view.pending_changes(bucket).items()
    pending = {word: why == Why.APPEARED for word, why in changes if not word.startswith(JOINT_MARK)}
    return WordChanges(graph, state.live_words, state.pending_seq, pending, joint_terms(view, bucket))


def changed_words(changes: WordChanges) -> list[bytes] | None:
    """Return the words of a graph with its changes, in byte order; None: their number is not the expected one."""
    graph, pending = changes.graph, changes.pending
    words = [word for word in graph.words(0, len(graph)) if word not in pending]
    words += (word for word, is_there in pending.items() if is_there)
    words.sort()
    return words if len(words) == changes.expected else None


def read_words(view: View, pool: GraphPool, bucket: int, limits: GraphLimits) -> GraphWords | None:
    """Return the words for a bucket's graph as `view` shows them, or None if the bucket is gone."""
    state = view.bucket_numbered(bucket)
    if state is None:
        return None
    words = _words_with_orphans(view, pool, state, limits) if limits.keeps_orphans else all_live_words(view, state)
    return GraphWords(bucket, state.lexicon_version + 1, state.pending_seq, words, joint_terms(view, bucket))


def write_graph(pool: GraphPool, found: GraphWords, limits: GraphLimits, *, sync: bool = True) -> Built:
    """Write the graph of gathered words, without a snapshot; it is cut to the limits. Return a Built.

    A first graph of few words is not written if the pool has no room for it: its version is then 0.

    Args:
        sync: False: `GraphPool.sync_all` follows before the graph is published.

    Raises:
        GraphError: the file cannot be written, or a word is none of a graph, because its row is damaged.
    """
    bucket, version, seq, words, joints = found
    if version == 1 and seq <= limits.graphless_words and not pool.has_room:
        return Built(bucket, 0, len(words), seq, False)
    kept = words[: limits.words] if limits.words else words
    content = _graph(kept, joints, bucket, version)
    while limits.file_bytes and len(content) > limits.file_bytes and kept:
        kept = kept[: min(len(kept) - 1, len(kept) * limits.file_bytes // len(content))]
        content = _graph(kept, joints, bucket, version)
    pool.write(bucket, version, content, sync=sync)
    return Built(bucket, version, len(kept), seq, len(kept) < len(words))


def build_in_worker(
    store: Path,
    map_bytes: int,
    buckets: list[int],
    limits: GraphLimits,
    together: int = 1,
    access: Access = PRIVATE,
) -> tuple[list[Built], list[Failure]]:
    """Write the graphs of several buckets from the last commit of a store: the job of a worker process.

    Args:
        store: the folder of the store.
        map_bytes: the size of the map of the store in bytes.
        together: number of buckets to read from one snapshot; more than one only for small buckets.
        access: modes of new files.

    Returns:
        The graphs that were built, and the errors of the others.

    Raises:
        StoreError: the store cannot be read.
    """
    environment = Environment(store, map_bytes, read_only=True, access=access)

    @contextmanager
    def snapshot() -> Iterator[View]:
        with environment.reading() as transaction:
            yield View(transaction)

    graphs: list[Built] = []
    errors: list[Failure] = []
    try:
        pool = GraphPool(graph_folder(store), access)
        for words in _gathered(snapshot, pool, buckets, limits, together, errors):
            try:
                graphs.append(write_graph(pool, words, limits, sync=False))
            except GraphError as error:
                errors.append(error)
        try:
            pool.sync_all(GraphName(built.bucket, built.version) for built in graphs if built.version)
        except GraphError as error:
            return [], [*errors, error]
        return graphs, errors
    finally:
        environment.close()


def _gathered(
    snapshot: Callable[[], AbstractContextManager[View]],
    pool: GraphPool,
    buckets: list[int],
    limits: GraphLimits,
    together: int,
    errors: list[Failure],
) -> Iterator[GraphWords]:
    """Yield the words for the graphs of the given buckets that still exist.

    Args:
        snapshot: returns a context manager with a view of the last commit.
        together: the number of buckets to read from one snapshot.
        errors: gets an error for each bucket with damaged rows.
    """

    def gathered(opened: Callable[[], AbstractContextManager[View]], bucket: int) -> GraphWords | None:
        try:
            return gather_words(opened, pool, bucket, limits)
        except StoreDamaged as error:
            errors.append(error)
        except UNDECODED as error:  # a store names the damage itself; a worker reads without one
            errors.append(StoreDamaged(f"bucket {bucket}: {error}"))
        return None

    for first in range(0, len(buckets), together):
        group = buckets[first : first + together]
        if together == 1:
            found = [gathered(snapshot, bucket) for bucket in group]
        else:
            with snapshot() as view:
                found = [gathered(partial(_opened, view), bucket) for bucket in group]
        yield from (words for words in found if words is not None)


def _opened(view: View) -> AbstractContextManager[View]:
    """Return a context manager that gives an open snapshot and leaves it open."""
    return nullcontext(view)


def publish(view: WriteView, graphs: Iterable[Built]) -> list[Built]:
    """Record graphs as the graphs of their buckets; return those whose bucket was flushed meanwhile."""
    orphaned = []
    for built in graphs:
        scope = view.scope(built.bucket)
        if scope is None:
            orphaned.append(built)
            continue
        state = view.bucket_to_change(*scope)
        state.lexicon_version = built.version
        state.graph_words = built.words
        if built.version:
            state.graph_seq = built.seq
        else:  # the number stays 0, because all words are still to be compared
            view.require(GRAPHLESS)
    return orphaned


def prune_pending(view: WriteView, built: Built, start: bytes) -> bytes | None:
    """Delete some of the pending words that a graph holds, from key `start` on; return the key to continue from, None:
    done.
    """
    state = view.bucket_numbered(built.bucket)
    if state is None or state.lexicon_version != built.version:
        return None  # it was flushed, and the sweeper has its rows; or its publication was undone
    if not built.version and not state.is_graphless:
        return None
    rows = view.some_pending_rows(built.bucket, start, PRUNED_ROWS + 1)
    last = built.seq.to_bytes(6, "big")
    done = [key for key, row in rows[:PRUNED_ROWS] if row[:6] <= last]
    view.forget_pending(built.bucket, done)
    return rows[PRUNED_ROWS][0] if len(rows) > PRUNED_ROWS else None


def _words_with_orphans(view: View, pool: GraphPool, state: BucketState, limits: GraphLimits) -> list[bytes]:
    """Return the words of the old graph and new words in byte order; popped words are left out, other vanished ones
    stay.

    A full graph takes no new words; any other graph takes the oldest ones, up to its limit. Words that were not taken
    are never taken later.
    """
    pending = view.pending_changes(state.bucket)
    graph = pool.get(state.bucket, state.lexicon_version)
    words = set() if graph is None else set(graph.words(0, len(graph)))
    is_full = 0 < limits.words <= len(words)
    words -= {word for word, why in pending.items() if why == Why.POPPED}
    new = {word for word, why in pending.items() if why != Why.POPPED}
    if graph is None or not limits.words:
        new.update(all_live_words(view, state))
    if not is_full:
        words |= _first_that_came(view, state.bucket, new - words, limits.words)
    return sorted(words)


def _first_that_came(view: View, bucket: int, words: set[bytes], most: int) -> set[bytes]:
    """Return the oldest `most` of some words, or all if it is 0; words that are not pending count as oldest."""
    if not most or len(words) <= most:
        return words
    came = [word for word in view.pending_in_order(bucket) if word in words]
    older = sorted(words.difference(came))
    return set((older + came)[:most])


def _graph(words: list[bytes], joints: list[bytes], bucket: int, version: int) -> bytes:
    builder = WordGraphBuilder()
    try:
        for at in range(0, len(words), ADDED_AT_ONCE):
            builder.add_all(words[at : at + ADDED_AT_ONCE])
        for term in joints:
            builder.add_joints(term)
    except ValueError as error:
        raise GraphError(f"the word graph of bucket {bucket} cannot be built from its rows: {error}") from error
    return builder.finish(bucket, version)
