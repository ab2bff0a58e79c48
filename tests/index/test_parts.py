"""Plans of random clauses, executed by one bucket and by several: both find the same objects as a check of each
object.
"""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy._native.bm25 import BM25_B, BM25_K1
from sonicpy._native.plan import ADDS, BRINGS, FORBIDDEN, REQUIRED, Clause, Plan, Slot
from sonicpy.index.index import Index
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.parts import Page, Part, RemotePart, bind, find, merge
from sonicpy.index.search.plan import of_plain, to_plain
from sonicpy.index.search.planners.bm25 import plan_bm25
from sonicpy.index.search.sketch import sketch_query
from sonicpy.index.search.statistics import SummedStatistics
from sonicpy.options import LIMIT_CEILING
from tests.reference.top_objects import Slot as SlowSlot
from tests.reference.top_objects import Term, best_objects
from tests.support.examples import examples

C = "collection"
WHOLE = "whole"
BUCKETS = ("red", "green", "blue")
OBJECTS = 900
WORDS = [f"{first}{second}" for first in "abcdefgh" for second in "klmn"]
UNKNOWN = "unknown"
ROLES = (BRINGS,) * 6 + (BRINGS | REQUIRED, REQUIRED, REQUIRED, FORBIDDEN, ADDS)
KINDS = {"exact": 1, "completion": 2, "correction": 3}


class Corpus:
    """Objects in one bucket, and the same objects in several buckets, with their words."""

    def __init__(self, index: Index) -> None:
        self.index = index
        chance = random.Random(5)
        weights = [1 / (place + 1) for place in range(len(WORDS))]
        self.held: dict[str, Counter[str]] = {}
        for number in range(OBJECTS):
            words = chance.choices(WORDS, weights, k=chance.choice((1, 2, 3, 8, 30)))
            self.held[f"o{number}"] = Counter(words)
            for bucket in (WHOLE, chance.choice(BUCKETS[:2]) if number < 700 else BUCKETS[2]):
                index.push(C, bucket, f"o{number}", " ".join(words), "none")

    @contextmanager
    def read(self, bucket: str) -> Iterator[Lexicon]:
        """Read the words of a bucket."""
        with self.index.engine.read_words(C, bucket) as lexicon:
            assert lexicon is not None
            yield lexicon


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with sonicpy.open(tmp_path_factory.mktemp("parts") / "store") as index:
        yield Corpus(index)


def made_plan(chance: random.Random, average: float) -> Plan:
    """Yield the words of a bucket."""
    clauses = []
    for term in range(chance.randint(1, 5)):
        weight = chance.choice((0.0, 1.0, 1.0, chance.uniform(0.1, 8)))
        words = [chance.choice((*WORDS, UNKNOWN)).encode() for _ in range(chance.choice((1, 1, 1, 2, 3)))]
        family = tuple(dict.fromkeys(words))
        exact = 0.25 * weight if len(family) > 1 and chance.random() < 0.5 else 0.0
        slots = [Slot(family, weight - exact, exact)]
        for how in chance.choice(((), (), (), ("completion",), ("completion", "correction"))):
            slots.append(Slot((chance.choice(WORDS).encode(),), weight * 0.5, how=how, edits=int(how == "correction")))
        clauses.append(Clause(term, chance.choice(ROLES), weight, slots))
    exponent = chance.choice((0.0, 0.3, 1.0, 2.5))
    return Plan(clauses, average, exponent, full_first=chance.random() < 0.5, left_out={}, enough=None)


def slow_answer(corpus: Corpus, lexicon: Lexicon, plan: Plan) -> list[tuple[str, int, float]]:
    """Return (name, kind, score) of all objects that answer, best first, by checking each object."""
    names = lexicon.reader.oids(list(range(OBJECTS)))

    def postings(word: bytes) -> dict[int, int]:
        counts = ((iid, corpus.held[name][word.decode()]) for iid, name in enumerate(names))
        return {iid: count for iid, count in counts if count}

    terms = [
        Term(one.weight, one.role, [
            SlowSlot([postings(word) for word in slot.words], slot.weight, slot.exact_weight, KINDS[slot.how])
            for slot in one.slots
        ])
        for one in plan.clauses
    ]  # fmt: skip
    lengths = bytes(lexicon.reader.lengths())
    found = best_objects(terms, lengths, plan.average, BM25_K1, BM25_B, plan.exponent, plan.full_first)
    return [(names[iid], kind, score) for iid, kind, score in found]


def carried_out(lexicon: Lexicon, plan: Plan, wanted: int) -> Part:
    return find(bind(plan, lexicon.reader), wanted, total=True)


@given(st.integers(0, 2**32))
@settings(max_examples=examples(60), deadline=None)
def test_several_buckets_find_what_one_finds(corpus: Corpus, seed: int) -> None:
    chance = random.Random(seed)
    with corpus.read(WHOLE) as lexicon:
        plan = made_plan(chance, lexicon.average_length)
        wanted = slow_answer(corpus, lexicon, plan)
        one = merge([carried_out(lexicon, plan, LIMIT_CEILING)], plan, LIMIT_CEILING, 0)
        limit, offset = chance.choice((1, 10, 50)), chance.choice((0, 0, 3, 70))
        page = merge([carried_out(lexicon, plan, limit + offset)], plan, limit, offset)
        assert one.names == [name for name, _, _ in wanted] and one.total == len(wanted)
        assert (page.names, page.scores) == (one.names[offset : offset + limit], one.scores[offset : offset + limit])
    several = in_several(corpus, plan, LIMIT_CEILING, 0)
    assert (several.scores, several.total) == (one.scores, one.total)
    assert tied(several) == tied(one), "unequal scores have one order"
    several = in_several(corpus, of_plain(to_plain(plan)), limit, offset)
    assert (several.scores, several.total) == (page.scores, len(wanted))


def in_several(corpus: Corpus, plan: Plan, limit: int, offset: int) -> Page:
    parts: list[Part | RemotePart] = []
    for bucket in BUCKETS:
        with corpus.read(bucket) as lexicon:
            part = carried_out(lexicon, plan, limit + offset)
            parts.append(RemotePart(part.rows(), part.total))
    return merge(parts, plan, limit, offset)


def tied(page: Page) -> list[list[str]]:
    """Return the names on a page, with names of equal scores in byte order."""
    groups: dict[float, list[str]] = {}
    for name, score in zip(page.names, page.scores, strict=True):
        groups.setdefault(score, []).append(name)
    return [sorted(group) for group in groups.values()]


def test_the_statistics_of_several_buckets_make_the_plan_of_one(corpus: Corpus) -> None:
    """A query of three buckets of one index, from its text to a page, gets the same answer as in a single bucket."""
    index = corpus.index
    chance = random.Random(1)
    for _ in range(40):
        text = " ".join(chance.choices(WORDS, k=chance.randint(1, 3)))
        expected = index.query(C, WHOLE, text, limit=50, lang="none", total=True)
        terms = index.engine.lexer.lex(text, "none")
        sketches = []
        for bucket in BUCKETS:
            with corpus.read(bucket) as lexicon:
                sketches.append(sketch_query(lexicon, terms, index.config, None))
        plan = plan_bm25(SummedStatistics(sketches), terms, index.config.search)
        page = in_several(corpus, plan, 50, 0)
        assert (page.scores, page.total) == (expected.scores, expected.total), text


def test_local_parts_merge_as_remote_ones_do(corpus: Corpus) -> None:
    with corpus.read("red") as red, corpus.read("blue") as blue:
        average = red.average_length
        plan = Plan(
            [Clause(0, BRINGS, 1.0, [Slot((b"ak",), 1.0)])], average, 1.0, full_first=True, left_out={}, enough=None
        )
        parts = [carried_out(lexicon, plan, 20) for lexicon in (red, blue)]
        page = merge(parts, plan, 10, 5)
        remote = merge([RemotePart(part.rows(), part.total) for part in parts], plan, 10, 5)
        assert (page.names, page.scores, page.total) == (remote.names, remote.scores, remote.total)
        assert len(page.names) == 10 and page.total == sum(part.total or 0 for part in parts)


def test_a_bucket_is_asked_once_by_a_bound_plan(corpus: Corpus) -> None:
    with corpus.read(WHOLE) as lexicon:
        plan = Plan([], 1.0, 1.0, full_first=True, left_out={}, enough=None)
        query = bind(plan, lexicon.reader)
        assert find(query, 10, total=True).total == 0
        with pytest.raises(ValueError, match="the query is being answered"):
            find(query, 10)


def test_conditions_alone_bring_nothing(corpus: Corpus) -> None:
    """With any required or forbidden clauses, an object answers only if it holds a word of a clause that brings
    objects.
    """
    with corpus.read(WHOLE) as lexicon:
        for roles in ((REQUIRED,), (FORBIDDEN,), (ADDS,), (REQUIRED, FORBIDDEN)):
            clauses = [Clause(0, role, 0.0, [Slot((b"ak",), 0.0)]) for role in roles]
            plan = Plan(clauses, 1.0, 1.0, full_first=False, left_out={}, enough=None)
            part = carried_out(lexicon, plan, 10)
            assert (part.found, part.total) == ([], 0), roles
