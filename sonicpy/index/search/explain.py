"""EXPLAIN: the answer of a query with the plan that led to it, as an Explanation.

Invariant: hits, order, scores and total are those of `query_hits`: the same ranking makes plan and table.
"""

from typing import NamedTuple

from sonicpy._native.plan import Plan, PlannedList
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import SPECIAL, STOP, Terms
from sonicpy.api.explanation import (
    DROPPED,
    Alternate,
    Analysis,
    DetectedLanguage,
    ExplainedHit,
    Explanation,
    Part,
    Term,
    shortened,
)
from sonicpy.config import Config
from sonicpy.index.search.expansion import edits_allowed
from sonicpy.index.search.families import Matching
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.plan import NO_BUDGET, NOTHING_LEFT_OUT, lists_by_term, why_not_expanded
from sonicpy.index.search.query import WHOLLY, share_of_best, shown_score
from sonicpy.index.search.ranking import RANKINGS, Answer
from sonicpy.index.search.walk import Parts, Walk
from sonicpy.search import Search

TERMS_SHOWN = 100
ALTERNATES_SHOWN = 20
PARTS_SHOWN = 10
"""Bounds that keep an explanation's line below about 100 KB, however long the query is."""

STOP_WORD = "a stop word of the language"
SINGLE_LETTER = "a single letter of a run without blanks"
STOPS_DROPPED = "it is a stop word, which PUSH drops unless LANG(none) is given (stopwords.mode)"
SHORT = "words of fewer than four letters are completed, not corrected, and no word begins with it"
UNLIKE = "no word begins with it, and no word is few enough edits away"
HOWS = ("whole", "exact", "completion", "correction")
EXACT = 1


class Analysed(NamedTuple):
    """A search after the analysis of its text.

    Attributes:
        terms: the terms to look for.
        dropped: the stop words that the settings drop.
        stops: those of the terms that are on a list of stop words.
        matching: how words lead to families; None: no word has one.
    """

    search: Search
    language: DetectedLanguage
    terms: Terms
    dropped: list[bytes]
    stops: frozenset[bytes]
    matching: Matching | None = None


def explain(analysed: Analysed, lexicon: Lexicon | None, config: Config) -> Explanation:
    """Return the answer of a query and the reasons for it; `lexicon` is None for a bucket that does not exist."""
    plan = Plan([], NOTHING_LEFT_OUT, None)
    hits: tuple[ExplainedHit, ...] = ()
    total = 0
    if lexicon is not None and len(analysed.terms):
        plan, answer = RANKINGS[config.search.ranking](lexicon, analysed.terms, config, analysed.matching)
        hits, total = _hits(analysed, lexicon, answer, config.search.ranking), answer.total()
    state = None if lexicon is None else lexicon.reader.state
    return Explanation(
        collection=analysed.search.collection,
        bucket=analysed.search.bucket,
        text=analysed.search.text,
        ranking=config.search.ranking,
        objects=0 if state is None else state.objects,
        language=analysed.language,
        analysis=analysis(config),
        terms=_terms(analysed, plan, config)[:TERMS_SHOWN],
        more_terms=max(0, len(analysed.terms) + len(analysed.dropped) - TERMS_SHOWN),
        hits=hits,
        total=total,
        unseen_words=state is not None and not config.search.live_words and state.pending_seq > state.graph_seq,
    )


def analysis(config: Config) -> Analysis:
    """Return the settings that decide which words a text has."""
    normalization, tokenization = config.normalization, config.tokenization
    return Analysis(
        compat=config.server.compat == "sonic",
        unicode_normalization=normalization.unicode_normalization,
        diacritic_folding=normalization.diacritic_folding_enabled,
        stemming=normalization.stemming_enabled,
        special_patterns=tokenization.detect_special_patterns,
        split_special_patterns=tokenization.compat_split_special_patterns,
    )


def _terms(analysed: Analysed, plan: Plan, config: Config) -> tuple[Term, ...]:
    lists = lists_by_term(plan)
    shown = range(min(len(analysed.terms), TERMS_SHOWN))
    left_out = analysed.dropped[:TERMS_SHOWN]
    dropped = [Term(word.decode(), "left out", DROPPED, 0, 0, None, (), None) for word in left_out]
    return (*(_term(analysed, number, lists.get(number, []), plan, config) for number in shown), *dropped)


def _term(analysed: Analysed, number: int, lists: list[PlannedList], plan: Plan, config: Config) -> Term:
    word, flags = analysed.terms.words[number], analysed.terms.flags[number]
    exact = next((one for one in lists if one.how == "exact"), None)
    others = [one for one in lists if one.word != word and one.row is not None]
    row = None if exact is None else exact.row
    is_scored = config.search.ranking != "newest"
    role, why = _role(analysed, number, exact, plan, config.search.ranking)
    exact_only = None
    if not others and exact is not None:
        is_dropped = word in analysed.stops and config.stopwords.mode == "drop"
        why_not = why_not_expanded(plan, exact, flags, only_stops=all(each & STOP for each in analysed.terms.flags))
        exact_only = STOPS_DROPPED if is_dropped else why_not or _why_no_expansion(word, config)
    return Term(
        word=word.decode(),
        role=role,
        why=why,
        objects=row.df if row else 0,
        kept=_kept(row, config) if row else 0,
        weight=_weight(exact) if exact is not None and is_scored else None,
        alternates=tuple(_alternate(other, is_scored) for other in others[:ALTERNATES_SHOWN]),
        exact_only=exact_only,
    )


def _weight(exact: PlannedList) -> float:
    """Return the weight of a word as typed: where it has a family, of both its parts."""
    return exact.family_weight + exact.exact_weight if exact.family_weight else exact.weight


def _kept(row: TermInfo, config: Config) -> int:
    """Return how many objects a word finds."""
    window = config.store.kv.retain_word_objects
    return min(row.df, window) if window else row.df


def _role(
    analysed: Analysed, number: int, exact: PlannedList | None, plan: Plan, ranking: str
) -> tuple[str, str | None]:
    """Return the role of a term, and the reason for it if the term finds no objects by itself."""
    if exact is None:
        if number in plan.left_out:
            return "left out", plan.left_out[number]
    elif not exact.inserts:
        return "adds", STOP_WORD if analysed.terms.words[number] in analysed.stops else SINGLE_LETTER
    elif exact.required:
        return "required", None
    if ranking == "newest" or (ranking == "sonic" and any(each & SPECIAL for each in analysed.terms.flags)):
        return "required", None
    return "searched", None


def _alternate(other: PlannedList, is_scored: bool) -> Alternate:
    row = other.row
    assert row is not None
    how = "spelling" if other.how == "exact" else other.how
    return Alternate(other.word.decode(), how, other.edits, row.df, row.df, other.weight if is_scored else None)


def _why_no_expansion(word: bytes, config: Config) -> str:
    if config.search.query_alternates_try == 0:
        return NO_BUDGET
    return UNLIKE if edits_allowed(len(word.decode())) else SHORT


# -- hits ---------------------------------------------------------------------------------------------------------


def _hits(analysed: Analysed, lexicon: Lexicon, answer: Answer, ranking: str) -> tuple[ExplainedHit, ...]:
    best = answer.best(0, analysed.search.limit)
    iids = [iid for iid, _, _ in best]
    parts = answer.parts(iids, PARTS_SHOWN)
    return tuple(
        _hit(analysed, answer, oid, kind, score, part, ranking != "newest")
        for oid, (_, kind, score), part in zip(lexicon.reader.oids(iids), best, parts, strict=True)
    )


def _hit(
    analysed: Analysed, answer: Answer, oid: str, kind: int, score: float, parts: Parts, is_scored: bool
) -> ExplainedHit:
    named, more, more_score = parts
    is_tiered = is_scored and isinstance(answer, Walk)

    def shown(score: float) -> float | None:
        if not is_scored:
            return None
        return share_of_best(answer, score) if isinstance(answer, Walk) else score

    if not is_tiered:  # only bm25 tells the kinds apart
        kind = min((EXACT if one.is_form else HOWS.index(one.how) for one, _, _ in named), default=EXACT)
    return ExplainedHit(
        object=oid,
        score=shown_score(answer, kind, score) if is_scored else None,
        how=HOWS[kind],
        base=float(WHOLLY - kind) if is_tiered else 0.0,
        parts=tuple(
            Part(_shown(analysed.terms.words[one.term]), _shown(one.word), times, shown(score))
            for one, times, score in named
        ),
        more=more,
        more_score=shown(more_score),
    )


def _shown(word: bytes) -> str:
    return shortened(word.decode())
