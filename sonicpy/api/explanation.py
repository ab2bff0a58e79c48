"""Explanation: the reasons for the answer of a query: language, words, their substitutes, score of each object.

It is plain data: `to_json` and `from_json` carry it over a connection, `str` shows it in a terminal.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from sonicpy.api.html import html_table
from sonicpy.bucket_names import in_bucket
from sonicpy.filters.grouping import GroupKey
from sonicpy.rules import ADVICE, FIRST, NEWEST

HOW_GUESSED = {
    "given": "it was given",
    "short": "the text is too short to guess",
    "script": "its script decides",
    "letters": "guessed by its letters",
    "words": "guessed by its letters and its common words",
    "unknown": "its letters match no known language",
}


@dataclass(frozen=True, slots=True)
class DetectedLanguage:
    """The language of the query's text; it decides which of its words are stop words.

    Attributes:
        code: ISO 639-3; None: no language.
        how: "given", "short", "script", "letters", "words" or "unknown", as in HOW_GUESSED.
    """

    code: str | None
    how: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """The settings that decide which words a text has; `highlight` applies them to another text.

    Attributes:
        rules: the version of the rules that cut the bucket's texts into words; see `sonicpy.rules`.
    """

    compat: bool
    unicode_normalization: str
    diacritic_folding: bool
    stemming: bool
    special_patterns: bool
    split_special_patterns: bool
    rules: int = FIRST


@dataclass(frozen=True, slots=True)
class Alternate:
    """A substitute: a word that the query looked for in place of one of its own.

    Attributes:
        how: "form": it has the same stem, or differs only in accents; "completion": it begins with the query's word;
            "correction": it is some edits away; "spelling": it is the same word in another normal form; "synonym": it
            is a synonym in the rules of the collection.
        objects: the number of objects that hold it.
        kept: how many of them the query reads, see `Term.kept`.
        weight: its weight in a score; None: the ranking has no scores.
    """

    word: str
    how: str
    edits: int
    objects: int
    kept: int
    weight: float | None


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the query, in its normal form.

    Attributes:
        role: "required": an object must hold it, or a word in its place; "searched": it finds objects; "adds": it only
            adds to the score of objects that other words find; "left out": the query did not look for it; "refused": no
            object of the answer holds it, or a word in its place.
        why: the reason why it only adds, or was left out.
        objects: how many objects hold it.
        kept: how many of them the query reads: all, or the newest store.kv.retain_word_objects.
        weight: its weight in a score; None: the ranking has no scores, or the word was left out.
        alternates: the words that the query looked for in its place.
        exact_only: the reason why there are no alternates; None: there may be some.
        field: the named text in which alone it is searched, as in `title:word`; None: it is searched as the others.
    """

    word: str
    role: str
    why: str | None
    objects: int
    kept: int
    weight: float | None
    alternates: tuple[Alternate, ...]
    exact_only: str | None
    field: str | None = None


@dataclass(frozen=True, slots=True)
class ScorePart:
    """The part of one word in the score of an object.

    Attributes:
        term: the query's word.
        word: the word that the object holds: the query's word, or one in its place.
        times: how often the object holds it; 0: unknown.
        score: its part of the object's score; None: the ranking has no scores.
    """

    term: str
    word: str
    times: int
    score: float | None


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """An object that answers.

    Attributes:
        score: as in `Hit`: `base` and all parts together.
        how: the best way in which it was found: "whole" (every word or one of its forms, stop words aside; with bm25
            only), "exact" (some of them), "completion" or "correction"; "filter" if there is no text.
        base: the part of the score for that way; 0 if only words count.
        parts: the parts of the words, the largest ones.
        more: the number of further words that add to the score.
        more_score: the sum of the parts of these further words.
        likeness: the likeness of its vector and that of the query, from -1 to 1; None: one of them has no vector.
        meaning: the part of the score for `likeness`; for an object without a vector, the mean of the others. None: the
            query has no vector, or the object is after the first `depth`.
        bucket, group: as in `Hit`.
    """

    object: str
    score: float | None
    how: str
    base: float
    parts: tuple[ScorePart, ...]
    more: int
    more_score: float | None
    likeness: float | None = None
    meaning: float | None = None
    bucket: str | None = None
    group: GroupKey | None = None

    @property
    def shown(self) -> str:
        """The name of the object; with that of its bucket, if several were searched."""
        return self.object if self.bucket is None else in_bucket(self.bucket, self.object)


OF_FILTER = frozenset({"filter", "unfiltered", "unmet"})
"""The attributes of an explanation that its JSON has only for a query with a filter."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons for the answer of a query.

    Attributes:
        ranking: the setting search.ranking.
        objects: how many objects the bucket holds.
        terms: the words of the query.
        more_terms: the number of further words in the query.
        hits: the objects that answer, best first.
        total: the number of all objects that answer; with GROUP, that of all groups.
        whole: how many of them answer by words of the query or their forms, not only by completions or corrections;
            None: it is not known.
        unseen_words: whether some words are completed and corrected only after the next consolidation.
        notes: sentences about signs of the text whose meaning here differs from that elsewhere, or none.
        filter: the conditions that objects have to meet; None: there are none.
        unfiltered: how many objects would answer without the filter; None: there is no filter.
        unmet: the tags and names of values of the filter that no object has.
        buckets: the buckets that were searched as one; empty: only `bucket` was searched.
        group: the value of GROUP, whose groups have one hit each; None: there are no groups.
        fields: the named texts in which alone the words are searched; (): all texts.
    """

    collection: str
    bucket: str
    text: str
    ranking: str
    objects: int
    language: DetectedLanguage
    analysis: Analysis
    terms: tuple[Term, ...]
    more_terms: int
    hits: tuple[ExplainedHit, ...]
    total: int
    unseen_words: bool
    whole: int | None = None
    notes: tuple[str, ...] = ()
    filter: str | None = None
    unfiltered: int | None = None
    unmet: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
    group: str | None = None
    fields: tuple[str, ...] = ()

    @property
    def advice(self) -> list[str]:
        """Sentences about possible reasons for missing objects, and ways to find them."""
        return list(_advice(self))

    def to_json(self) -> str:
        """Return the explanation as one line of JSON in ASCII."""
        shown = asdict(self) | {"advice": self.advice}
        if not self.notes:
            del shown["notes"]
        for term in shown["terms"]:
            if term["field"] is None:
                del term["field"]
        for hit in shown["hits"]:
            if hit["meaning"] is None:  # older clients read it, too
                del hit["meaning"], hit["likeness"]
            if not self.buckets:
                del hit["bucket"]
            if self.group is None:
                del hit["group"]
        if self.filter is None:
            shown = {key: value for key, value in shown.items() if key not in OF_FILTER}
        if not self.buckets:
            del shown["buckets"]
        if not self.fields:
            del shown["fields"]
        if self.group is None:
            del shown["group"]
        return json.dumps(shown, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> "Explanation":
        """Return the explanation that `to_json` wrote. Raises ValueError if the text is not such JSON."""
        try:
            given: dict[str, Any] = json.loads(text)
            given.pop("advice", None)
            given["language"] = DetectedLanguage(**given["language"])
            given["analysis"] = Analysis(**given["analysis"])
            given["notes"] = tuple(given.get("notes", ()))
            given["buckets"] = tuple(given.get("buckets", ()))
            given["fields"] = tuple(given.get("fields", ()))
            given["terms"] = tuple(_term(term) for term in given["terms"])
            given["hits"] = tuple(
                ExplainedHit(**hit | {"parts": tuple(ScorePart(**part) for part in hit["parts"])})
                for hit in given["hits"]
            )
            given["unmet"] = tuple(given.get("unmet", ()))
            return cls(**given)
        except (AttributeError, KeyError, RecursionError, TypeError) as error:
            raise ValueError(f"this is not the JSON of an explanation: {error}") from error

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        """Return tables for notebooks."""
        words = html_table(
            ("word", "role", "objects", "weight", "in its place"),
            [(term.word, _role(term), term.objects, term.weight, ", ".join(_others(term))) for term in self.terms],
        )
        hits = html_table(
            ("object", "found", "score", "by word"),
            [(hit.shown, hit.how, hit.score, "; ".join(_sums(hit))) for hit in self.hits],
        )
        advice = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.advice)
        head = f"{_language(self)}; {_answers(self)}."
        return f"<p>{escape(head)}</p>{words}{hits}{f'<ul>{advice}</ul>' if advice else ''}"


def _term(given: dict[str, Any]) -> Term:
    return Term(**given | {"alternates": tuple(Alternate(**other) for other in given["alternates"])})


# -- what to do about it ------------------------------------------------------------------------------------------


def _advice(explained: Explanation) -> Iterator[str]:
    if not explained.objects:
        yield (
            f"Bucket {explained.bucket} of collection {explained.collection} holds nothing: "
            "names are compared letter by letter, and texts must be pushed first."
        )
        return
    if explained.analysis.rules < NEWEST and not explained.analysis.compat:
        yield (
            f"The bucket has the rules {explained.analysis.rules} of an older version, by which emoji, m2 for m² and "
            f"digits of other scripts are not found: {ADVICE}."
        )
    yield from _advice_on_filter(explained)
    if not explained.terms:
        if explained.text.strip() or explained.filter is None:
            yield "The text holds no word: only letters and digits make words."
        return
    yield from _advice_on_words(explained)
    meant = sum(hit.meaning is not None for hit in explained.hits)
    if meant:
        yield "The vector puts the first objects that words find in order; it finds none itself."
    if explained.total:
        return
    required = [term for term in explained.terms if term.role == "required"]
    if len(required) > 1 and all(term.kept or term.alternates for term in required):
        newest = ": the ranking newest needs all of them, bm25 also finds objects that hold some"
        yield f"No object holds all required words{newest if explained.ranking == 'newest' else ''}."
    if explained.unseen_words:
        yield (
            "Some words were pushed after the last consolidation; they are completed and corrected after the next one "
            "(TRIGGER consolidate), or at once with search.live_words = true."
        )


def _advice_on_filter(explained: Explanation) -> Iterator[str]:
    if explained.filter is None:
        return
    if explained.unfiltered and not explained.total:
        answer = "1 object answers" if explained.unfiltered == 1 else f"{explained.unfiltered} objects answer"
        yield f"{answer} without the filter {shortened(explained.filter)}, which lets none pass."
    for name in explained.unmet:
        yield f"No object has {shortened(name)}."


def _advice_on_words(explained: Explanation) -> Iterator[str]:
    dropped = [term.word for term in explained.terms if term.role == "left out" and term.why == DROPPED]
    if dropped:
        yield (
            f"Stop words of {explained.language.code or 'the settings'} are left out of texts and queries "
            f"({_listed(dropped)}): give LANG to name the language, LANG(none) to keep every word, or set "
            'stopwords.mode = "weigh".'
        )
    for term in explained.terms:
        if term.role in ("left out", "refused"):
            continue
        if not term.objects and not term.alternates:
            must = ", and an object must hold it" if term.role == "required" else ""
            fields = explained.fields if term.field is None else (term.field,)
            reason = f"; {term.exact_only}" if term.exact_only and not fields else ""
            inside = f" in the field {' or '.join(fields)}" if fields else ""
            yield f"No object holds {shortened(term.word)!r}{inside}{must}{reason}."
        elif term.kept < term.objects:
            yield (
                f"{term.objects} objects hold {shortened(term.word)!r}; it finds only the newest {term.kept} of them "
                "(store.kv.retain_word_objects)."
            )


def _listed(words: list[str]) -> str:
    shown = ", ".join(words[:5])
    return f"{shown} and {len(words) - 5} more" if len(words) > 5 else shown


DROPPED = "a stop word; the settings drop them"
WORD_SHOWN = 64
"""The most characters of a long word that are shown."""


def shortened(word: str) -> str:
    """Return a word, or only the beginning of a very long one."""
    return word if len(word) <= WORD_SHOWN else f"{word[:WORD_SHOWN]}..."


# -- how it looks -------------------------------------------------------------------------------------------------


def _lines(explained: Explanation) -> Iterator[str]:
    yield f"{_language(explained)}."
    if explained.terms:
        yield "words:"
    width = max((len(shortened(term.word)) for term in explained.terms), default=0)
    for term in explained.terms:
        weight = "" if term.weight is None else f", weight {_number(term.weight)}"
        yield f"  {shortened(term.word):{width}}  {_role(term)}: {_objects(term)}{weight}"
        for other in _others(term):
            yield f"  {'':{width}}  {other}"
    if explained.more_terms:
        yield f"  and {explained.more_terms} more words"
    yield f"{_answers(explained)}{':' if explained.hits else '.'}"
    for place, hit in enumerate(explained.hits, 1):
        score = "" if hit.score is None else f", score {_number(hit.score)}"
        yield f"  {place}. {hit.shown}  found {WAYS.get(hit.how, hit.how)}{score}"
        for line in _sums(hit):
            yield f"       {line}"
    yield from explained.notes
    yield from explained.advice


def _language(explained: Explanation) -> str:
    language = explained.language
    return f"language: {language.code or 'none'} ({HOW_GUESSED.get(language.how, language.how)})"


def _answers(explained: Explanation) -> str:
    whole = "" if explained.whole in (None, explained.total) else f", {explained.whole} of them by whole words"
    if explained.group is not None:
        return f"{explained.total} groups by {explained.group} of {explained.objects} objects answer{whole}"
    return f"{explained.total} of {explained.objects} objects answer{whole}"


def _role(term: Term) -> str:
    return term.role if term.why is None else f"{term.role} ({term.why})"


def _objects(item: Term | Alternate) -> str:
    objects = "1 object" if item.objects == 1 else f"{item.objects} objects"
    return objects if item.kept == item.objects else f"{objects}, the newest {item.kept} found"


def _others(term: Term) -> list[str]:
    return [
        f"{other.how} {shortened(other.word)}{f' ({other.edits} edits)' if other.edits > 1 else ''}: {_objects(other)}"
        + ("" if other.weight is None else f", weight {_number(other.weight)}")
        for other in term.alternates
    ]


def _sums(hit: ExplainedHit) -> list[str]:
    """Return the parts of a score, as lines."""
    sums = [f"{_number(hit.base)} for being found {WAYS.get(hit.how, hit.how)}"] if hit.base else []
    for part in hit.parts:
        score = "" if part.score is None else f"{_number(part.score)} "
        times = f" {part.times} times" if part.times > 1 else ""
        stands = "" if part.word == part.term else f" for {part.term}"
        sums.append(f"{score}{part.word}{stands}{times}")
    if hit.meaning is not None:
        alike = "without a vector, the mean of the others" if hit.likeness is None else f"likeness {hit.likeness:.4f}"
        sums.append(f"{_number(hit.meaning)} for its vector ({alike})")
    if hit.more:
        sums.append(f"{'' if hit.more_score is None else f'{_number(hit.more_score)} '}{hit.more} more words")
    return sums


WAYS = {
    "whole": "with every word",
    "exact": "exactly",
    "completion": "by a completion",
    "correction": "by a correction",
    "filter": "by the filter",
}


def _number(number: float | None) -> str:
    return "" if number is None else f"{number:.4f}"
