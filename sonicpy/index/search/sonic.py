"""The ranking "sonic", as in Sonic 1.4: the mean idf of the words, without frequencies, rounded to 32 bits.

The expansions of all words share one budget of visited postings, so the plan grows while it is carried out.
"""

import math
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from sonicpy._native.bm25 import idf
from sonicpy._native.plan import BRINGS, Clause, Plan, Slot
from sonicpy._native.postings import PostingList
from sonicpy._native.sonic_table import SonicTable, completion_score, correction_score
from sonicpy._native.term_rows import SONIC_BYTES_MAX, TermInfo
from sonicpy._native.terms import SPECIAL, Terms
from sonicpy.index.search.expansion import corrections_by_sonic
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.parts import Found, MadeOf, Word
from sonicpy.index.search.plan import TABLE_FULL, TOO_COMMON
from sonicpy.index.search.scripts import continues_in_script
from sonicpy.store.views.bucket_reader import BucketReader

if TYPE_CHECKING:
    from sonicpy.config import Config, SearchConfig

CORRECTED_WORDS_SONIC = 128
"""The most words of a query that are corrected: the budget does not bound them, because words without similar words use
none.
"""
SPELLED_BYTES_MAX = 500
"""The most bytes of a word that is looked up in other spellings, too: sorting n marks on one letter takes n * n
steps.
"""


def rank_sonic(lexicon: Lexicon, terms: Terms, config: "Config") -> tuple[Plan, "SonicPart"]:
    """Score as Sonic does: the words as typed, then prefixes, then typos until the budget is used up. Return the plan,
    and the part with the scores.
    """
    visits = SonicVisits(lexicon, terms, config)
    visits.visit_exact()
    for visit in (visits.visit_prefixes, visits.visit_typos):
        if visits.budget > 0 and not visits.table.is_full:
            visit()
    visits.table.finish(any(flags & SPECIAL for flags in terms.flags))
    return visits.plan(), SonicPart(visits.table, visits.words, lexicon.reader)


class SonicPart:
    """The objects of a `SonicTable`.

    Args:
        words: the visited words, in the order of the visits.
        reader: reads the bucket.
    """

    def __init__(self, table: SonicTable, words: list[Word], reader: BucketReader) -> None:
        self._table = table
        self._words = words
        self._reader = reader

    @property
    def total(self) -> int:
        """The number of objects in the table."""
        return len(self._table)

    def page(self, offset: int, limit: int) -> tuple[list[str], list[Found]]:
        """Return the names of the objects from place `offset` on, at most `limit`, and the objects."""
        found = self._table.best_scored(offset, limit)
        return self._reader.oids([iid for iid, _, _ in found]), found

    def parts(self, iids: list[int], listed_max: int) -> list[MadeOf]:
        """Return the parts of the scores of objects; see `Part.parts`."""
        return [
            ([(self._words[number], tf, part) for number, tf, part in listed], others, others_sum)
            for listed, others, others_sum in self._table.parts(iids, listed_max)
        ]


class SonicVisits:
    """The visits of one query: the words whose postings were put into the table, and the remaining budget."""

    def __init__(self, lexicon: Lexicon, terms: Terms, config: "Config") -> None:
        self._window = config.store.kv.retain_word_objects
        self.table = SonicTable(len(terms), self._window)
        self.budget = config.search.query_alternates_try
        """Postings that completions and corrections may still visit."""
        self.words: list[Word] = []
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
                if self._visit(number, Slot((spelling,), weight), spelled, -1, self._window)[1]:
                    self.left_out.update((later, TABLE_FULL) for later in range(number + 1, len(terms)))
                    return

    def visit_prefixes(self) -> None:
        """Visit completions of each word."""
        for number, (term, typed) in enumerate(zip(self._terms.words, self._terms.typed, strict=True)):
            if len(term) > SONIC_BYTES_MAX:
                continue
            words = self._lexicon.completions(term)
            others = (word for word in words if word != term and continues_in_script(term, word))
            for word, row in self._held(others):
                if self.budget == 0:
                    return
                score = completion_score(idf(self._objects, row.df), len(word), typed)
                if self._visit_other(number, Slot((word,), score, how="completion"), row):
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
                    if self._visit_other(number, Slot((word,), score, how="correction", edits=distance), row):
                        break

    def plan(self) -> Plan:
        """Return the visited words as a plan."""
        clauses: dict[int, Clause] = {}
        for number, slot, _ in self.words:
            clauses.setdefault(number, Clause(number, BRINGS, slot.weight, [])).slots.append(slot)
        return Plan(
            list(clauses.values()), 0.0, 0.0, full_first=False, left_out=self.left_out, enough=None
        )  # fmt: skip

    def _visit_other(self, number: int, slot: Slot, row: TermInfo) -> bool:
        """Visit the list of an expansion of a term; return whether the table is full.

        Only the budget limits the reading of the list: the next correction may reach objects beyond the window.
        """
        visits, is_over = self._visit(number, slot, row, self.budget, self.budget)
        self.budget -= visits
        return is_over

    def _visit(self, number: int, slot: Slot, row: TermInfo | None, budget: int, window: int) -> tuple[int, bool]:
        """Visit at most `budget` (-1: all) of the newest `window` (0: all) postings of a word of term `number`. Return
        the result of `table.visit`.
        """
        self.words.append(Word(number, slot, slot.words[0]))
        if row is None:
            return self.table.visit(number, PostingList.of([]), 0, slot.weight, budget)
        postings, skipped = self._reader.newest_postings(row, window)
        return self.table.visit(number, postings, skipped, slot.weight, budget)

    def _held(self, words: Iterator[bytes]) -> Iterator[tuple[bytes, TermInfo]]:
        """Yield the words that objects hold and that are not too common, with their rows; a few rows are read ahead."""
        while some := list(islice(words, 8)):
            for word, row in zip(some, self._reader.words(some), strict=True):
                if row is not None and row.df and not is_too_common(self._objects, row.df, self._search):
                    yield word, row


def is_too_common(objects: int, df: int, search: "SearchConfig") -> bool:
    """Return whether Sonic would ignore a word, because too many objects of a large bucket hold it.

    Args:
        objects: the number of all objects.
        df: the number of objects that hold the word.
    """
    minimum = search.query_minimum_term_idf_default
    if df == 0 or minimum <= 0 or objects < search.query_minimum_term_idf_minimum_object_count:
        return False
    return math.log(objects / df) < minimum


def other_spellings(term: bytes) -> list[bytes]:
    """Return the composed and the decomposed spelling of a word, if they differ from it."""
    if term.isascii() or len(term) > SPELLED_BYTES_MAX:
        return []
    word = term.decode()
    spellings = (unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word))
    return [spelling.encode() for spelling in spellings if spelling != word]
