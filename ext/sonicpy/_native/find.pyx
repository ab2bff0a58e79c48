"""Carries out a plan in a bucket by one of two strategies: a walk, or the sums of all terms, window by window.

If unread blocks are needed, `run` returns their keys; the caller reads the blocks, passes them to `give`, and calls
`run` again. `find_top` does this with the reader of a bucket.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport UINT64_MAX, uint8_t, uint64_t
from libc.string cimport memchr

from sonicpy._native.admitted cimport count_admitted, keys_to_count, others_of, refuses_only
from sonicpy._native.bm25 cimport B, K1
from sonicpy._native.explained cimport parts_of_all
from sonicpy._native.held_together cimport held_together
from sonicpy._native.mask cimport Mask
from sonicpy._native.plan cimport R_BRINGS, R_FORBIDDEN, Clause, Plan, Slot, words_of
from sonicpy._native.postings cimport BLOCK_POSTINGS
from sonicpy._native.query_state cimport (
    QueryState,
    check_unstarted,
    end_slot,
    open_sources,
    put_plan,
    put_slot,
    put_source,
    put_term,
)
from sonicpy._native.score_bounds cimport begin_bounds
from sonicpy._native.stored_postings cimport unite
from sonicpy._native.term_rows cimport TermInfo, is_common
from sonicpy._native.term_windows cimport find_all_windows, find_merged
from sonicpy._native.top_k cimport EXACT, FULL, Kind, ScoredObject, begin_top, collect, empty_top, page_start, sort_top
from sonicpy._native.walk cimport begin_walk, lookups_worth, walk
from sonicpy._native.wanted_blocks cimport (
    ask_for_missing,
    ask_for_objects,
    end_asking,
    give_blocks,
    keys_asked,
)
from sonicpy._native.window_scores cimport score_windows

from sonicpy._native.bucket_cache import CachingReader

cdef enum:
    NOBODY = 0xFFFFFFFF  # an IID that no object has
    UNITED_MIN = 4  # words of a slot whose postings are put together
    IN_NAMED = 1  # a byte of the terms of named texts alone


@cython.no_gc  # its query and its objects do not refer to it
cdef class BestObjects:
    """The best objects of a bucket by a query.

    Args:
        query: the query that was answered.
        found: the (IID, kind, score) of the objects, best first.
        total: the number of objects that answer; None: not counted.
    """
    cdef readonly QueryState query
    cdef readonly object reader
    cdef public list found
    cdef public object total

    def __init__(self, QueryState query not None, list found not None, total):
        self.query, self.reader, self.found, self.total = query, query.reader, found, total

    def page(self, offset, limit) -> tuple:
        """Return the names of the found objects from place `offset` on, at most `limit`, and their (IID, kind,
        score)."""
        cdef list found = self.found[offset : offset + limit]
        cdef tuple one
        return self.reader.oids([one[0] for one in found]), found

    def is_full(self, wanted) -> bool:
        """Return whether at least `wanted` objects that hold every word were found."""
        if len(self.found) < wanted:
            return False
        return not self.found or (<tuple?> self.found[len(self.found) - 1])[1] == FULL  # those are the first


def find_all(
    Plan plan not None, reader, uint64_t wanted, uint64_t window, Mask mask, bint total, tuple floor,
    *, bint only_full=False, list rows=None,
) -> tuple:
    """Bind a plan to a bucket; return the query, and the two results of `find_top`.

    Args:
        window, mask: as in `bind`.
        wanted, total, floor: as in `find_top`.
        only_full: whether objects that do not hold every word may be left out.
        rows: the rows of the words of the plan, in the order of `Plan.words`, which holds no named text; None: they
            are looked up.
    """
    cdef QueryState query = bound(plan, reader, window, False, mask, rows)
    query.wants_full = only_full and plan.full_first
    found, counted = top_of(query, wanted, total, floor)
    return query, found, counted


def bind(Plan plan not None, reader, uint64_t window=0, *, bint apart=False, Mask mask=None) -> QueryState:
    """Bind a plan to a bucket: return a query for this bucket, with the postings of its words.

    Args:
        reader: the reader of the bucket.
        window: only this many objects of each word are read, the newest ones; 0: all.
        apart: True: each word has a list of its own, so that `parts` can name it. False: the rare words of a slot may
            share one.
        mask: the objects that pass a filter; None: all.
    """
    return bound(plan, reader, window, apart, mask, None)


cdef QueryState bound(Plan plan, reader, uint64_t window, bint apart, Mask mask, list rows):
    cdef list lists
    if rows is None:
        if has_named(plan):
            reader = reader.with_texts
        rows = reader.words(words_of(plan))
    lists = [None] * len(rows)
    cdef QueryState query = QueryState(
        reader.length_masks(), plan.average, K1, B, plan.exponent, full_first=plan.full_first
    )
    query.plan, query.reader, query.rows, query.newest, query.mask = plan, reader, rows, window, mask
    if not apart and (window == 0 or window >= BLOCK_POSTINGS):
        unite_rare(plan, reader, rows, lists)
    find_lists(reader, rows, lists, window)
    put_together(plan, reader, rows, lists)
    put_plan(query, plan, lists)
    return query


cdef bint has_named(Plan plan) except -1:
    """Return whether a plan has terms of named texts; if so, its last clause has some."""
    cdef Slot slot
    cdef bytes word
    if plan.clauses:
        for slot in (<Clause> plan.clauses[len(plan.clauses) - 1]).slots:
            for word in slot.words:
                if memchr(PyBytes_AS_STRING(word), IN_NAMED, PyBytes_GET_SIZE(word)) != NULL:
                    return True
    return False


cdef int unite_rare(Plan plan, reader, list rows, list lists) except -1:
    """Merge the postings of the rare words of each expansion slot with many words, in the place of the first of them;
    the others get none (False)."""
    cdef Clause clause
    cdef Slot slot
    cdef Py_ssize_t at = 0, word
    cdef TermInfo row
    cdef list rare, found
    for clause in plan.clauses:
        for slot in clause.slots:
            if slot.kind != EXACT and not slot.together and len(slot.words) >= UNITED_MIN:
                rare = []
                for word in range(at, at + len(slot.words)):
                    row = rows[word]
                    if row is not None and not is_common(&row._word):
                        lists[word] = False
                        rare.append(word)
                if rare:
                    found = [rows[word] for word in rare]
                    if isinstance(reader, CachingReader):
                        lists[<Py_ssize_t> rare[0]] = reader.united(found)
                    else:
                        lists[<Py_ssize_t> rare[0]] = unite(reader.state.bucket, found, reader.lengths())
            at += len(slot.words)
    return 0


cdef int find_lists(reader, list rows, list lists, uint64_t window) except -1:
    """Find the postings of the words whose place in `lists` is still empty.

    Args:
        window: only this many objects of each word are needed, the newest ones; 0: all.
    """
    cdef list places = [], words = [], found
    cdef Py_ssize_t number
    for number in range(len(rows)):
        if lists[number] is None and rows[number] is not None:
            places.append(number)
            words.append(rows[number])
    found = reader.postings_within(words, window) if window else reader.postings_of(words)
    for number in range(len(places)):
        lists[<Py_ssize_t> places[number]] = found[number]
    return 0


cdef int put_together(Plan plan, reader, list rows, list lists) except -1:
    """Find the postings of objects that hold several words next to each other, in the place of the first word; the
    others lose their rows."""
    cdef Clause clause
    cdef Slot slot
    cdef Py_ssize_t at = 0, place, word
    cdef list groups
    for clause in plan.clauses:
        for slot in clause.slots:
            if slot.together:
                groups, place = [], at
                for size in slot.together:
                    groups.append([lists[word] for word in range(place, place + size) if lists[word] is not None])
                    place += size
                row = next((row for row in rows[at:place] if row is not None), None)
                common = held_together(reader, groups)
                for word in range(at, place):
                    rows[word] = lists[word] = None
                if common is not None:
                    rows[at], lists[at] = row, common
            at += len(slot.words)
    return 0


def find_top(QueryState query not None, uint64_t wanted, *, bint total=False, tuple floor=None) -> tuple:
    """Return the best `wanted` objects of a query made by `bind`, as (IID, kind, score), and, if `total`, the number of
    all that answer.

    Args:
        floor: (kind, score): objects that are not better may be left out; None: all objects are considered.
    """
    return top_of(query, wanted, total, floor)


cdef tuple top_of(QueryState query, uint64_t wanted, bint total, tuple floor):
    cdef object reader = query.reader
    cdef list keys, found
    if refuses_only(query.plan):
        return find_others(query, wanted, total)
    start(query, wanted, None, floor)
    keys = next_keys(query)
    while keys:
        give_blocks(query, reader.read_blocks(keys))
        keys = next_keys(query)
    if query.made_bytes:
        reader.note_made(query.made_bytes)
    found = found_from(query, 0)
    if not total:
        return found, None
    keys = keys_to_count(query)
    if keys:
        give_blocks(query, reader.read_blocks(keys))
    return found, count_admitted(query)


cdef tuple find_others(QueryState query, uint64_t wanted, bint total):
    """Return the result of `find_top` for a plan whose clauses are all forbidden: the newest objects that hold none of
    the words."""
    cdef uint64_t count = 0
    cdef list keys, found
    start(query, 0, None, None)
    keys = keys_to_count(query)
    if keys:
        give_blocks(query, query.reader.read_blocks(keys))
    found = others_of(query, wanted, &count)
    return [(iid, <int> FULL, 0.0) for iid in found], count if total else None


def shown_scores(list found not None, double ceiling, int whole, double fraction_max) -> list:
    """Return scores for users: `whole` minus the kind, plus the share of the ceiling, at most `fraction_max`.

    Args:
        found: objects as tuples (name or IID, kind, score, ...).
    """
    cdef list shown = []
    cdef tuple one
    cdef double share
    cdef int kind
    for one in found:
        kind = one[1]
        share = <double> one[2] / ceiling if ceiling > 0 else 0.0
        shown.append((whole - kind) + (share if share < fraction_max else fraction_max))
    return shown


# -- step by step ------------------------------------------------------------------------------------------------------


def add_term(QueryState query not None, double weight, int role=R_BRINGS) -> None:
    """Add the next term of a query; see `Clause`."""
    put_term(query, weight, role)


def add_words(
    QueryState query not None, list postings not None, double weight, double exact_weight=0.0, *, int kind=EXACT
) -> None:
    """Add a slot of words to the last term; an object counts for the first slot that it holds.

    Args:
        postings: the StoredPostings of each word; their frequencies in an object add up.
        weight: the weight of the frequencies together.
        exact_weight: the weight of the frequency of the first word alone.
        kind: EXACT (1), COMPLETED (2) or CORRECTED (3).
    """
    put_slot(query, weight, exact_weight, <Kind> kind)
    for stored in postings:
        put_source(query, stored)
    end_slot(query)


def begin(QueryState query not None, uint64_t wanted, *, walks=None, tuple floor=None) -> None:
    """Begin to find the best `wanted` objects.

    Args:
        walks: whether to walk; None: walk if that is faster.
        floor: as in `find_top`.
    """
    start(query, wanted, walks, floor)


cdef int fill_top(QueryState query, Kind kind, double score) except -1:
    """Fill the list of the best objects with placeholders of a kind and a score, which better objects replace."""
    query.has_floor = query.top.k > 0
    query.floor = ScoredObject(score, NOBODY, 0, kind)
    while query.top.size < query.top.k:
        collect(&query.top, NOBODY, kind, score, 0)
    return 0


cdef int start(QueryState query, uint64_t wanted, walks, tuple floor) except -1:
    cdef Py_ssize_t number
    cdef uint64_t most = 0
    check_unstarted(query)
    for number in range(query.term_count):
        most += query.terms[number].df
    begin_top(&query.top, <Py_ssize_t> min(wanted, most))
    if floor is not None:
        fill_top(query, floor[0], floor[1])
    open_sources(query)
    find_all_windows(query)
    begin_bounds(query)
    query.is_begun = True
    query.lookups_max = lookups_worth(query) if walks is None else UINT64_MAX if walks else 0
    query.walks = query.lookups_max > 0
    if query.walks:
        begin_walk(query)
    return 0


def run(QueryState query not None) -> list:
    """Continue the search; return the keys of the blocks of `postings` to be read next, or [] at the end."""
    return next_keys(query)


cdef list next_keys(QueryState query):
    query.asked_count = 0
    if not query.is_begun:
        raise ValueError("begin first")
    if query.walks:
        if walk(query) == 0:
            return []
        if query.lookups <= query.lookups_max:
            if not query.asked_count:
                raise RuntimeError("a walk waits, but not for any block")
            return keys_asked(query)
        give_up(query)
    return run_without(query)


cdef int give_up(QueryState query) except -1:
    """Continue without the walk, whose cost has reached that of the other strategy."""
    query.walks = False
    query.has_floor = query.top.size == query.top.k
    query.floor = query.top.objects[0]
    empty_top(&query.top)
    end_asking(query)
    query.asked_count = 0
    return 0


cdef list run_without(QueryState query):
    """Return the keys of all blocks to be read; if there are none, find the objects and return []. Raises RuntimeError
    if blocks are missing, but none is left to be read."""
    cdef Py_ssize_t number
    if not query.top.k:
        return []
    ask_for_missing(query)
    if query.asked_count:
        return keys_asked(query)
    for number in range(query.term_count):
        if query.terms[number].count == 1:
            find_merged(query, &query.here[number], UINT64_MAX)
    if score_windows(query) < 0:
        raise RuntimeError("blocks of postings are missing, but none has to be read")
    return []


def give(QueryState query not None, list rows not None) -> None:
    """Take the (key, block) pairs found for the keys that `run` or `blocks_to_count` returned, in their order.

    Raises:
        DamagedBytes: a block is missing or cannot be read.
    """
    give_blocks(query, rows)


def best(QueryState query not None, uint64_t offset) -> list:
    """Return the (IID, kind, score) of the objects found, best first, from place `offset` on."""
    return found_from(query, offset)


cdef list found_from(QueryState query, uint64_t offset):
    cdef Py_ssize_t number
    cdef const ScoredObject *found
    cdef list objects = []
    sort_top(&query.top)
    for number in range(page_start(&query.top, offset), query.top.size):
        found = &query.top.objects[number]
        if found.iid != NOBODY:
            objects.append((found.iid, <int> found.kind, found.score))
    return objects


def blocks_to_count(QueryState query not None) -> list:
    """Return the keys of the unread blocks that `count` needs, to be given by `give`."""
    return keys_to_count(query)


def set_mask(QueryState query not None, Mask mask) -> None:
    """Restrict the answer to the objects of a mask; None: all."""
    check_unstarted(query)
    query.mask = mask


def count(QueryState query not None) -> int:
    """Return the number of objects that answer the query."""
    return count_admitted(query)


def parts(QueryState query not None, list iids not None, Py_ssize_t listed_max) -> list:
    """Return, for each found object, the parts of its score.

    Args:
        query: a query that `bind` made with `apart`, or whose postings were read as far as these objects need them.
        listed_max: the most parts of each object that are listed one by one, the largest ones.

    Returns:
        ([(number of the word, in the order in which they were added, tf, part of the score)], number of other
        parts, their sum).
    """
    if query.reader is not None:
        query.asked_count = 0
        ask_for_objects(query, iids)
        keys = keys_asked(query)
        if keys:
            give_blocks(query, query.reader.read_blocks(keys))
    return parts_of_all(query, iids, listed_max)
