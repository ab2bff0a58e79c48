"""Three ways to rank: which postings of a query's terms count, and for how much. Scoring itself is compiled.

bm25     idf * tf, scaled by length and by the share of the query an object holds; all words before some, exact
         before completed before corrected ones
sonic    spec chapter 8: idf only, mean over the words, rounded to 32 bits; one budget of alternates for all words
newest   objects that hold all words, newest association first
"""

import math
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from sonicpy._native.bm25 import idf
from sonicpy._native.object_table import ObjectTable
from sonicpy._native.postings import PostingList
from sonicpy._native.ranking import Ranker
from sonicpy._native.sonic_table import SonicTable, completion_score, correction_score
from sonicpy._native.term_rows import WORD_BYTES_MAX, TermInfo
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy.config import SearchConfig
from sonicpy.index.search.expansion import alternates, edits_allowed_by_sonic
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.scripts import continues_in_script
from sonicpy.index.search.trace import IN_PAIRS, IS_STOP, TABLE_FULL, TOO_COMMON, Trace
from sonicpy.store.bucket_reader import BucketReader

BM25_K1 = 1.2
BM25_B = 0.75

CORRECTED_WORDS = 16
"""Words of one query that others may stand for: each is compared with all pending words, and a line holds thousands."""
CORRECTED_WORDS_SONIC = 128
"""The same in compat mode, where no budget is used up by words that resemble nothing."""
SPELLED_BYTES_MAX = 500
"""Longer words have one spelling: putting n marks on one letter in order takes n * n steps."""

Ranking = Callable[[Lexicon, Terms, SearchConfig, int, int, Trace | None], ObjectTable]
"""Arguments: the bucket's words, the query's terms, the settings, the window, the end of the page asked for, and where
to note what is done."""


def rank_bm25(
    lexicon: Lexicon, terms: Terms, search: SearchConfig, window: int, wanted: int, trace: Trace | None = None
) -> Ranker:
    """Score by BM25. Special words are required, except in a sentence; stop words add to what others find, and are
    searched where others find nothing."""
    reader, ranker = lexicon.reader, Ranker()
    add_others = partial(_add_alternates, ranker, lexicon, wanted, search.query_alternates_try, trace)
    ranker.add_terms(reader, terms, reader.state.objects, wanted, CORRECTED_WORDS, add_others, trace)
    ranker.bm25(*bm25_arguments(reader))
    return ranker


def _add_alternates(
    ranker: Ranker,
    lexicon: Lexicon,
    wanted: int,
    budget: int,
    trace: Trace | None,
    number: int,
    term: bytes,
    found: int,
    weight: float,
) -> None:
    """Add words that stand for a term that `found` objects hold."""
    reader = lexicon.reader
    for other in alternates(lexicon, term, found, wanted, budget):
        lowered = min(idf(reader.state.objects, other.row.holders), weight) * other.share
        ranker.add_expansion(reader.postings(other.row), other.row.dead, lowered, other.completed)
        if trace is not None:
            trace.alternate(number, other, lowered)


def bm25_arguments(reader: BucketReader) -> tuple[bytes | bytearray, float, float, float]:
    """Return the lengths of a bucket's objects, their mean, and the constants of the formula."""
    return reader.lengths(), reader.state.average_length, BM25_K1, BM25_B


def rank_newest(
    lexicon: Lexicon, terms: Terms, search: SearchConfig, window: int, wanted: int, trace: Trace | None = None
) -> Ranker:
    """Keep the objects that hold every word, or an alternate of a word that no object holds, newest first.

    Stop words are required only where there is no other word, letters of a run without blanks never.
    """
    reader = lexicon.reader
    only_stops = all(flags & STOP for flags in terms.flags)
    pairs = [term for term, flags in zip(terms.words, terms.flags, strict=True) if flags & PART]
    ranker = Ranker()
    corrected = 0
    for number, (term, word, flags) in enumerate(zip(terms.words, reader.words(terms.words), terms.flags, strict=True)):
        if flags & STOP and not only_stops:
            if trace is not None:
                trace.left_out[number] = IS_STOP
            continue
        if not flags & PART and any(pair in term for pair in pairs):
            if trace is not None:
                trace.left_out[number] = IN_PAIRS
            continue  # inside a longer run it may have been cut otherwise; its pairs are there all the same
        ranker.add(*_postings(reader, word), 0.0)
        is_held = word is not None and word.df > 0
        if trace is not None:
            trace.exact(number, term, word, 0.0)
        if is_held or flags & (SPECIAL | STOP | PART) or corrected == CORRECTED_WORDS:
            if trace is not None:
                trace.keep(number, flags, is_enough=is_held)
            continue
        corrected += 1
        for other in alternates(lexicon, term, 0, wanted, search.query_alternates_try):
            ranker.add_expansion(reader.postings(other.row), other.row.dead, 0.0, other.completed)
            if trace is not None:
                trace.alternate(number, other, 0.0)
    ranker.newest()
    return ranker


def rank_sonic(
    lexicon: Lexicon, terms: Terms, search: SearchConfig, window: int, wanted: int, trace: Trace | None = None
) -> SonicTable:
    """Score as spec chapter 8: the words as typed, then prefixes, then typos while the budget of visits lasts."""
    reader = lexicon.reader
    table = SonicTable(len(terms), window)
    _visit_exact(table, reader, terms, search, trace)
    budget = search.query_alternates_try
    for visit in (_visit_prefixes, _visit_typos):
        if budget > 0 and not table.is_full:
            budget = visit(table, lexicon, terms, search, budget, trace)
    table.finish(any(flags & SPECIAL for flags in terms.flags))
    return table


RANKINGS: dict[str, Ranking] = {"bm25": rank_bm25, "sonic": rank_sonic, "newest": rank_newest}


def is_cut(objects: int, df: int, search: SearchConfig) -> bool:
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


def _postings(reader: BucketReader, word: TermInfo | None) -> tuple[PostingList | list[bytes], int]:
    return ([], 0) if word is None else (reader.postings(word), word.dead)


def _visit_exact(
    table: SonicTable, reader: BucketReader, terms: Terms, search: SearchConfig, trace: Trace | None
) -> None:
    objects = reader.state.objects
    for number, (term, word, flags) in enumerate(zip(terms.words, reader.words(terms.words), terms.flags, strict=True)):
        df = word.df if word else 0
        if is_cut(objects, df, search):
            if trace is not None:
                trace.left_out[number] = TOO_COMMON
            continue
        spellings = [] if flags & SPECIAL else other_spellings(term)
        for spelling, spelled in zip((term, *spellings), (word, *reader.words(spellings)), strict=True):
            if trace is not None:
                trace.visit(number, spelling, spelled, "exact" if spelling == term else "spelling", 0, idf(objects, df))
            if table.visit(number, *_postings(reader, spelled), idf(objects, df), -1)[1]:
                if trace is not None:
                    trace.left_out.update((later, TABLE_FULL) for later in range(number + 1, len(terms)))
                return


def _visit_prefixes(
    table: SonicTable, lexicon: Lexicon, terms: Terms, search: SearchConfig, budget: int, trace: Trace | None
) -> int:
    for number, (term, typed) in enumerate(zip(terms.words, terms.typed, strict=True)):
        if len(term) > WORD_BYTES_MAX:
            continue
        others = (word for word in lexicon.completions(term) if word != term and continues_in_script(term, word))
        for word, row in _with_objects(lexicon, others, search):
            if budget == 0:
                return 0
            score = completion_score(idf(lexicon.reader.state.objects, row.df), len(word), typed)
            if trace is not None:
                trace.visit(number, word, row, "completion", 0, score)
            visits, is_over = table.visit(number, lexicon.reader.postings(row), row.dead, score, budget)
            budget -= visits
            if is_over:
                break
    return budget


def _visit_typos(
    table: SonicTable, lexicon: Lexicon, terms: Terms, search: SearchConfig, budget: int, trace: Trace | None
) -> int:
    corrected = 0
    for number, (term, typed, flags) in enumerate(zip(terms.words, terms.typed, terms.flags, strict=True)):
        if flags & SPECIAL:
            continue
        if corrected == CORRECTED_WORDS_SONIC:
            break
        corrected += 1
        allowed = edits_allowed_by_sonic(term, typed)
        matches = lexicon.corrections(term, allowed, transpositions=False)
        for distance in range(1, allowed + 1):
            others = sorted(word for word, edits in matches if edits <= distance and word != term)
            for word, row in _with_objects(lexicon, iter(others), search):
                if budget == 0:
                    return 0
                score = correction_score(idf(lexicon.reader.state.objects, row.df), distance, typed)
                if trace is not None:
                    trace.visit(number, word, row, "correction", distance, score)
                visits, is_over = table.visit(number, lexicon.reader.postings(row), row.dead, score, budget)
                budget -= visits
                if is_over:
                    break
    return budget


def _with_objects(lexicon: Lexicon, words: Iterator[bytes], search: SearchConfig) -> Iterator[tuple[bytes, TermInfo]]:
    """Yield the words that objects hold and that are not cut, with their rows; reads a few ahead."""
    objects = lexicon.reader.state.objects
    while some := list(islice(words, 8)):
        for word, row in zip(some, lexicon.reader.words(some), strict=True):
            if row is not None and row.df and not is_cut(objects, row.df, search):
                yield word, row
