"""Phrases: words next to each other, in buckets that keep the order of words.

A plan names the words of its phrases; a bucket makes a mask of each: the objects that hold all its words. Of these, the
order of words is checked one by one, as the walk reaches them.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sonicpy._native.find import find_top
from sonicpy._native.mask import AllOf, Bits, Mask
from sonicpy._native.phrase import PHRASE_WORDS_MAX, Allowance, CheckedTooMany, Phrase
from sonicpy._native.plan import BRINGS, Plan
from sonicpy._native.query_state import QueryState
from sonicpy._native.term_mask import Holders, lists_of
from sonicpy._native.terms import Terms
from sonicpy.errors import InvalidArgument
from sonicpy.index.search.demands import demands_of
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.planners.inner import joined_words
from sonicpy.index.search.statistics import Statistics
from sonicpy.store.rows.named_words import plain_word
from sonicpy.store.rows.order_rows import ORDERED, ordered_in
from sonicpy.store.views.bucket_reader import BucketReader, window_count

WordsInPlace = tuple[tuple[bytes, ...], ...]
"""For each word of a phrase, the words that may be in its place."""

FoundObject = tuple[int, int, float]
"""(IID, kind, score) of an object, as `find_top` returns it."""

LOOKED_AT_FIRST = (100, 2_000)
"""The numbers of best objects that are checked in the first and in the last try, each at least twice the page; after
the tries, all objects that hold the words are checked.
"""
MORE = 3
"""The factor by which tries grow: the next one checks this many times the objects of the try before or, if that is
more, of the number that would have filled the page at its rate."""

__all__ = ["CheckedTooMany"]

NOT_KEPT = "phrase needs store.order: the bucket does not keep the order of words"


class PhraseChecks:
    """The objects whose order of words is checked for one question, which may take several tries.

    Args:
        at_once: the most objects that are checked in one try; None: no limit.
    """

    def __init__(self, at_once: int | None = None) -> None:
        self._at_once = at_once
        self._allowance = None if at_once is None else Allowance(at_once)
        self._known: dict[tuple[int, WordsInPlace], Mask] = {}

    @contextmanager
    def trying(self, at_once: int | None = None) -> Iterator[None]:
        """Return a context manager for one try: it raises CheckedTooMany if more objects would have to be checked.

        Args:
            at_once: the most objects in this try, if there is a limit; None: as in others.
        """
        if self._allowance is not None and self._at_once is not None:
            self._allowance.left = self._at_once if at_once is None else at_once
        token = _CHECKS.set(self)
        try:
            yield
        finally:
            _CHECKS.reset(token)

    def steps(self) -> Iterator[None]:
        """Check the rest of the objects for the phrases that the tries have looked for, and yield after each step of at
        most 4,096 objects. Each try reads the same state of the index.
        """
        for mask in list(self._known.values()):
            if isinstance(mask, Phrase):
                yield from mask.made_in_steps()

    def mask(self, reader: BucketReader, places: WordsInPlace) -> Mask:
        """Return the objects of a bucket that hold a phrase."""
        key = (reader.state.bucket, places)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _mask(reader, places, self._allowance)
        return found


_CHECKS: ContextVar[PhraseChecks | None] = ContextVar("_CHECKS", default=None)


def has_checks() -> bool:
    """Return whether a PhraseChecks limits the question that is being answered."""
    return _CHECKS.get() is not None


def with_phrases(plan: Plan, terms: Terms, statistics: Statistics, matching: Matching | None) -> Plan:
    """Add the phrases that the terms of a query demand to its plan, and return the plan."""
    demands = demands_of(terms)
    if demands is None or not demands.phrases:
        return plan
    numbers = {word: number for number, word in enumerate(terms.words)}
    among = {number for _, alternatives in demands.either for each in alternatives for number in each}
    forms: dict[int, list[bytes]] = {}
    for clause in plan.clauses:
        if clause.role & BRINGS:
            whole = (slot for slot in clause.slots if slot.how in ("exact", "form") and not slot.together)
            # The order is that of all words of an object, whatever fields the query names.
            held = [plain_word(word) for slot in whole for word in slot.words]
            before = forms.get(clause.term)
            if before is None or clause.term in among:  # alternatives joined in one clause come before the word alone
                forms[clause.term] = held
            else:  # a word written apart has a clause for each piece: a piece alone is not the word
                forms[clause.term] = [word for word in before if word in held]
    known: dict[bytes, tuple[bytes, ...]] = {}
    for word in dict.fromkeys(word.encode() for _, words in demands.phrases for word in words):
        number = numbers.get(word, -1)
        joined = joined_words(statistics, word, terms.flags[number] if number >= 0 else 0, matching)
        known[word] = tuple(dict.fromkeys([word, *forms.get(number, ()), *joined]))
    plan.phrases = tuple(
        (is_needed, tuple(known[word.encode()] for word in words)) for is_needed, words in demands.phrases
    )
    return plan


def masked(plan: Plan, reader: BucketReader, mask: Mask | None) -> Mask | None:
    """Return a mask with the objects that hold the phrases of a plan; None: it has none, and there is no mask.

    Args:
        mask: the objects that pass a filter; None: all.

    Raises:
        InvalidArgument: a phrase is needed, and the bucket keeps no order.
    """
    masks = [*phrase_masks(plan, reader)]
    if not masks:
        return mask
    return AllOf(window_count(reader), masks if mask is None else [mask, *masks])


def phrase_masks(plan: Plan, reader: BucketReader) -> Iterable[Mask]:
    """Yield the mask of each phrase of a plan in a bucket. Raises InvalidArgument if the bucket keeps no orders of
    words.
    """
    if not plan.phrases:
        return
    check_orders(plan, (reader,))
    if not keeps_order(reader):
        return
    for _, places in plan.phrases:
        if len(places) > 1:
            checks = _CHECKS.get()
            yield _mask(reader, places) if checks is None else checks.mask(reader, places)


def check_orders(plan: Plan, readers: Iterable[BucketReader]) -> None:
    """Raise InvalidArgument if a phrase of a plan is needed, and one of some buckets keeps no order of words."""
    if any(is_needed for is_needed, _ in plan.phrases):
        for reader in readers:
            if reader.state.objects and not keeps_order(reader):
                raise InvalidArgument(NOT_KEPT, "invalid_meta_value", NOT_KEPT)


def keeps_order(reader: BucketReader) -> bool:
    """Return whether a bucket keeps, or once kept, the order of words."""
    return reader.fact(ORDERED) is not None


def unordered(readers: Iterable[BucketReader]) -> int | None:
    """Return how many objects of some buckets have no order; None: not all buckets keep it."""
    missing = 0
    for reader in readers:
        if not keeps_order(reader):
            return None
        missing += reader.state.objects - ordered_in(reader.fact(ORDERED))
    return missing


def best_with_phrases(
    plan: Plan,
    reader: BucketReader,
    bound: Callable[[], QueryState],
    wanted: int,
    floor: tuple[int, float] | None,
) -> tuple[QueryState, list[FoundObject]] | None:
    """Return the best `wanted` objects that hold the phrases of a plan, found among its best objects without phrases.

    Args:
        bound: returns the plan bound to the bucket, without its phrases.
        floor: as in `find`.

    Returns:
        The query and the objects; None: too few of the best hold the phrases, or no order decides.
    """
    masks = [*phrase_masks(plan, reader)]
    count, most = (max(count, 2 * wanted) for count in LOOKED_AT_FIRST)
    checked: set[int] = set()
    held: set[int] = set()
    while masks and wanted:
        query = bound()
        found, _ = find_top(query, count, floor=floor)
        new = sorted(iid for iid, _, _ in found if iid not in checked)
        checked.update(new)
        for mask in masks:
            new = mask.those(new) if isinstance(mask, Phrase) else list(filter(mask.has, new))
        held.update(new)
        best = [one for one in found if one[0] in held]
        if len(best) >= wanted or len(found) < count:
            return query, best[:wanted]
        if count >= most:
            break
        count = min(max(MORE * count, MORE * count * wanted // max(len(best), 1)), most)
    return None


def _mask(reader: BucketReader, places: WordsInPlace, allowance: Allowance | None = None) -> Mask:
    windows = window_count(reader)
    distinct = list(dict.fromkeys(places))
    rows = {words: [row for row in reader.words([*words]) if row is not None] for words in distinct}
    if not all(rows.values()):
        return Bits(windows)
    distinct.sort(key=lambda words: sum(row.df for row in rows[words]))
    lists = lists_of(reader, [reader.postings_of(rows[words]) for words in distinct], reader.length_masks())
    among = AllOf(windows, [Holders(windows, lists, number) for number in range(len(distinct))])
    ids = [[row.term_id for row in rows[words]] for words in places[:PHRASE_WORDS_MAX]]
    return Phrase(windows, among, reader, reader.state.bucket, ids, allowance)
