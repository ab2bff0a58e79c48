"""Three ways to rank: each makes the plan of a query, and what finds its objects. Scoring itself is native.

bm25     idf * tf, scaled by length and by the share of the query an object holds; in short queries all words before
         some; exact before completed before corrected ones
sonic    as Sonic 1.4 does: idf only, mean over the words, rounded to 32 bits; one budget of expansions for all words
newest   objects that hold all words, newest object first
"""

import math
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby, islice
from operator import attrgetter
from typing import Protocol

from sonicpy._native.bm25 import idf
from sonicpy._native.plan import (
    Plan,
    PlannedList,
    are_expandable,
    content_size,
    let_stop_words_search,
    plan_expansions,
    plan_terms,
)
from sonicpy._native.postings import PostingList
from sonicpy._native.sonic_table import SonicTable, completion_score, correction_score
from sonicpy._native.term_rows import WORD_BYTES_MAX, TermInfo
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy._native.word_break import is_unspaced_letter
from sonicpy.config import Config, SearchConfig
from sonicpy.index.search.expansion import corrections_by_sonic, expansions
from sonicpy.index.search.families import Matching
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.plan import IN_PAIRS, IS_STOP, NOTHING_LEFT_OUT, TABLE_FULL, TOO_COMMON
from sonicpy.index.search.scripts import continues_in_script
from sonicpy.index.search.walk import Found, Parts, Walk

EXPANDED_WORDS = 16
"""Words of one query that are expanded: each is compared with all pending words, and a line holds thousands."""
CORRECTED_WORDS_SONIC = 128
"""The same in compat mode, where words that resemble nothing use up no budget."""
SPELLED_BYTES_MAX = 500
"""Longer words have one spelling: putting n marks on one letter in order takes n * n steps."""

SHARE_STRENGTH = 2.5
SHARE_EXPONENT_MAX = 3.0
"""A score is scaled by the share of the query that an object holds, to the power of SHARE_STRENGTH divided by the
number of content terms: who types two words means both, a question of twenty is answered by some."""
FULL_FIRST_MAX = 4
"""Content terms of a query, at most, for which objects that hold all of them come first."""


class Answer(Protocol):
    """The objects that a ranking finds."""

    def best(self, offset: int, limit: int) -> list[Found]: ...
    def total(self) -> int: ...
    def parts(self, iids: list[int], listed_max: int) -> list[Parts]: ...


Ranking = Callable[[Lexicon, Terms, Config, Matching | None], tuple[Plan, Answer]]
"""Arguments: the bucket's words, the query's terms, the settings, how words lead to families (None: no word has one).
Returns the plan, and what finds its objects."""


def rank_bm25(lexicon: Lexicon, terms: Terms, config: Config, matching: Matching | None = None) -> tuple[Plan, Walk]:
    """Score by BM25. Special words are required, except in a sentence; stop words add to what others find, and are
    searched where others find nothing."""
    search = config.search
    plan = plan_bm25(lexicon, terms, search.query_alternates_try, search.alternates_below, matching)
    size = content_size(plan.lists, terms.flags)
    exponent = min(SHARE_EXPONENT_MAX, SHARE_STRENGTH / size)
    window = config.store.kv.retain_word_objects
    return plan, Walk(lexicon.reader, plan.lists, exponent, full_first=size <= FULL_FIRST_MAX, window=window)


def plan_bm25(lexicon: Lexicon, terms: Terms, budget: int, enough: int, matching: Matching | None = None) -> Plan:
    """Return the plan of `rank_bm25`.

    Args:
        budget: expansions of each word, at most.
        enough: a word is not expanded if this many objects hold it, or another word of its family.
    """
    reader = lexicon.reader
    objects = reader.state.objects
    families = None if matching is None else families_of(lexicon, terms, matching)
    planned = plan_terms(terms, reader.words(terms.words), objects, enough, EXPANDED_WORDS, families)
    if not budget or not are_expandable(planned):
        return Plan(let_stop_words_search(planned), NOTHING_LEFT_OUT, enough)
    lists: list[PlannedList] = []
    for _, group in groupby(planned, key=attrgetter("term")):
        exact, *forms = group
        lists += (exact, *forms)
        if exact.is_expandable:
            found = max((one.row.df for one in (exact, *forms) if one.row is not None), default=0)
            others = expansions(lexicon, exact.word, found, enough, budget, [form.word for form in forms])
            lists += plan_expansions(exact, others, objects)
    return Plan(let_stop_words_search(lists), NOTHING_LEFT_OUT, enough)


def families_of(lexicon: Lexicon, terms: Terms, matching: Matching) -> dict[int, list[tuple[bytes, TermInfo]]]:
    """Return the other words that a term stands for, each with its row, by the number of the term.

    Special words, and parts of runs without blanks, have no family; stop words have one where a query holds nothing
    else.
    """
    without = SPECIAL | PART if all(flags & (STOP | PART) for flags in terms.flags) else SPECIAL | PART | STOP
    families = {
        number: words
        for number, (term, flags) in enumerate(zip(terms.words, terms.flags, strict=True))
        if not flags & without and (words := lexicon.family(term, matching))
    }
    if not families:
        return {}
    rows = iter(lexicon.reader.words([word for words in families.values() for word in words]))
    held = {
        number: [(word, row) for word, row in zip(words, islice(rows, len(words)), strict=True) if row and row.df]
        for number, words in families.items()
    }
    return {number: family for number, family in held.items() if family}


def rank_newest(lexicon: Lexicon, terms: Terms, config: Config, matching: Matching | None = None) -> tuple[Plan, Walk]:
    """Find the objects that hold every word, or an expansion of a word that no object holds, newest object first."""
    search = config.search
    plan = plan_newest(lexicon, terms, search.query_alternates_try, search.alternates_below, matching)
    window = config.store.kv.retain_word_objects
    return plan, Walk(lexicon.reader, plan.lists, 0.0, full_first=False, window=window)


def plan_newest(lexicon: Lexicon, terms: Terms, budget: int, enough: int, matching: Matching | None = None) -> Plan:
    """Return the plan of `rank_newest`.

    Stop words are required only where there is no other word, letters of a run without blanks never.
    """
    only_stops = all(flags & STOP for flags in terms.flags)
    pairs = [term for term, flags in zip(terms.words, terms.flags, strict=True) if flags & PART]
    lists: list[PlannedList] = []
    left_out: dict[int, str] = {}
    expanded = 0
    families = {} if matching is None else families_of(lexicon, terms, matching)
    rows = lexicon.reader.words(terms.words)
    objects = lexicon.reader.state.objects
    for number, (term, row, flags) in enumerate(zip(terms.words, rows, terms.flags, strict=True)):
        if flags & STOP and not only_stops:
            left_out[number] = IS_STOP
            continue
        if not flags & PART and any(pair in term for pair in pairs):
            left_out[number] = IN_PAIRS  # a longer run may be split otherwise, but holds its pairs
            continue
        family = families.get(number, [])
        is_held = bool(family) or (row is not None and row.df > 0)
        is_word = not (flags & (SPECIAL | PART) or (flags & STOP and is_unspaced_letter(term)))
        is_expandable = is_word and not is_held and expanded < EXPANDED_WORDS
        exact = PlannedList(number, term, row, 0.0, required=True, is_expandable=is_expandable)
        lists.append(exact)
        lists += (PlannedList(number, form, its, 0.0, "form", required=True) for form, its in family)
        if is_expandable:
            expanded += 1
            lists += plan_expansions(exact, expansions(lexicon, term, 0, enough, budget), objects)
    return Plan(lists, left_out, 1)


def rank_sonic(lexicon: Lexicon, terms: Terms, config: Config, matching: Matching | None = None) -> tuple[Plan, Answer]:
    """Score as Sonic: the words as typed, then prefixes, then typos while the budget of visits lasts."""
    visits = SonicVisits(lexicon, terms, config)
    visits.visit_exact()
    for visit in (visits.visit_prefixes, visits.visit_typos):
        if visits.budget > 0 and not visits.table.is_full:
            visit()
    visits.table.finish(any(flags & SPECIAL for flags in terms.flags))
    plan = Plan(visits.lists, visits.left_out, None)
    return plan, SonicAnswer(visits.table, plan)


class SonicAnswer:
    """The objects of a `SonicTable`."""

    def __init__(self, table: SonicTable, plan: Plan) -> None:
        self._table = table
        self._plan = plan

    def best(self, offset: int, limit: int) -> list[Found]:
        """Return the objects from place `offset` on, at most `limit`."""
        return self._table.best_scored(offset, limit)

    def total(self) -> int:
        """Return how many objects are in the table."""
        return len(self._table)

    def parts(self, iids: list[int], listed_max: int) -> list[Parts]:
        """Return what the scores of objects are made of; see `Walk.parts`."""
        return [
            ([(self._plan.lists[number], tf, part) for number, tf, part in listed], others, others_sum)
            for listed, others, others_sum in self._table.parts(iids, listed_max)
        ]


RANKINGS: dict[str, Ranking] = {"bm25": rank_bm25, "sonic": rank_sonic, "newest": rank_newest}


class SonicVisits:
    """The visits of one query: the lists of postings that were put into the table, and the budget that is left."""

    def __init__(self, lexicon: Lexicon, terms: Terms, config: Config) -> None:
        self._window = config.store.kv.retain_word_objects
        self.table = SonicTable(len(terms), self._window)
        self.budget = config.search.query_alternates_try
        """Postings that completions and corrections may still visit."""
        self.lists: list[PlannedList] = []
        self.left_out: dict[int, str] = {}
        self._lexicon = lexicon
        self._reader = lexicon.reader
        self._objects = lexicon.reader.state.objects
        self._terms = terms
        self._search = config.search

    def visit_exact(self) -> None:
        """Visit the words as typed, in every normal form."""
        terms, reader = self._terms, self._reader
        for number, (term, row, flags) in enumerate(
            zip(terms.words, reader.words(terms.words), terms.flags, strict=True)
        ):
            df = row.df if row else 0
            if is_too_common(self._objects, df, self._search):
                self.left_out[number] = TOO_COMMON
                continue
            weight = idf(self._objects, df)
            spellings = [] if flags & SPECIAL else other_spellings(term)
            for spelling, spelled in zip((term, *spellings), (row, *reader.words(spellings)), strict=True):
                if self._visit(PlannedList(number, spelling, spelled, weight), -1, self._window)[1]:
                    self.left_out.update((later, TABLE_FULL) for later in range(number + 1, len(terms)))
                    return

    def visit_prefixes(self) -> None:
        """Visit completions of each word."""
        for number, (term, typed) in enumerate(zip(self._terms.words, self._terms.typed, strict=True)):
            if len(term) > WORD_BYTES_MAX:
                continue
            words = self._lexicon.completions(term)
            others = (word for word in words if word != term and continues_in_script(term, word))
            for word, row in self._held(others):
                if self.budget == 0:
                    return
                score = completion_score(idf(self._objects, row.df), len(word), typed)
                if self._visit_other(PlannedList(number, word, row, score, "completion")):
                    break

    def visit_typos(self) -> None:
        """Visit corrections of each word, nearest first."""
        terms = self._terms
        corrected = 0
        for number, (term, typed, flags) in enumerate(zip(terms.words, terms.typed, terms.flags, strict=True)):
            if flags & SPECIAL:
                continue
            if corrected == CORRECTED_WORDS_SONIC:
                break
            corrected += 1
            for distance, words in corrections_by_sonic(self._lexicon, term, typed, of_long=True):
                others = (word for word in words if word != term)
                for word, row in self._held(others):
                    if self.budget == 0:
                        return
                    score = correction_score(idf(self._objects, row.df), distance, typed)
                    if self._visit_other(PlannedList(number, word, row, score, "correction", distance)):
                        break

    def _visit_other(self, one: PlannedList) -> bool:
        """Visit the list of a word that stands for a term; return whether the table takes no more.

        Only the budget bounds how much of the list is read: the next correction may reach objects beyond the window.
        """
        visits, is_over = self._visit(one, self.budget, self.budget)
        self.budget -= visits
        return is_over

    def _visit(self, one: PlannedList, budget: int, window: int) -> tuple[int, bool]:
        """Visit at most `budget` (-1: all) of the newest `window` (0: all) postings of a list."""
        self.lists.append(one)
        row = one.row
        if row is None:
            return self.table.visit(one.term, PostingList.of([]), 0, one.weight, budget)
        postings, skipped = self._reader.newest_postings(row, window)
        return self.table.visit(one.term, postings, skipped, one.weight, budget)

    def _held(self, words: Iterator[bytes]) -> Iterator[tuple[bytes, TermInfo]]:
        """Yield the words that objects hold and that are not too common, with their rows; reads a few ahead."""
        while some := list(islice(words, 8)):
            for word, row in zip(some, self._reader.words(some), strict=True):
                if row is not None and row.df and not is_too_common(self._objects, row.df, self._search):
                    yield word, row


def is_too_common(objects: int, df: int, search: SearchConfig) -> bool:
    """Return whether a word is so common in a large bucket that Sonic ignores it."""
    minimum = search.query_minimum_term_idf_default
    if df == 0 or minimum <= 0 or objects < search.query_minimum_term_idf_minimum_object_count:
        return False
    return math.log(objects / df) < minimum


def other_spellings(term: bytes) -> list[bytes]:
    """Return the composed and the decomposed spelling of a word, where they differ from it."""
    if term.isascii() or len(term) > SPELLED_BYTES_MAX:
        return []
    word = term.decode()
    spellings = (unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word))
    return [spelling.encode() for spelling in spellings if spelling != word]
