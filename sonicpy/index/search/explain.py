"""EXPLAIN: the answer of a query with the plan that led to it, as an Explanation.

Invariant: hits, order, scores and total are those of `query_hits`: the same planner makes the plan, and the same part
carries it out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sonicpy._native.expansions import edits_allowed
from sonicpy._native.plan import BRINGS, FORBIDDEN, REQUIRED, Clause, Plan, Slot
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import SPECIAL, STOP, Terms
from sonicpy._native.varint import pack_varints
from sonicpy.api.explanation import (
    DROPPED,
    Alternate,
    Analysis,
    DetectedLanguage,
    ExplainedHit,
    Explanation,
    ScorePart,
    Term,
    shortened,
)
from sonicpy.index.search.demands import asks_nothing, demands_of
from sonicpy.index.search.fields import plain_plan, searched_fields, shown_times, shown_word
from sonicpy.index.search.grouped import best_by_score as best_of_groups
from sonicpy.index.search.grouped import check_grouped, grouped_by_filter
from sonicpy.index.search.how import HowFound
from sonicpy.index.search.likeness import Meant
from sonicpy.index.search.masks import everybody
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.meaning import find_meant
from sonicpy.index.search.parts import WHOLLY, MadeOf, Word, bind, find, named_together, share_of
from sonicpy.index.search.plan import AS_TYPED, NO_BUDGET, NOTHING_LEFT_OUT, alternatives_of, why_not_expanded
from sonicpy.index.search.ranking import AnyLexicon, FoundPart, carry_out, check_together, count_whole, find_by
from sonicpy.index.search.refine import PASSING_ALL, check_ranking, condition_of, passing_of
from sonicpy.index.search.several import SeveralParts, UnitedLexicon, parts_of
from sonicpy.index.search.web_syntax import notes_of
from sonicpy.rules import FIRST
from sonicpy.search import Search
from sonicpy.store.rows.named_words import is_named, is_whole, plain_word

if TYPE_CHECKING:
    from sonicpy.config import Config

TERMS_SHOWN = 100
ALTERNATES_SHOWN = 20
PARTS_SHOWN = 10
"""The most parts of a score that are shown. The limits keep the line of an explanation below about 100 KB."""

STOP_WORD = "a stop word of the language"
SINGLE_LETTER = "a single letter of a run without blanks"
STOPS_DROPPED = "it is a stop word, which PUSH drops unless LANG(none) is given (stopwords.mode)"
SHORT = (
    "words of fewer than four letters are completed, and corrected only by a swap in three, and no word begins with it"
)
UNLIKE = "no word begins with it, and no word is few enough edits away"
HOWS = ("whole", "exact", "completion", "correction")
EXACT = 1


class Analysed(NamedTuple):
    """A search after the analysis of its text.

    Attributes:
        terms: the terms to look for.
        dropped: the stop words that the settings drop.
        stops: the terms that are on a list of stop words.
        matching: leads words to their families; None: no word has a family.
        rules: the version of the rules that cut the text, and the texts of the bucket, into words.
        fields: the names of texts that signs may name.
    """

    search: Search
    language: DetectedLanguage
    terms: Terms
    dropped: list[bytes]
    stops: frozenset[bytes]
    matching: Matching | None = None
    rules: int = FIRST
    fields: frozenset[str] = frozenset()


def explain(analysed: Analysed, lexicon: AnyLexicon | None, config: "Config") -> Explanation:
    """Return the answer of a query and the reasons for it; `lexicon` is None for a bucket that does not exist."""
    plan = Plan([], 0.0, 0.0, full_first=False, left_out=NOTHING_LEFT_OUT, enough=None)
    hits: tuple[ExplainedHit, ...] = ()
    total, whole, unfiltered = 0, None, None
    passing = PASSING_ALL if lexicon is None else passing_of(lexicon, analysed.search, config)
    rows: dict[bytes, TermInfo] = {}
    states = [] if lexicon is None else [part.reader.state for part in parts_of(lexicon)]
    if lexicon is not None and not asks_nothing(analysed.terms):
        limit = analysed.search.limit
        search, meant = analysed.search, None
        part: FoundPart
        grouped = None
        if search.group is not None:
            check_grouped(search, config)
            asked = search._replace(total=True)
            grouped = best_of_groups(lexicon, analysed.terms, config, asked, analysed.matching, limit)
            plan, part, meant = grouped.plan, grouped.part, grouped.meant
        elif search.vector is None:
            plan, part = carry_out(
                lexicon, analysed.terms, config, analysed.matching, limit, total=True, masks=passing.masks
            )
        else:
            meant = find_meant(lexicon, analysed.terms, config, search._replace(total=True), analysed.matching)
            plan, part = meant.plan, meant.part
        hits, total = _hits(analysed, plan, part, config.search.ranking, meant), part.total or 0
        whole = count_whole(lexicon, plan, part, config, passing.masks) if grouped is None else grouped.whole
        if grouped is not None:
            hits = tuple(replace(hit, group=key) for hit, key in zip(hits, grouped.keys, strict=True))
        rows = _rows(plan, lexicon)
        if passing.masks is not None:
            unfiltered = find_by(plan, lexicon, 0, config.store.kv.retain_word_objects, total=True).total
    elif lexicon is not None and analysed.search.is_refined and not analysed.search.has_words:
        check_ranking(config)
        check_together(lexicon, config)
        hits, total = _hits_by_filter(lexicon, analysed.search)
        unfiltered = None if passing.masks is None else sum(state.objects for state in states)
    return Explanation(
        collection=analysed.search.collection,
        bucket=analysed.search.bucket,
        text=analysed.search.text,
        ranking=config.search.ranking,
        objects=sum(state.objects for state in states),
        language=analysed.language,
        analysis=analysis(config, analysed.rules),
        terms=_terms(analysed, plain_plan(plan), rows, config)[:TERMS_SHOWN],
        more_terms=max(0, len(analysed.terms) + len(analysed.dropped) - TERMS_SHOWN),
        hits=hits,
        total=total,
        whole=whole,
        notes=notes_of(
            analysed.search.text, analysed.search.syntax, analysed.fields, _unordered(lexicon), analysed.search.phrase
        ),
        filter=analysed.search.filter,
        group=analysed.search.group,
        unfiltered=unfiltered,
        unmet=passing.unmet,
        unseen_words=not config.search.live_words and any(state.pending_seq > state.graph_seq for state in states),
        buckets=tuple(lexicon.names) if isinstance(lexicon, UnitedLexicon) else (),
        fields=searched_fields(analysed.terms),
    )


def _unordered(lexicon: AnyLexicon | None) -> int | None:
    if lexicon is None:
        return None
    from sonicpy.index.search.phrases import unordered  # noqa: PLC0415  loaded when it is needed

    return unordered(part.reader for part in parts_of(lexicon))


def analysis(config: "Config", rules: int = FIRST) -> Analysis:
    """Return the settings that decide the words of a text, and the version of the rules."""
    normalization, tokenization = config.normalization, config.tokenization
    return Analysis(
        compat=config.server.compat == "sonic",
        unicode_normalization=normalization.unicode_normalization,
        diacritic_folding=normalization.diacritic_folding_enabled,
        stemming=normalization.stemming_enabled,
        special_patterns=tokenization.detect_special_patterns,
        split_special_patterns=tokenization.compat_split_special_patterns,
        rules=rules,
    )


def _rows(plan: Plan, lexicon: AnyLexicon) -> dict[bytes, TermInfo]:
    """Return the rows of the words of a plan; several words that replace a term together have one row, under their
    text.
    """
    words = plan.words()
    has_named = any(map(is_named, words))
    if not has_named:
        rows = lexicon.rows(words)
    elif isinstance(lexicon, UnitedLexicon):
        rows = lexicon.named_rows(words)
    else:
        rows = lexicon.reader.with_texts.words(words)
    found: dict[bytes, TermInfo] = {}
    inside: dict[bytes, list[bytes]] = {}
    for word, row in zip(words, rows, strict=True):
        if row is not None:
            found.setdefault(plain_word(word), row)
            inside.setdefault(plain_word(word), []).append(word)
    for word, terms in inside.items():
        if len(terms) > 1 and word not in terms:  # an object may hold the word in several named texts
            found[word] = _row_of(Slot(tuple(terms), 0.0), word, lexicon) or found[word]
    for slot in {slot.words: slot for clause in plan.clauses for slot in clause.slots if slot.together}.values():
        text = named_together(slot)[0]
        together = _row_of(slot, text, lexicon)
        if together is not None:
            found[text] = together
    return found


def _row_of(slot: Slot, shown: bytes, lexicon: AnyLexicon) -> TermInfo | None:
    """Return a row for the objects that hold a slot, as if it were one word; None: no object does."""
    alone = Plan([Clause(0, BRINGS, 0.0, [slot])], 1.0, 0.0, full_first=False, left_out={}, enough=None)
    holders = sum(find(bind(alone, part.reader), 0, total=True).total or 0 for part in parts_of(lexicon))
    return TermInfo(pack_varints((0, holders, 0, 0)), len(shown)) if holders else None


def _terms(analysed: Analysed, plan: Plan, rows: dict[bytes, TermInfo], config: "Config") -> tuple[Term, ...]:
    clauses = _clauses(plan, analysed.terms)
    shown = range(min(len(analysed.terms), TERMS_SHOWN))
    left_out = analysed.dropped[:TERMS_SHOWN]
    dropped = [Term(word.decode(), "left out", DROPPED, 0, 0, None, (), None) for word in left_out]
    demands = demands_of(analysed.terms)
    inside = {} if demands is None else dict(demands.inside)
    refused = (
        _refused(clause, inside.get(clause.term), rows, config) for clause in plan.clauses if clause.role & FORBIDDEN
    )
    asked = (_term(analysed, number, clauses.get(number), inside.get(number), plan, rows, config) for number in shown)
    return (*asked, *refused, *dropped)


def _refused(clause: Clause, field: str | None, rows: dict[bytes, TermInfo], config: "Config") -> Term:
    """Return a word that no object of the answer may hold, with the words that it represents."""
    typed = clause.slots[0].words[0]
    row = rows.get(typed)
    others = [other for slot in clause.slots for other in _alternates(typed, slot, rows, is_scored=False)]
    df, kept = (row.df, _kept(row, config)) if row else (0, 0)
    return Term(typed.decode(), "refused", None, df, kept, None, tuple(others[:ALTERNATES_SHOWN]), None, field)


def _clauses(plan: Plan, terms: Terms) -> dict[int, Clause]:
    """Return one clause for each term, by the number of the term. The several clauses of a word that may be written
    apart, of a run without blanks, or of an alternative are joined.
    """
    found: dict[int, Clause] = {}
    asked = {word: number for number, word in enumerate(terms.words)}
    alternatives: dict[int, Clause] = {}
    for clause in (one for joined in plan.clauses for one in alternatives_of(joined)):
        if clause.role & FORBIDDEN:
            continue
        for slot in clause.slots[1:]:
            number = asked.get(slot.words[0], clause.term) if slot.how == "exact" else clause.term
            if number != clause.term:
                alternatives[number] = Clause(number, clause.role, slot.weight, [slot], holders=clause.holders)
        first = found.get(clause.term)
        if first is None:
            found[clause.term] = clause
            continue
        slots = first.slots + clause.slots
        if first.slots[0].words == clause.slots[0].words:
            one, other = first.slots[0], clause.slots[0]
            whole = Slot(one.words, one.weight + other.weight, one.exact_weight + other.exact_weight)
            slots = [whole, *first.slots[1:], *clause.slots[1:]]
        found[clause.term] = Clause(
            clause.term, first.role, first.weight, slots, is_expandable=first.is_expandable, holders=first.holders
        )
    return {**alternatives, **found}


def _distinct(alternates: Iterator[Alternate]) -> list[Alternate]:
    """Return alternates without repeated words."""
    found: dict[str, Alternate] = {}
    for each in alternates:
        found.setdefault(each.word, each)
    return list(found.values())


def _term(
    analysed: Analysed,
    number: int,
    clause: Clause | None,
    field: str | None,
    plan: Plan,
    rows: dict[bytes, TermInfo],
    config: "Config",
) -> Term:
    word, flags = analysed.terms.words[number], analysed.terms.flags[number]
    slots = [] if clause is None else [slot for slot in clause.slots if not _is_other(slot, word, analysed.terms)]
    exact = slots[0] if slots and slots[0].how == "exact" else None
    is_scored = config.search.ranking != "newest"
    alternates = _distinct(each for slot in slots for each in _alternates(word, slot, rows, is_scored=is_scored))
    row = None if exact is None else rows.get(word)
    role, why = _role(analysed, number, None if exact is None else clause, plan, config.search.ranking)
    exact_only, demands = None, demands_of(analysed.terms)
    if not alternates and exact is not None and clause is not None:
        is_dropped = word in analysed.stops and config.stopwords.mode == "drop"
        only_stops = all(each & STOP for each in analysed.terms.flags)
        why_not = why_not_expanded(plan, clause, flags, row.df if row else 0, only_stops=only_stops)
        exact_only = STOPS_DROPPED if is_dropped else why_not or _why_no_expansion(word, config)
        if demands is not None and number in demands.signed():
            exact_only = AS_TYPED
    return Term(
        word=word.decode(),
        role=role,
        why=why,
        objects=row.df if row else 0,
        kept=_kept(row, config) if row else 0,
        weight=exact.weight + exact.exact_weight if exact is not None and is_scored else None,
        alternates=tuple(alternates[:ALTERNATES_SHOWN]),
        exact_only=exact_only,
        field=field,
    )


def _is_other(slot: Slot, typed: bytes, terms: Terms) -> bool:
    """Return whether a slot is for a word of the query other than `typed`: an alternative."""
    return slot.how == "exact" and slot.words[0] != typed and slot.words[0] in terms.words


def _kept(row: TermInfo, config: "Config") -> int:
    """Return how many objects a word finds."""
    window = config.store.kv.retain_word_objects
    return min(row.df, window) if window else row.df


def _role(analysed: Analysed, number: int, clause: Clause | None, plan: Plan, ranking: str) -> tuple[str, str | None]:
    """Return the role of a term, and the reason for it if the term finds no objects by itself.

    Args:
        number: the number of the term.
        clause: the clause of the term; None: the plan has no clause for it.
        ranking: the value of search.ranking.
    """
    if clause is None:
        if number in plan.left_out:
            return "left out", plan.left_out[number]
    elif not clause.role & BRINGS:
        return "adds", STOP_WORD if analysed.terms.words[number] in analysed.stops else SINGLE_LETTER
    elif clause.role & REQUIRED:
        return "required", None
    if ranking == "newest" or (ranking == "sonic" and any(each & SPECIAL for each in analysed.terms.flags)):
        return "required", None
    return "searched", None


def _alternates(typed: bytes, slot: Slot, rows: dict[bytes, TermInfo], *, is_scored: bool) -> Iterator[Alternate]:
    """Yield the words of a slot, other than the typed one, that objects hold, with a weight if `is_scored`."""
    for word in named_together(slot)[:1] if slot.together else slot.words:
        row = rows.get(word)
        if row is not None and word != typed:
            how = slot.how if slot.how != "exact" else "form" if word != slot.words[0] else "spelling"
            yield Alternate(word.decode(), how, slot.edits, row.df, row.df, slot.weight if is_scored else None)


def _why_no_expansion(word: bytes, config: "Config") -> str:
    if config.search.query_alternates_try == 0:
        return NO_BUDGET
    return UNLIKE if edits_allowed(len(word.decode())) else SHORT


# -- hits ---------------------------------------------------------------------------------------------------------


def _hits(
    analysed: Analysed, plan: Plan, part: FoundPart, ranking: str, meant: Meant | None
) -> tuple[ExplainedHit, ...]:
    if meant is not None:
        return _meant_hits(analysed, plan, meant)
    best: Any  # objects of one bucket, or of several
    names, best = part.page(0, analysed.search.limit)
    hits = _hits_of(analysed, plan, part, ranking, names, best)
    if isinstance(part, SeveralParts):
        return tuple(replace(hit, bucket=its) for hit, its in zip(hits, part.buckets(best), strict=True))
    return hits


def _hits_by_filter(lexicon: AnyLexicon, search: Search) -> tuple[tuple[ExplainedHit, ...], int]:
    """Return the objects that answer a filter without a text, and the number of all."""
    if search.group is not None:
        found = grouped_by_filter(lexicon, search)
        buckets: Sequence[str | None] = found.buckets or [None] * len(found)
        rows = zip(found.objects, buckets, found.groups or (), strict=True)
        made = (
            ExplainedHit(name, None, "filter", 0.0, (), 0, None, bucket=bucket, group=key) for name, bucket, key in rows
        )
        return tuple(made), found.total or 0
    names = lexicon.names if isinstance(lexicon, UnitedLexicon) else [None]
    hits: list[ExplainedHit] = []
    total = 0
    for bucket, part in zip(names, parts_of(lexicon), strict=True):
        everyone = everybody(part.reader, condition_of(search.filter))
        objects = part.reader.oids(everyone.newest(search.limit - len(hits)))
        hits += [ExplainedHit(name, None, "filter", 0.0, (), 0, None, bucket=bucket) for name in objects]
        total += everyone.total()
    return tuple(hits), total


def _meant_hits(analysed: Analysed, plan: Plan, meant: Meant) -> tuple[ExplainedHit, ...]:
    """Return the hits with the part that the vector has in their scores."""
    best: Any = meant.found[: analysed.search.limit]
    hits = _hits_of(analysed, plan, meant.part, "bm25", meant.part.names(best), best)
    if isinstance(meant.part, SeveralParts):
        hits = tuple(replace(hit, bucket=its) for hit, its in zip(hits, meant.part.buckets(best), strict=True))
    likeness = {place: each for (place, _, _), each in zip(meant.found, meant.order.likeness, strict=False)}
    return tuple(
        replace(hit, score=score, likeness=each.cosine, meaning=each.added) if (each := likeness.get(place)) else hit
        for hit, (place, _, _), score in zip(hits, best, meant.order.scores, strict=False)
    )


def _hits_of(
    analysed: Analysed, plan: Plan, part: FoundPart, ranking: str, names: list[str], best: Sequence[Any]
) -> tuple[ExplainedHit, ...]:
    made_of = part.parts([place for place, _, _ in best], PARTS_SHOWN)
    ceiling = plan.ceiling if ranking == "bm25" else None
    found = HowFound(plan, analysed.terms)
    return tuple(
        _hit(found, oid, kind, score, parts, ceiling, is_scored=ranking != "newest")
        for oid, (_, kind, score), parts in zip(names, best, made_of, strict=True)
    )


def _hit(
    found: HowFound, oid: str, kind: int, score: float, made_of: MadeOf, ceiling: float | None, *, is_scored: bool
) -> ExplainedHit:
    """Return an object of the answer with the parts of its score.

    Args:
        ceiling: the highest score of the plan; None: the ranking does not distinguish kinds of matches.
        is_scored: whether the ranking has scores.
    """
    named, more, more_score = made_of

    def shown(score: float) -> float | None:
        if not is_scored:
            return None
        return score if ceiling is None else share_of(score, ceiling)

    if ceiling is None:
        kind = min(
            (EXACT if one.how in ("form", "synonym") else HOWS.index(one.how) for one, _, _ in named), default=EXACT
        )
    base = 0.0 if ceiling is None else float(WHOLLY - kind)
    score_shown = shown(score)
    return ExplainedHit(
        object=oid,
        score=None if score_shown is None else base + score_shown,
        how=HOWS[kind],
        base=base,
        parts=tuple(
            ScorePart(
                _shown_typed(found, one), _shown(shown_word(one.word)), shown_times(one.word, times), shown(score)
            )
            for one, times, score in named
        ),
        more=more,
        more_score=shown(more_score),
    )


def _shown_typed(found: HowFound, one: Word) -> str:
    """Return the word of the query that a word of the plan represents; if that word is a whole named text, the whole
    query.
    """
    own = plain_word(one.word)
    return _shown(own[1:].replace(b"\1", b" ") if is_whole(own) else found.typed(one))


def _shown(word: bytes) -> str:
    return shortened(word.decode())
