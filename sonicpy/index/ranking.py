"""Three ways to rank: which postings of a query's terms count, and for how much. Scoring itself is compiled.

    bm25     idf * tf, scaled by length and by the share of the query an object holds
    sonic    spec chapter 8: idf only, mean over the words, rounded to 32 bits
    newest   objects that hold all words, newest association first
"""

import math
import unicodedata
from collections.abc import Callable

from sonicpy._native.postings import WordRow
from sonicpy._native.ranking import Ranker
from sonicpy._native.text import SPECIAL, STOP, Terms
from sonicpy.config import SearchConfig
from sonicpy.store.bucket import BucketReader

BM25_K1 = 1.2
BM25_B = 0.75

Ranking = Callable[[BucketReader, Terms, SearchConfig, int], Ranker]


def rank_bm25(reader: BucketReader, terms: Terms, search: SearchConfig, window: int) -> Ranker:
    """Score by BM25. Special words are required; stop words add to what others find, unless there are no others."""
    state = reader.state
    words = list(zip(reader.words(terms.words), terms.flags, strict=True))
    only_stops = all(flags & STOP for _, flags in words)
    ranker = Ranker(len(words))
    for stops in (False, True):
        for word, flags in words:
            if bool(flags & STOP and not only_stops) is not stops:
                continue
            required = bool(flags & SPECIAL)
            if word is None:
                ranker.add([], 0, idf(state.objects, 0), required=required, inserts=not stops)
            else:
                # By holders, not by postings: the window hides how common a word is.
                weight = idf(state.objects, word.holders)
                ranker.add(reader.blocks(word), word.dead, weight, required=required, inserts=not stops)
    rows = reader.length_rows(ranker.length_rows())
    average = state.total_length / state.objects if state.objects else 0.0
    ranker.bm25(rows, average, BM25_K1, BM25_B)
    return ranker


def rank_sonic(reader: BucketReader, terms: Terms, search: SearchConfig, window: int) -> Ranker:
    """Score as spec chapter 8, phase 1: the words exactly as typed."""
    objects = reader.state.objects
    ranker = Ranker(len(terms))
    for term, word, flags in zip(terms.words, reader.words(terms.words), terms.flags, strict=True):
        df = word.df if word else 0
        if is_cut(objects, df, search):
            ranker.add([], 0, 0.0)
            continue
        spellings = [] if flags & SPECIAL else other_spellings(term)
        goes_on = _add(ranker, reader, word, idf(max(objects, df), df), bool(flags & SPECIAL), False, window)
        for other in reader.words(spellings):
            goes_on = goes_on and _add(ranker, reader, other, 0.0, False, True, window)
        if not goes_on:
            break
    ranker.sonic(len(terms))
    return ranker


def rank_newest(reader: BucketReader, terms: Terms, search: SearchConfig, window: int) -> Ranker:
    """Keep the objects that hold every word, in the order of the first word's associations, newest first."""
    ranker = Ranker(len(terms))
    for word in reader.words(terms.words):
        _add(ranker, reader, word, 0.0, False, False, 0)
    ranker.newest()
    return ranker


RANKINGS: dict[str, Ranking] = {"bm25": rank_bm25, "sonic": rank_sonic, "newest": rank_newest}


def idf(objects: int, df: int) -> float:
    """Return the weight of a word that `df` of `objects` objects hold: ln(1 + (N - df + 0.5) / (df + 0.5))."""
    return math.log(1 + (max(objects, df) - df + 0.5) / (df + 0.5))


def is_cut(objects: int, df: int, search: SearchConfig) -> bool:
    """Return whether a word is so common in a large bucket that Sonic ignores it."""
    minimum = search.query_minimum_term_idf_default
    if df == 0 or minimum <= 0 or objects < search.query_minimum_term_idf_minimum_object_count:
        return False
    return math.log(objects / df) < minimum


def other_spellings(term: bytes) -> list[bytes]:
    """Return the composed and the decomposed spelling of a word, where they differ from it."""
    if term.isascii():
        return []
    word = term.decode()
    spellings = (unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word))
    return [spelling.encode() for spelling in spellings if spelling != word]


def _add(
    ranker: Ranker, reader: BucketReader, word: WordRow | None, weight: float, required: bool, again: bool, full: int
) -> bool:
    if word is None:
        return ranker.add([], 0, weight, required=required, again=again)
    return ranker.add(reader.blocks(word), word.dead, weight, required=required, again=again, full=full)
