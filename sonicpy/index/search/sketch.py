"""Sketches: the statistics of a bucket, or of a part of one, for the words of a query, so that one plan serves several.

First each part makes a sketch. Their sums are SummedStatistics, from which a planner makes the plan of one bucket with
all objects. Then each part carries the plan out, and the best objects of all parts are the best of all objects; see
parts.py. All data between the steps is plain, for JSON.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from sonicpy._native.clauses import without_family
from sonicpy._native.completions import likely_of_all
from sonicpy._native.expansions import EXAMINED, edits_allowed, swapped_words
from sonicpy._native.inner_words import core_of
from sonicpy._native.neighbours import TERMS_MAX
from sonicpy._native.plan import Plan
from sonicpy._native.planner import EXPANDED_WORDS, may_go_on
from sonicpy._native.term_rows import WORD_BYTES_MAX, TermInfo
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy.index.search.beginnings import beginnings_within, edits_of_beginning
from sonicpy.index.search.demands import Demands, demands_of
from sonicpy.index.search.fitting import Typed
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.planners.completions import numbers_together
from sonicpy.index.search.planners.continued import stem_of
from sonicpy.index.search.planners.forms import spelled
from sonicpy.index.search.planners.inner import compounds
from sonicpy.index.search.planners.misformed import heads_of
from sonicpy.index.search.planners.spacing import other_spellings, rests_of, ways_with_evidence, words_to_cut
from sonicpy.index.search.planners.unknown import EDITS_MAX, asked_of
from sonicpy.index.search.ranking import PLANNERS
from sonicpy.index.search.statistics import CORRECTIONS_EXAMINED, NO_SKETCH, Sketch, groups_name
from sonicpy.index.search.suggest import COMPLETIONS_EXAMINED
from sonicpy.index.search.synonym_matches import Matches, has_family
from sonicpy.index.search.web_syntax import BEGUN
from sonicpy.index.search.web_syntax import PART as INNER
from sonicpy.store.rows.language_counts import LANGUAGES, add_counted, languages_in
from sonicpy.store.rows.order_rows import ORDERED
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS, live_columns

if TYPE_CHECKING:
    from sonicpy.config import Config

EXPANDED_MAX = 4 * EXPANDED_WORDS
"""The most words of a query for which a part looks for words near them, and for words that go on behind them: some may
have enough objects in the whole bucket, which then needs none for them.
"""


def sketch_query(lexicon: Lexicon, terms: Terms, config: "Config", matching: Matching | None) -> Sketch:
    """Return a part's sketch of the words of a query."""
    demands = demands_of(terms)
    edits = demands.edits if demands is not None else None
    sketch = _Sketcher(lexicon, reads_again=len(terms) <= TERMS_MAX, edits=edits)
    enough = config.search.alternates_below
    without = without_family(terms)
    expanded = 0
    for number, (term, flags) in enumerate(zip(terms.words, terms.flags, strict=True)):
        held = sketch.add(term)
        for other in spelled(term) if matching is not None else ():
            sketch.add(other)
        if flags & PART:
            continue
        sketch.add_joined(core_of(term), None if flags & without else matching)
        if flags & SPECIAL:
            if number == terms.last:
                sketch.add_beginnings(term, 0)
            sketch.add_unknown(term, matching, is_last=number == terms.last)
            sketch.add_continued(term)
            continue
        if matching is not None and not flags & without:
            held = max(held, sketch.add_family(term, matching))
        if number == terms.last:
            sketch.add_beginnings(term, edits_of_beginning(len(term.decode())) if held < enough else 0)
        may_expand = expanded < EXPANDED_MAX or number == terms.last
        if held < enough and may_expand:  # else the whole bucket has enough, too
            expanded += 1
            sketch.add_others(term, EXAMINED, edits_allowed(len(term.decode())), transpositions=True)
        if may_expand:
            sketch.add_heads(term)
        sketch.add_unknown(term, matching, is_last=number == terms.last)
        sketch.add_continued(term)
    for word in other_spellings(terms):
        sketch.add(word)
    for word in words_to_cut(terms):
        sketch.add_pieces(word, folds=matching is not None)
    for _, beginning in numbers_together(terms):
        sketch.add_beginnings(beginning, 0)
    if synonyms := lexicon.synonyms(terms):
        sketch.add_synonyms(synonyms, matching)
    if demands is not None:
        sketch.add_demands(terms, demands, matching)
    if len(terms) > 1 and any(map(bytes.isdigit, terms.words)):  # only numbers are asked for beside other words
        sketch.add_beside(terms, config, matching)
    if matching is not None:
        sketch.add_languages(matching)
    sketch.add_kinds()
    return sketch.sketch


def common_languages(sketches: Sequence[Sketch]) -> tuple[str, ...]:
    """Return the languages of the texts of all parts together; empty: they are not known, or all parts use the same
    ones already.
    """
    counted = add_counted(sketch.get("counted", "").encode() for sketch in sketches)
    languages = languages_in(counted)
    asked = [sketch["languages"] for sketch in sketches if "languages" in sketch]
    return languages if any(each != list(languages) for each in asked) else ()


def columns_of(sketches: Sequence[Sketch]) -> list[tuple[str, int]] | None:
    """Return the name and the bits of each column of vectors of all parts; None: not all parts give theirs."""
    if not all("columns" in sketch for sketch in sketches):  # a node of an older version
        return None
    return [(name, bits) for sketch in sketches for name, bits in sketch["columns"]]


def holding_phrases(plan: Plan, sketches: Sequence[Sketch]) -> list[int] | None:
    """Return the places of the parts that may hold the phrases of a plan; None: all may. The bucket keeps the order of
    words if one of its parts does; no object of the other parts then holds a phrase.
    """
    if not plan.phrases or not any(sketch.get("ordered") for sketch in sketches):
        return None
    plan.phrases = tuple(phrase for phrase in plan.phrases if len(phrase[1]) > 1)  # one word is in order anywhere
    if not plan.phrases:
        return None
    return [place for place, sketch in enumerate(sketches) if sketch.get("ordered", True)]  # older versions lack it


def pack_completions(lexicon: Lexicon, term: bytes) -> bytes | None:
    """Return the packed completions of a part for `likely_completions`; None: the part reads completions from a graph,
    or some of them differ in accents.
    """
    if not lexicon.live or lexicon.variants(term):
        return None
    return lexicon.reader.packed_completions(term, COMPLETIONS_EXAMINED) if len(term) <= WORD_BYTES_MAX else b"\0"


def sketch_suggest(lexicon: Lexicon, term: bytes) -> Sketch:
    """Return a part's sketch of the words that complete or correct a word."""
    sketch = _Sketcher(lexicon)
    length = len(term.decode())
    sketch.add(term)
    sketch.add_others(term, COMPLETIONS_EXAMINED, edits_allowed(length), transpositions=True)
    sketch.add_beginnings(term, edits_of_beginning(length))
    return sketch.sketch


def sketch_typed(lexicon: Lexicon, typed: Typed) -> Sketch:
    """Return a part's sketch of the words of a text for SUGGEST."""
    sketch = _Sketcher(lexicon, sketch_suggest(lexicon, typed.word))
    for word, matching in typed.before:
        sketch.add(word)
        if matching is not None:
            sketch.add_family(word, matching)
            sketch.add_languages(matching)
    return sketch.sketch


class _Sketcher:
    def __init__(
        self, lexicon: Lexicon, begun: Sketch | None = None, *, reads_again: bool = False, edits: int | None = None
    ) -> None:
        self._lexicon = lexicon
        self._reads_again = reads_again
        self._continued = 0  # the number of words behind which others were looked for
        self._edits = edits
        """The most edits that the query allows; None: as many as the length of a word allows."""
        length = lexicon.reader.state.total_length
        self.sketch: Sketch = begun or {**NO_SKETCH, "objects": lexicon.objects, "length": length}
        for key in ("words", "families", "doubtful", "joined", "completed", "corrected", "begun"):
            self.sketch[key] = self.sketch[key] if begun else {}
        self.sketch["together"], self.sketch["beside"] = [], []

    def add(self, word: bytes) -> int:
        """Add the statistics of a word; return the number of objects that hold it."""
        row = self._lexicon.rows([word])[0]
        return 0 if row is None else self._note(word, row)

    def add_family(self, word: bytes, matching: Matching) -> int:
        """Add the family of a word; return the largest number of objects that hold one of its sure words."""
        words, doubtful = map(list, self._lexicon.family(word, matching))
        self.sketch["families"][word.decode()] = [each.decode() for each in words]
        self.sketch["doubtful"][word.decode()] = [each.decode() for each in doubtful]
        for each, row in zip(doubtful, self._lexicon.rows(doubtful), strict=True):
            if row is not None:
                self._note(each, row)
        rows = zip(words, self._lexicon.rows(words), strict=True)
        return max((self._note(each, row) for each, row in rows if row is not None), default=0)

    def add_pieces(self, word: bytes, *, folds: bool) -> None:
        """Add the words into which a word of a query may be cut, and the ways to cut it, if no object of the part holds
        the word, so that one holds all pieces. `folds`: pieces may differ from the word in accents.
        """
        for rest in rests_of(word):
            for each, row, _ in self._lexicon.leading(rest):
                self._note(each, row)
        family = self.sketch["families"].get(word.decode(), ())
        if not self._lexicon.held([word, *map(str.encode, family)]):
            for way in ways_with_evidence(self._lexicon, word, folds=folds):
                self.sketch["together"].append([[each.decode() for each in piece] for piece in way])

    def add_joined(self, word: bytes, matching: Matching | None) -> None:
        """Add the compounds that have a word as a part."""
        found = self._lexicon.held(self._lexicon.joined(word, matching))
        self.sketch["joined"][word.decode()] = [each.decode() for each, _ in found]
        for each, row in found:
            self._note(each, row)

    def add_heads(self, word: bytes) -> None:
        """Add the words that end with `word`, if the sketch has no other word for it."""
        text = word.decode()
        if self._is_unknown(text):
            found = compounds(self._lexicon, word)
            self.sketch.setdefault("holding", {})[text] = [each.decode() for each, _ in found]
            for each, row in found:
                self._note(each, row)

    def add_unknown(self, word: bytes, matching: Matching | None, *, is_last: bool) -> None:
        """Add the words with which `word` is read again, if the sketch has no other word for it. Arguments as in
        `read_again`."""
        text = word.decode()
        if not self._reads_again or not self._is_unknown(text) or self.sketch.get("holding", {}).get(text):
            return
        asked = asked_of(word, folds=matching is not None, is_last=is_last)
        length = len(word.decode())
        if not word.isalpha():
            self.add_others(word, 0, self._edits_of(word), transpositions=True)
        if not word.isalpha() or not is_last:
            self.add_beginnings(word, min(edits_of_beginning(length), EDITS_MAX))
        for each in asked.begun:
            self.add_beginnings(each, 0)
        if matching is not None:
            for each in asked.formed:
                self.add(each)
                self.add_family(each, matching)
            for each in heads_of(word, self._lexicon.resolved(matching)):
                self.add_beginnings(each, 1)
        for each in asked.corrected:
            if each.decode() in self.sketch["corrected"]:
                continue
            self.add(each)
            self.add_others(each, 0, self._edits_of(each), transpositions=True)

    def add_continued(self, word: bytes) -> None:
        """Add the words that go on behind a word with digits or signs."""
        if self._continued < EXPANDED_MAX and may_go_on(word):
            self._continued += 1
            if (stem := stem_of(word)).decode() not in self.sketch["begun"]:
                self.add_beginnings(stem, 0)

    def _edits_of(self, word: bytes) -> int:
        """Return the most edits of the corrections of a word that the plan may ask for."""
        return max(self._edits or 0, edits_allowed(len(word.decode())))

    def _is_unknown(self, text: str) -> bool:
        """Return whether a word leads to no other word that the query allows."""
        if text in self.sketch["words"]:
            return False
        if any(self.sketch[key].get(text) for key in ("families", "doubtful", "joined", "completed")):
            return False
        near = [edits for key in ("corrected", "begun") for _, edits in self.sketch[key].get(text, ())]
        return not near or (self._edits is not None and min(near) > self._edits)

    def add_languages(self, matching: Matching) -> None:
        """Add the counts of the part's texts by language, and the languages by which it finds families."""
        self.sketch["counted"] = (self._lexicon.reader.fact(LANGUAGES) or b"").decode()
        self.sketch["languages"] = list(self._lexicon.languages_for(matching))

    def add_kinds(self) -> None:
        """Add the columns of vectors of the part, and whether it keeps the order of words."""
        reader = self._lexicon.reader
        self.sketch["columns"] = [(column.name, column.bits) for column in live_columns(reader.fact(VECTOR_COLUMNS))]
        self.sketch["ordered"] = reader.fact(ORDERED) is not None

    def add_others(self, word: bytes, completed: int, edits: int, *, transpositions: bool) -> None:
        """Add the completions and corrections of a word to the sketch, with their rows: at most `completed`
        completions, and the corrections within `edits` edits, a swap of two neighbours counted as one edit if
        `transpositions`.
        """
        for each in swapped_words(word):
            self.add(each)
        found = self._lexicon.completed(word, completed)
        self.sketch["completed"][word.decode()] = [each.decode() for each, _ in found]
        for each, row in found:
            self._note(each, row)
        near = dict(self._lexicon.corrections(word, edits, transpositions=transpositions)[: 2 * CORRECTIONS_EXAMINED])
        held = self._lexicon.held(near)
        self.sketch["corrected"][word.decode()] = [(each.decode(), near[each]) for each, _ in held]
        for each, row in held:
            self._note(each, row)

    def add_beginnings(self, word: bytes, edits: int) -> None:
        """Add the words that begin as a word does, except for at most `edits` errors."""
        found = beginnings_within(self._lexicon, word, edits)
        self.sketch["begun"][word.decode()] = [(each.decode(), its) for each, _, its in found]
        for each, row, _ in found:
            self._note(each, row)

    def add_demands(self, terms: Terms, demands: Demands, matching: Matching | None) -> None:
        """Add the words that the demands of a query need."""
        self.sketch.setdefault("holding", {})
        for number in demands.begun:
            self.add_beginnings(terms.words[number], 0)
        for number in demands.inner:
            self._add_holding(terms.words[number])
        for term in _correctable(terms, demands) if demands.edits else ():
            self.add_others(term, EXAMINED, self._edits_of(term), transpositions=True)
        for word, kind, has_forms in demands.refused:
            if has_forms and matching is not None:
                self.add_family(word.encode(), matching)
            if kind == BEGUN:
                self.add_beginnings(word.encode(), 0)
            elif kind == INNER:
                self._add_holding(word.encode())

    def add_beside(self, terms: Terms, config: "Config", matching: Matching | None) -> None:
        """Add the names of the groups that one object of the part holds: numbers, and another word."""
        seen = _Seen(self._lexicon)
        PLANNERS[config.search.ranking](cast(Lexicon, seen), terms, config.search, matching)
        self.sketch["beside"] = seen.beside

    def add_synonyms(self, matches: Matches, matching: Matching | None) -> None:
        """Add the substitutes of terms of the query."""
        self.sketch["synonyms"] = [(match.numbers, match.words) for match in matches]
        for word in dict.fromkeys(word for match in matches for word in match.words):
            self.add(word.encode())
            if matching is not None and has_family(word):
                self.add_family(word.encode(), matching)

    def _add_holding(self, letters: bytes) -> None:
        """Add the words that contain some letters."""
        found = self._lexicon.holding(letters)
        self.sketch["holding"][letters.decode()] = [each.decode() for each, _ in found]
        for each, row in found:
            self._note(each, row)

    def _note(self, word: bytes, row: TermInfo) -> int:
        self.sketch["words"][word.decode()] = (row.df, row.hidden_df)
        return row.df


class _Seen:
    """The statistics of a part, which note the names of groups of words that an object holds beside each other."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self.beside: list[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lexicon, name)

    def holds_beside(self, groups: list[list[bytes]]) -> bool:
        """Return whether one object holds a word of each group; if so, note the name of the groups."""
        found = self._lexicon.holds_beside(groups)
        if found:
            self.beside.append(groups_name(groups))
        return found


def _correctable(terms: Terms, demands: Demands) -> list[bytes]:
    """Return the terms to which corrections may be added even if many objects hold them; stop words come last."""
    numbers = [number for number, flags in enumerate(terms.flags) if not flags & (SPECIAL | PART)]
    numbers.sort(key=lambda number: terms.flags[number] & STOP)
    return [terms.words[number] for number in numbers if number not in demands.inner][:EXPANDED_WORDS]


def likely_completions(packed: Sequence[bytes], term: bytes, limit: int) -> list[str]:
    """Return at most `limit` likely completions of a word in all parts; if there are fewer, corrections have to follow.

    Args:
        packed: the result of `pack_completions` of each part.
    """
    return [word.decode() for word in likely_of_all(list(packed), term, limit, COMPLETIONS_EXAMINED)]
