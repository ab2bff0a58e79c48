"""Consolidation: a bucket's words, as they were at one moment, become its word graph.

    gather   take the words of a committed snapshot; where a graph is there, it and the words pending since are
             enough, so that the snapshot is held for a few milliseconds   (any process)
    write    write their graph file under its final name                   (the same)
    publish    record its version in the bucket's state; from then on it is the bucket's graph
    prune_pending     forget the pending words that it holds, a few at a time; delete the file before it

Killed in between, nothing is lost: a file that no state names is deleted at the next start, and words that are pending
although the graph holds them are only looked at twice.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sonicpy._native.postings import bucket_key, live_words
from sonicpy.errors import GraphError
from sonicpy.graph.builder import WordGraphBuilder
from sonicpy.graph.pool import GraphPool, graph_folder
from sonicpy.graph.word_graph import WordGraph
from sonicpy.store.bucket_state import BucketState
from sonicpy.store.environment import Environment
from sonicpy.store.pages import ROWS_MAX, pages
from sonicpy.store.view import View, Why, WriteView

PRUNED_ROWS = 200
"""Pending words forgotten between two turns: about 0.2 ms."""


class GraphLimits(NamedTuple):
    """What a graph may hold.

    Attributes:
        words, file_bytes: at the most; 0: no limit.
        keeps_orphans: as in Sonic, words that vanished with their object stay in the graph; only POP takes them out.
    """

    words: int = 0
    file_bytes: int = 0
    keeps_orphans: bool = False


class Words(NamedTuple):
    """What a graph shall hold.

    Attributes:
        version: of the graph.
        edits: how many of the bucket's edits are in the words.
        words: in byte order.
    """

    bucket: int
    version: int
    edits: int
    words: list[bytes]


class Changes(NamedTuple):
    """What became of a bucket's words since its graph was built, and perhaps before.

    Attributes:
        expected: how many words there are.
        edits: how many of the bucket's edits are in that.
        pending: whether a word is there, for each that appeared or vanished.
    """

    graph: WordGraph
    expected: int
    edits: int
    pending: dict[bytes, bool]


class Built(NamedTuple):
    """A graph file that was written.

    Attributes:
        edits: how many of the bucket's edits it holds.
        is_cut: words late in byte order are missing, for the limits.
    """

    bucket: int
    version: int
    words: int
    edits: int
    is_cut: bool


def gather_words(
    snapshot: Callable[[], AbstractContextManager[View]], pool: GraphPool, bucket: int, limits: GraphLimits
) -> Words | None:
    """Return what a bucket's graph shall hold, as a snapshot shows it, or None if the bucket is gone.

    A snapshot is only held while rows are read: until it ends, no page that it shows is used again.
    """
    with snapshot() as view:
        changes = read_changes(view, pool, bucket) if limits == GraphLimits() else None
        if changes is None:
            return read_words(view, pool, bucket, limits)
    words = changed_words(changes)
    if words is not None:
        return Words(bucket, changes.graph.version + 1, changes.edits, words)
    with snapshot() as view:
        return read_words(view, pool, bucket, limits)


def read_changes(view: View, pool: GraphPool, bucket: int) -> Changes | None:
    """Return how a bucket's words have changed since its graph was built; None: it has none."""
    state = view.bucket_numbered(bucket)
    graph = None if state is None else pool.get(bucket, state.lexicon_version)
    if state is None or graph is None or graph.version != state.lexicon_version:
        return None
    pending = {word: why == Why.APPEARED for word, why in view.pending_changes(bucket).items()}
    return Changes(graph, state.live_words, state.pending_seq, pending)


def changed_words(changes: Changes) -> list[bytes] | None:
    """Return the words of a graph with its changes, in byte order; None: they are not as many as there should be."""
    graph, pending = changes.graph, changes.pending
    words = [word for word in graph.words(0, len(graph)) if word not in pending]
    words += (word for word, is_there in pending.items() if is_there)
    words.sort()
    return words if len(words) == changes.expected else None


def read_words(view: View, pool: GraphPool, bucket: int, limits: GraphLimits) -> Words | None:
    """Return what a bucket's graph shall hold, as `view` shows it, or None if the bucket is gone."""
    state = view.bucket_numbered(bucket)
    if state is None:
        return None
    words = _live_words(view, bucket)
    if limits.keeps_orphans:
        words = sorted({*words, *_orphans(view, pool, state)})
    return Words(bucket, state.lexicon_version + 1, state.pending_seq, words)


def write_graph(pool: GraphPool, found: Words, limits: GraphLimits) -> Built:
    """Write the graph of what was read of a bucket; no snapshot need be open meanwhile.

    Raises:
        GraphError: the file cannot be written.
    """
    bucket, version, edits, words = found
    kept = words[: limits.words] if limits.words else words
    content = _graph(kept, bucket, version)
    while limits.file_bytes and len(content) > limits.file_bytes and kept:
        kept = kept[: min(len(kept) - 1, len(kept) * limits.file_bytes // len(content))]
        content = _graph(kept, bucket, version)
    pool.write(bucket, version, content)
    return Built(bucket, version, len(kept), edits, len(kept) < len(words))


def build_in_worker(
    store: str, map_bytes: int, buckets: list[int], limits: GraphLimits
) -> tuple[list[Built], list[GraphError]]:
    """Write the graphs of several buckets from the last commit of a store: the job of a worker process.

    Returns:
        What was built, and why others were not.

    Raises:
        StoreError: the store cannot be read.
    """
    environment = Environment(Path(store), map_bytes, sync=False, read_only=True)

    @contextmanager
    def snapshot() -> Iterator[View]:
        with environment.reading() as transaction:
            yield View(transaction)

    graphs: list[Built] = []
    errors: list[GraphError] = []
    try:
        pool = GraphPool(graph_folder(Path(store)))
        for bucket in buckets:
            found = gather_words(snapshot, pool, bucket, limits)
            if found is None:
                continue
            try:
                graphs.append(write_graph(pool, found, limits))
            except GraphError as error:
                errors.append(error)
        return graphs, errors
    finally:
        environment.close()


def publish(view: WriteView, graphs: Iterable[Built]) -> list[Built]:
    """Make graphs the graphs of their buckets; return the ones whose bucket was flushed meanwhile."""
    orphaned = []
    for built in graphs:
        scope = view.scope(built.bucket)
        if scope is None:
            orphaned.append(built)
            continue
        state = view.bucket_to_change(*scope)
        state.lexicon_version = built.version
        state.graph_words = built.words
        state.graph_seq = built.edits
    return orphaned


def prune_pending(view: WriteView, built: Built, start: bytes) -> bytes | None:
    """Forget some of the pending words that a graph holds, from key `start` on; return where to go on, None: done."""
    state = view.bucket_numbered(built.bucket)
    if state is None or state.lexicon_version != built.version:
        return None  # it was flushed, and the sweeper has its rows; or its adoption was undone
    rows = list(islice(view.pending_rows(built.bucket, start), PRUNED_ROWS + 1))
    done = [key for key, edit in rows[:PRUNED_ROWS] if int.from_bytes(edit[:6], "big") <= built.edits]
    view.forget_pending(built.bucket, done)
    return rows[PRUNED_ROWS][0] if len(rows) > PRUNED_ROWS else None


def _live_words(view: View, bucket: int) -> list[bytes]:
    """Return the words of a bucket that objects show, in byte order."""
    prefix = bucket_key(bucket)
    return [word for rows in pages(view.word_rows_from, prefix, ROWS_MAX) for word in live_words(rows, prefix)]


def _orphans(view: View, pool: GraphPool, state: BucketState) -> set[bytes]:
    """Return the words of the graph so far, and those that vanished with their object since, without popped ones."""
    pending = view.pending_changes(state.bucket)
    graph = pool.get(state.bucket, state.lexicon_version)
    words = set() if graph is None else set(graph.words(0, len(graph)))
    words |= {word for word, why in pending.items() if why == Why.ORPHANED}
    return words - {word for word, why in pending.items() if why == Why.POPPED}


def _graph(words: list[bytes], bucket: int, version: int) -> bytes:
    builder = WordGraphBuilder()
    for word in words:
        builder.add(word)
    return builder.finish(bucket, version)
