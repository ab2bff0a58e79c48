"""A query over the parts of a bucket that is spread over several stores, with the answer that one store would give.

First each part says what it knows of the words of the query: how many objects hold them, and which other words may
stand for them (`sketch_query`). The sums of that are the words of the whole bucket (`WholeLexicon`), so a plan made of
them is the plan that one store would make. Then each part carries that plan out on its own objects (`find`), and the
best of all parts are the best of the bucket (`best_of`). Everything between the steps is plain data, for JSON.

Equal scores are ordered newest object first, as far as parts can tell: each numbers its own objects. As many objects
come to each part, so the middle one of a part is about as old as the middle one of another.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from sonicpy._native.completions import likely_of_all
from sonicpy._native.plan import PlannedList, content_size
from sonicpy._native.term_rows import WORD_BYTES_MAX, TermInfo
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy._native.varint import pack_varints
from sonicpy.config import Config
from sonicpy.index.search.expansion import EXAMINED, edits_allowed
from sonicpy.index.search.families import Matching, nearest_words
from sonicpy.index.search.lexicon import CORRECTIONS_EXAMINED, Lexicon
from sonicpy.index.search.query import HIGHEST_SHARE, WHOLLY
from sonicpy.index.search.ranking import (
    FULL_FIRST_MAX,
    SHARE_EXPONENT_MAX,
    SHARE_STRENGTH,
    plan_bm25,
    plan_newest,
)
from sonicpy.index.search.suggest import COMPLETIONS_EXAMINED, suggest_alphabetical, suggest_likely
from sonicpy.index.search.walk import BM25_K1, Walk

Sketch = dict[str, Any]
"""What a part knows: objects, length (the sum of their lengths), words {word: [objects, hidden]}, families, completed
and corrected {word: [words]}; to each correction belongs its distance."""

NO_SKETCH: Sketch = {"objects": 0, "length": 0, "words": {}, "families": {}, "completed": {}, "corrected": {}}
"""That of a part without the bucket."""

Row = tuple[str, int, float, float]
"""An object: its name, how it was found, its score, its age in its part, from 0 (the oldest) to 1."""


# -- at each part ------------------------------------------------------------------------------------------------------


def sketch_query(lexicon: Lexicon, terms: Terms, config: Config, matching: Matching | None) -> Sketch:
    """Return what a part knows of the words of a query."""
    sketch = _Sketcher(lexicon)
    enough = config.search.alternates_below
    without = SPECIAL | PART if all(flags & (STOP | PART) for flags in terms.flags) else SPECIAL | PART | STOP
    for term, flags in zip(terms.words, terms.flags, strict=True):
        held = sketch.add(term)
        if flags & (SPECIAL | PART):
            continue
        if matching is not None and not flags & without:
            held += sketch.add_family(term, matching)
        if held < enough:  # else the whole bucket has enough, too
            sketch.add_others(term, EXAMINED, edits_allowed(len(term.decode())), transpositions=True)
    return sketch.sketch


def pack_completions(lexicon: Lexicon, term: bytes) -> bytes | None:
    """Return the completions that a part holds, packed, for `likely_completions`; None: they are those of a graph."""
    if not lexicon.live:
        return None
    return lexicon.reader.packed_completions(term, COMPLETIONS_EXAMINED) if len(term) <= WORD_BYTES_MAX else b"\0"


def sketch_suggest(lexicon: Lexicon, term: bytes) -> Sketch:
    """Return what a part knows of the words that complete or correct a word."""
    sketch = _Sketcher(lexicon)
    sketch.add(term)
    sketch.add_others(term, COMPLETIONS_EXAMINED, edits_allowed(len(term.decode())), transpositions=True)
    return sketch.sketch


class _Sketcher:
    def __init__(self, lexicon: Lexicon) -> None:
        state = lexicon.reader.state
        self._lexicon = lexicon
        self.sketch: Sketch = {**NO_SKETCH, "objects": state.objects, "length": state.total_length}
        for key in ("words", "families", "completed", "corrected"):
            self.sketch[key] = {}

    def add(self, word: bytes) -> int:
        """Add what is known of a word; return how many objects hold it."""
        row = self._lexicon.reader.words([word])[0]
        return 0 if row is None else self._note(word, row)

    def add_family(self, word: bytes, matching: Matching) -> int:
        """Add the family of a word; return how many objects hold its words, each word for itself."""
        family = list(self._lexicon.family(word, matching))
        self.sketch["families"][word.decode()] = [each.decode() for each in family]
        rows = zip(family, self._lexicon.reader.words(family), strict=True)
        return sum(self._note(each, row) for each, row in rows if row is not None)

    def add_others(self, word: bytes, completed: int, edits: int, *, transpositions: bool) -> None:
        """Add completions and corrections."""
        found = self._lexicon.completed(word, completed)
        self.sketch["completed"][word.decode()] = [each.decode() for each, _ in found]
        for each, row in found:
            self._note(each, row)
        near = dict(self._lexicon.corrections(word, edits, transpositions=transpositions)[: 2 * CORRECTIONS_EXAMINED])
        held = self._lexicon.held(near)
        self.sketch["corrected"][word.decode()] = [(each.decode(), near[each]) for each, _ in held]
        for each, row in held:
            self._note(each, row)

    def _note(self, word: bytes, row: TermInfo) -> int:
        self.sketch["words"][word.decode()] = (row.df, row.hidden_df)
        return row.df


class SpreadList(NamedTuple):
    """A list of postings that a part reads: a `PlannedList` as plain data; the part adds its own row."""

    term: int
    word: str
    weight: float
    how: str
    edits: int
    required: bool
    inserts: bool
    family_weight: float
    exact_weight: float


@dataclass(frozen=True, slots=True)
class SpreadPlan:
    """What every part carries out.

    Attributes:
        average: the average length of the objects of the whole bucket.
        exponent, full_first: as `Walk`.
        ceiling: no object's score is above it.
    """

    lists: Sequence[SpreadList]
    average: float
    exponent: float
    full_first: bool
    ceiling: float

    def facts(self) -> list[Any]:
        """Return it for JSON."""
        return [list(map(list, self.lists)), self.average, self.exponent, self.full_first, self.ceiling]

    @classmethod
    def of(cls, facts: Sequence[Any]) -> "SpreadPlan":
        """Return the plan that `facts` described."""
        lists, average, exponent, full_first, ceiling = facts
        return cls([SpreadList(*one) for one in lists], average, exponent, full_first, ceiling)


def find(lexicon: Lexicon, plan: SpreadPlan, limit: int, window: int, *, total: bool) -> tuple[list[Row], int | None]:
    """Return the best objects of a part, and, if `total` asks for it, how many of its objects the plan finds."""
    rows = lexicon.reader.words([one.word.encode() for one in plan.lists])
    lists = [
        PlannedList(
            one.term,
            one.word.encode(),
            row,
            one.weight,
            one.how,
            one.edits,
            required=one.required,
            inserts=one.inserts,
            family_weight=one.family_weight,
            exact_weight=0.0 if row is None else one.exact_weight,  # a part may lack a word of the whole bucket
        )
        for one, row in zip(plan.lists, rows, strict=True)
    ]
    walk = Walk(
        lexicon.reader,
        lists,
        plan.exponent,
        full_first=plan.full_first,
        window=window,
        average=plan.average,
    )
    best = walk.best(0, limit)
    names = lexicon.reader.oids([iid for iid, _, _ in best])
    count = lexicon.reader.state.next_iid
    rows_found = [(name, kind, score, iid / count) for name, (iid, kind, score) in zip(names, best, strict=True)]
    return rows_found, walk.total() if total else None


# -- at the node that was asked ----------------------------------------------------------------------------------------


class WholeLexicon(Lexicon):
    """The words of the whole bucket, as far as parts have told about them."""

    def __init__(self, sketches: Sequence[Sketch]) -> None:  # not Lexicon's: that one reads a store
        self.live = True
        self.objects = sum(sketch["objects"] for sketch in sketches)
        self.total_length = sum(sketch["length"] for sketch in sketches)
        self._families = _united(sketches, "families")
        self._completed = _united(sketches, "completed")
        self._corrected = _distances(sketches)
        self._rows: dict[bytes, TermInfo] = {}
        counts: dict[str, tuple[int, int]] = {}
        for sketch in sketches:
            for word, (df, hidden) in sketch["words"].items():
                before = counts.get(word, (0, 0))
                counts[word] = before[0] + df, before[1] + hidden
        for word, (df, hidden) in counts.items():
            name = word.encode()
            self._rows[name] = TermInfo(pack_varints((0, df, hidden, 0)), len(name))
        self.reader = cast(Any, _WholeReader(self._rows, self.objects))

    @property
    def average_length(self) -> float:
        """The average length of an object."""
        return self.total_length / self.objects if self.objects else 0.0

    def family(self, word: bytes, matching: Matching) -> tuple[bytes, ...]:
        """Return the other words that a word stands for, at most FAMILY_MAX."""
        return nearest_words(word, self._families.get(word, []))

    def completions(self, prefix: bytes, after: bytes = b"") -> Any:
        """Return the completions that are known, in byte order."""
        return iter(sorted(self._completed.get(prefix, [])))

    def completed(self, prefix: bytes, most: int) -> list[tuple[bytes, TermInfo]]:
        """Return the first `most` completions with their rows, in byte order."""
        return self.held(self.completions(prefix))[:most]

    def likely(self, word: bytes, limit: int, examined: int) -> list[bytes]:
        """Return at most `limit` of the first `examined` completions: `word` itself, then the most frequent ones."""
        found = self.completed(word, examined)
        found.sort(key=lambda found: (found[0] != word, -found[1].df, len(found[0]), found[0]))
        return [completion for completion, _ in found[:limit]]

    def corrections(
        self, word: bytes, distance: int, *, transpositions: bool, of_long: bool = False
    ) -> list[tuple[bytes, int]]:
        """Return the corrections that are known, with their distances: nearest first, then in byte order."""
        found = self._corrected.get(word, {})
        return sorted(
            ((each, its) for each, its in found.items() if its <= distance), key=lambda match: (match[1], match[0])
        )


class _WholeState(NamedTuple):
    objects: int


class _WholeReader:
    """What a plan reads of a bucket."""

    def __init__(self, rows: dict[bytes, TermInfo], objects: int) -> None:
        self._rows = rows
        self.state = _WholeState(objects)

    def words(self, terms: Sequence[bytes]) -> list[TermInfo | None]:
        """Return the row of each term."""
        return [self._rows.get(term) for term in terms]


def _united(sketches: Sequence[Sketch], key: str) -> dict[bytes, list[bytes]]:
    found: dict[bytes, set[bytes]] = {}
    for sketch in sketches:
        for word, others in sketch[key].items():
            found.setdefault(word.encode(), set()).update(each.encode() for each in others)
    return {word: list(others) for word, others in found.items()}


def _distances(sketches: Sequence[Sketch]) -> dict[bytes, dict[bytes, int]]:
    found: dict[bytes, dict[bytes, int]] = {}
    for sketch in sketches:
        for word, others in sketch["corrected"].items():
            found.setdefault(word.encode(), {}).update((each.encode(), its) for each, its in others)
    return found


def plan_whole(whole: WholeLexicon, terms: Terms, config: Config, matching: Matching | None) -> SpreadPlan:
    """Return the plan of a query, made of the words of the whole bucket."""
    search = config.search
    make = plan_newest if search.ranking == "newest" else plan_bm25
    plan = make(whole, terms, search.query_alternates_try, search.alternates_below, matching)
    if search.ranking == "newest":
        exponent, full_first = 0.0, False
    else:
        size = content_size(plan.lists, terms.flags)
        exponent, full_first = min(SHARE_EXPONENT_MAX, SHARE_STRENGTH / size), size <= FULL_FIRST_MAX
    lists = [
        SpreadList(
            one.term,
            one.word.decode(),
            one.weight,
            one.how,
            one.edits,
            one.required,
            one.inserts,
            one.family_weight,
            one.exact_weight,
        )
        for one in plan.lists
    ]
    return SpreadPlan(lists, whole.average_length, exponent, full_first, _ceiling(plan.lists))


def _ceiling(lists: Sequence[PlannedList]) -> float:
    """Return what `Walk.ceiling` is, where all words of the plan are held."""
    possible = 0.0
    for place, one in enumerate(lists):
        if one.how != "exact":
            continue
        possible += one.weight
        has_forms = place + 1 < len(lists) and lists[place + 1].is_form
        if has_forms:
            possible += max(0.0, one.family_weight + one.exact_weight - one.weight)
    return possible * (BM25_K1 + 1.0)


def best_of(
    parts: Iterable[Sequence[Row]], plan: SpreadPlan, ranking: str, limit: int, offset: int
) -> tuple[list[str], list[float] | None]:
    """Return the names of the best objects of all parts, and their scores as users see them."""
    rows = [row for part in parts for row in part]
    if ranking == "newest":
        rows.sort(key=lambda row: (-row[3], row[0]))
        return [name for name, _, _, _ in rows[offset : offset + limit]], None
    rows.sort(key=lambda row: (row[1], -row[2], -row[3], row[0]))
    page = rows[offset : offset + limit]
    return [name for name, _, _, _ in page], [_shown(kind, score, plan.ceiling) for _, kind, score, _ in page]


def _shown(kind: int, score: float, ceiling: float) -> float:
    share = min(score / ceiling, HIGHEST_SHARE) if ceiling > 0 and math.isfinite(ceiling) else 0.0
    return WHOLLY - kind + share


def likely_completions(packed: Sequence[bytes], term: bytes, limit: int) -> list[str]:
    """Return the likely completions of a word in all parts, at most `limit`; if there are fewer, corrections follow.

    Args:
        packed: what `pack_completions` returned at each part.
    """
    return [word.decode() for word in likely_of_all(list(packed), term, limit, COMPLETIONS_EXAMINED)]


def suggest_whole(whole: WholeLexicon, term: bytes, typed_bytes: int, order: str, limit: int) -> list[str]:
    """Return words of the whole bucket that complete or correct a word."""
    if order == "likely":
        found = suggest_likely(whole, term, limit)
    else:
        found = suggest_alphabetical(whole, term, limit, typed_bytes)
    return [suggestion.decode() for suggestion in found]
