"""Three ways to rank: each makes the plan of a query, gathers its lists and scores them. Scoring itself is compiled.

bm25     idf * tf, scaled by length and by the share of the query an object holds; all words before some, exact
         before completed before corrected ones
sonic    as Sonic 1.4 does: idf only, mean over the words, rounded to 32 bits; one budget of expansions for all words
newest   objects that hold all words, newest association first
"""

import math
import unicodedata
from collections.abc import Callable, Iterator
from itertools import islice

from sonicpy._native.bm25 import idf
from sonicpy._native.object_table import ObjectTable
from sonicpy._native.plan import Plan, PlannedList, let_stop_words_search, plan_expansions, plan_terms
from sonicpy._native.ranking import Ranker
from sonicpy._native.sonic_table import SonicTable, completion_score, correction_score
from sonicpy._native.term_rows import WORD_BYTES_MAX, TermInfo
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy.config import Config, SearchConfig
from sonicpy.index.search.expansion import edits_allowed_by_sonic, expansions
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.plan import IN_PAIRS, IS_STOP, NOTHING_LEFT_OUT, TABLE_FULL, TOO_COMMON
from sonicpy.index.search.scripts import continues_in_script
from sonicpy.store.bucket_reader import BucketReader

BM25_K1 = 1.2
BM25_B = 0.75

EXPANDED_WORDS = 16
"""Words of one query that are expanded: each is compared with all pending words, and a line holds thousands."""
CORRECTED_WORDS_SONIC = 128
"""The same in compat mode, where words that resemble nothing use up no budget."""
SPELLED_BYTES_MAX = 500
"""Longer words have one spelling: putting n marks on one letter in order takes n * n steps."""

Ranking = Callable[[Lexicon, Terms, Config, int], tuple[Plan, ObjectTable]]
"""Arguments: the bucket's words, the query's terms, the settings, and where the page ends.

Returns the plan that was carried out, and the scored objects."""


def rank_bm25(lexicon: Lexicon, terms: Terms, config: Config, wanted: int) -> tuple[Plan, Ranker]:
    """Score by BM25. Special words are required, except in a sentence; stop words add to what others find, and are
    searched where others find nothing."""
    plan = plan_bm25(lexicon, terms, config.search.query_alternates_try, wanted)
    reader, ranker = lexicon.reader, Ranker()
    ranker.add_lists(plan, list(map(reader.postings, plan.rows())))
    ranker.bm25(*bm25_arguments(reader))
    return plan, ranker


def plan_bm25(lexicon: Lexicon, terms: Terms, budget: int, wanted: int) -> Plan:
    """Return the plan of `rank_bm25`.

    Args:
        budget: expansions of each word, at most.
    """
    reader = lexicon.reader
    objects = reader.state.objects
    lists: list[PlannedList] = []
    for exact in plan_terms(terms, reader.words(terms.words), objects, wanted, EXPANDED_WORDS):
        lists.append(exact)
        if exact.is_expandable:
            found = 0 if exact.row is None else exact.row.df
            lists += plan_expansions(exact, expansions(lexicon, exact.word, found, wanted, budget), objects)
    return Plan(let_stop_words_search(lists), NOTHING_LEFT_OUT, wanted)


def bm25_arguments(reader: BucketReader) -> tuple[bytes | bytearray, float, float, float]:
    """Return the lengths of a bucket's objects, their mean, and the constants of the formula."""
    return reader.lengths(), reader.state.average_length, BM25_K1, BM25_B


def rank_newest(lexicon: Lexicon, terms: Terms, config: Config, wanted: int) -> tuple[Plan, Ranker]:
    """Keep the objects that hold every word, or an expansion of a word that no object holds, newest first."""
    plan = plan_newest(lexicon, terms, config.search.query_alternates_try, wanted)
    ranker = Ranker()
    ranker.add_lists(plan, list(map(lexicon.reader.postings, plan.rows())))
    ranker.newest()
    return plan, ranker


def plan_newest(lexicon: Lexicon, terms: Terms, budget: int, wanted: int) -> Plan:
    """Return the plan of `rank_newest`.

    Stop words are required only where there is no other word, letters of a run without blanks never.
    """
    only_stops = all(flags & STOP for flags in terms.flags)
    pairs = [term for term, flags in zip(terms.words, terms.flags, strict=True) if flags & PART]
    lists: list[PlannedList] = []
    left_out: dict[int, str] = {}
    expanded = 0
    rows = lexicon.reader.words(terms.words)
    objects = lexicon.reader.state.objects
    for number, (term, row, flags) in enumerate(zip(terms.words, rows, terms.flags, strict=True)):
        if flags & STOP and not only_stops:
            left_out[number] = IS_STOP
            continue
        if not flags & PART and any(pair in term for pair in pairs):
            left_out[number] = IN_PAIRS  # a longer run may be split otherwise, but holds its pairs
            continue
        is_held = row is not None and row.df > 0
        is_expandable = not (is_held or flags & (SPECIAL | STOP | PART) or expanded == EXPANDED_WORDS)
        lists.append(PlannedList(number, term, row, 0.0, is_expandable=is_expandable))
        if is_expandable:
            expanded += 1
            lists += plan_expansions(lists[-1], expansions(lexicon, term, 0, wanted, budget), objects)
    return Plan(lists, left_out, 1)


def rank_sonic(lexicon: Lexicon, terms: Terms, config: Config, wanted: int) -> tuple[Plan, SonicTable]:
    """Score as Sonic: the words as typed, then prefixes, then typos while the budget of visits lasts."""
    visits = SonicVisits(lexicon, terms, config)
    visits.visit_exact()
    for visit in (visits.visit_prefixes, visits.visit_typos):
        if visits.budget > 0 and not visits.table.is_full:
            visit()
    visits.table.finish(any(flags & SPECIAL for flags in terms.flags))
    return Plan(visits.lists, visits.left_out, None), visits.table


RANKINGS: dict[str, Ranking] = {"bm25": rank_bm25, "sonic": rank_sonic, "newest": rank_newest}


class SonicVisits:
    """The visits of one query: the lists of postings that were put into the table, and the budget that is left."""

    def __init__(self, lexicon: Lexicon, terms: Terms, config: Config) -> None:
        self.table = SonicTable(len(terms), config.store.kv.retain_word_objects)
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
                if self._visit(PlannedList(number, spelling, spelled, weight), -1)[1]:
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
            allowed = edits_allowed_by_sonic(term, typed)
            matches = self._lexicon.corrections(term, allowed, transpositions=False)
            for distance in range(1, allowed + 1):
                others = sorted(word for word, edits in matches if edits <= distance and word != term)
                for word, row in self._held(iter(others)):
                    if self.budget == 0:
                        return
                    score = correction_score(idf(self._objects, row.df), distance, typed)
                    if self._visit_other(PlannedList(number, word, row, score, "correction", distance)):
                        break

    def _visit_other(self, one: PlannedList) -> bool:
        """Visit the list of a word that stands for a term; return whether the table takes no more."""
        visits, is_over = self._visit(one, self.budget)
        self.budget -= visits
        return is_over

    def _visit(self, one: PlannedList, budget: int) -> tuple[int, bool]:
        self.lists.append(one)
        row = one.row
        if row is None:
            return self.table.visit(one.term, [], 0, one.weight, budget)
        return self.table.visit(one.term, self._reader.postings(row), row.dead, one.weight, budget)

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
