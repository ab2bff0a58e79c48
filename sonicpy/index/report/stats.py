"""The figures of an index, a collection or a bucket, as plain dicts for JSON, for `Index.stats` and STATS.

The words, pending words and named texts of a bucket are counted row by row, with pauses for other threads; everything
else is read from counters.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonicpy._native.lengths import unpack_length
from sonicpy.errors import StoreError
from sonicpy.graph.graph_pool import GraphPool
from sonicpy.index.report.field_figures import objects_by_field
from sonicpy.rules import NEWEST
from sonicpy.store.disk.free_space import BLOCK_BYTES
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.column_names import COLUMN_NAMES, unpack_columns
from sonicpy.store.rows.digests import count_digests
from sonicpy.store.rows.keys import is_staged
from sonicpy.store.rows.order_rows import ORDERED, ordered_in
from sonicpy.store.rows.synonym_rules import collections_with
from sonicpy.store.rows.tag_counts import OF_TAGS, OF_TEXTS, TAG_COUNTS, unpack_tag_counts
from sonicpy.store.views.view import View
from sonicpy.version import VERSION

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine

Figures = dict[str, Any]

NAMED_MAX = 1_000
"""The most collections or buckets that are listed one by one."""
ROWS_BETWEEN_PAUSES = 1_000
"""The number of rows counted between pauses for other threads: about 0.3 ms."""
PERCENTILES = (50, 90, 99)
STATUS = Path("/proc/self/statm")


def index_figures(engine: "Engine") -> Figures:
    """Return the figures of a whole index: its settings, its contents, its bytes on the disk and in memory."""
    store = engine.store
    with engine.long_read() as view:
        contents = whole_figures(view)
    return {
        "version": VERSION,
        "folder": str(store.folder).encode(errors="backslashreplace").decode(),  # a name may be no UTF-8
        "read_only": engine.read_only,
        "compat": engine.config.server.compat,
        "durability": store.durability,
        **contents,
        **disk_figures(store.folder),
        "used_bytes": store.size_bytes(),
        "map_bytes": store.map_bytes(),
        "memory_bytes": memory_bytes(),
        "open_graphs": len(engine.graphs),
        "uncommitted": store.uncommitted,
        "refusing": store.refusing,
    }


def whole_figures(view: View) -> Figures:
    """Return the figures of all collections: the sums, and the figures of each of the first collections."""
    by_collection: dict[str, list[BucketState]] = defaultdict(list)
    for number, (scope, state) in enumerate(view.all_states()):
        if not is_staged(scope):
            by_collection[scope.collection].append(state)
        _let_others(number)
    if uses.SYNONYMS in view.uses():
        for name in collections_with(view.transaction):
            by_collection[name]  # without buckets, it is shown for its synonyms
    states = [state for states in by_collection.values() for state in states]
    figures = {"collections": len(by_collection), "buckets": len(states), **_sums(states)}
    figures["buckets_of_older_rules"] = _of_older_rules(view, states)
    if not view.has_dropped():  # rows of flushed buckets would be counted too
        figures["hidden_words"] = view.count_terms() - _beside_words(view, states) - figures["words"]
        figures["pending_words"] = view.count_pending()
    figures["by_collection"] = {
        name: {"buckets": len(states), **_sums(states)} for name, states in _first(sorted(by_collection.items()))
    }
    return figures


def collection_figures(view: View, collection: str) -> Figures:
    """Return the figures of a collection: the sums, and the figures of each of its first buckets."""
    states = view.buckets(collection)
    named: dict[str, Figures] = {}
    for state in _first(states):
        scope = view.scope(state.bucket)
        if scope is not None:
            named[scope.bucket] = _sums([state])
    return {"collection": collection, "buckets": len(states), **_sums(states), "by_bucket": named}


def bucket_figures(view: View, pool: GraphPool, collection: str, bucket: str) -> Figures:
    """Return the figures of a bucket; they are all 0 if it does not exist."""
    state = view.bucket(collection, bucket)
    figures: Figures = {"collection": collection, "bucket": bucket, "exists": state is not None}
    if state is None:
        state = BucketState(0)
        terms = pending = 0
    else:
        terms = _counted(view.all_word_rows(state.bucket))
        pending = _counted(view.pending_rows(state.bucket))
        figures["rules"] = view.rules(state.bucket)
        if digests := count_digests(view.transaction, state.bucket):
            figures["digests"] = digests
        if (ordered := view.fact(state.bucket, ORDERED)) is not None:
            figures["unordered"] = state.objects - ordered_in(ordered)
    figures |= _sums([state])
    figures["hidden_words"] = terms - state.live_words
    figures["pending_words"] = pending
    if figures["exists"]:
        figures |= _tagging(view, state)
    figures["length_percentiles"] = _percentiles(view.lengths(state)) if state.objects else {}
    figures["graph"] = {
        "version": state.lexicon_version,
        "words": state.words_in_graph,
        "edits_since": pending if state.is_graphless else state.pending_seq - state.graph_seq,
        "bytes": _size(pool.path(state.bucket, state.lexicon_version)) if state.lexicon_version else 0,
    }
    return figures


def _tagging(view: View, state: BucketState) -> Figures:
    """Return the number of tags of a bucket, and the number of objects with each value and named text; {}: there are
    none.
    """
    figures: Figures = {}
    if tags := unpack_tag_counts(view.fact(state.bucket, TAG_COUNTS)).live:
        figures["tags"] = tags
    columns = unpack_columns(view.fact(state.bucket, COLUMN_NAMES))
    if values := {column.name: column.held for column in columns if column.held}:
        figures["values"] = dict(sorted(values.items()))
    if fields := objects_by_field(view, state):
        figures["fields"] = fields
    return figures


def _beside_words(view: View, states: list[BucketState]) -> int:
    """Return the number of tags, and of terms of named texts, in some buckets together."""
    used = view.uses()
    return sum(
        unpack_tag_counts(view.fact(state.bucket, beside.counts)).live
        for beside in (OF_TAGS, OF_TEXTS)
        if beside.use in used
        for state in states
    )


def disk_figures(folder: Path) -> Figures:
    """Return the bytes that the files of a store take on the disk. Raises StoreError if they cannot be read."""
    log = _allocated(folder / "log", ".log")
    graphs = _allocated(folder / "graph", ".graph")
    tables = _allocated(folder, ".mdb")
    return {"disk_bytes": tables + log + graphs, "log_bytes": log, "graph_bytes": graphs}


def memory_bytes() -> int | None:
    """Return the resident memory of this process in bytes, mapped files included; None: not reported."""
    try:
        pages = int(STATUS.read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _sums(states: list[BucketState]) -> Figures:
    objects = sum(state.objects for state in states)
    length = sum(state.total_length for state in states)
    return {
        "objects": objects,
        "words": sum(state.live_words for state in states),
        "average_length": round(length / objects, 3) if objects else 0.0,
    }


def _of_older_rules(view: View, states: list[BucketState]) -> int:
    """Return how many buckets have texts that older rules cut into words; 0 in compat mode, which has one version of
    rules.
    """
    if view.by_association:
        return 0
    return sum(view.rules(state.bucket) < NEWEST for state in states)


def _percentiles(lengths: bytes | bytearray) -> dict[str, float]:
    """Return the percentiles of the lengths of objects, in words; large ones are rounded."""
    counts = [lengths.count(packed) for packed in range(256)]
    total = sum(counts[1:])  # 0: no object, or one without words
    found: dict[str, float] = {}
    for percent in PERCENTILES:
        left = total * percent / 100
        for packed in range(1, 256):
            left -= counts[packed]
            if left <= 0:
                found[f"p{percent}"] = round(unpack_length(packed), 1)
                break
    return found


def _first(items: Iterable[Any]) -> list[Any]:
    return list(items)[:NAMED_MAX]


def _counted(rows: Iterable[object]) -> int:
    number = 0
    for number, _ in enumerate(rows, 1):
        _let_others(number)
    return number


def _let_others(number: int) -> None:
    if number % ROWS_BETWEEN_PAUSES == 0:
        time.sleep(0)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _allocated(folder: Path, ending: str) -> int:
    """Return the bytes on the disk of the files in a folder whose names end with `ending`. Raises StoreError if the
    folder cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            return sum(_blocks(entry) * BLOCK_BYTES for entry in entries if entry.name.endswith(ending))
    except FileNotFoundError:  # no graph was written yet
        return 0
    except OSError as error:
        raise StoreError(f"cannot look into {folder}: {error.strerror}") from error


def _blocks(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_blocks
    except FileNotFoundError:  # replaced meanwhile
        return 0
