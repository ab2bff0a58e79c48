"""Whole answers: a page is a slice of one ranking, totals count it, and everything that was pushed is found."""

import math
import random
from collections.abc import Iterator
from itertools import count, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy import Index
from sonicpy._native.bm25 import idf
from sonicpy._native.lengths import pack_length
from sonicpy._native.plan import ADDS, BRINGS
from tests.index.shorthand import B, C, open_index
from tests.reference.top_objects import Slot, Term, best_objects
from tests.support.examples import examples

WORDS = ["anker", "ankerkette", "anke", "banker", "birne", "birnen", "dampf", "dampfer", "eiche", "x1", "der", "die"]
TYPED = [*WORDS, "ank", "bir", "dampff", "eich", "eicke", "unbekannt", "y2", "das"]
buckets = count()
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
questions = st.lists(st.sampled_from(TYPED), min_size=1, max_size=4)
changes = st.lists(st.tuples(st.sampled_from(["push"] * 4 + ["pop", "flush"]), st.integers(0, 25), texts), max_size=50)
pages = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 30)), min_size=1, max_size=5)


@pytest.fixture(
    scope="module", params=[("bm25", 10), ("bm25", 2), ("newest", 10), ("newest", 2), ("sonic", 10)], ids=str
)
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    ranking, below = request.param
    with open_index(
        tmp_path_factory.mktemp("whole"), search__ranking=ranking, search__alternates_below=below,
        search__query_alternates_try=4, search__query_limit_maximum=1000,
    ) as opened:  # fmt: skip
        yield opened


def carry_out(index: Index, bucket: str, todo: list[tuple[str, int, list[str]]]) -> None:
    for verb, number, words in todo:
        if verb == "push":
            index.push(C, bucket, f"o{number}", " ".join(words), "deu")
        elif verb == "pop":
            index.pop(C, bucket, f"o{number}", " ".join(words))
        else:
            index.flush_object(C, bucket, f"o{number}")


@settings(deadline=None, max_examples=examples(60))
@given(changes, questions, pages, st.booleans())
def test_a_page_is_a_slice_of_one_ranking_and_totals_count_it(
    index: Index, todo: list[tuple[str, int, list[str]]], question: list[str], pages: list[tuple[int, int]], late: bool
) -> None:
    bucket = f"b{next(buckets)}"
    text = " ".join(question)

    def check() -> None:
        whole = index.query(C, bucket, text, limit=10_000, lang="deu", total=True)
        assert whole.total == len(whole) == len(set(whole))
        for limit, offset in pages:
            page = index.query(C, bucket, text, limit=limit, offset=offset, lang="deu", total=True)
            assert page.pairs() == whole.pairs()[offset : offset + limit]
            assert page.total == whole.total
            ids = index.query_ids(C, bucket, text, limit=limit, offset=offset, lang="deu")
            assert list(ids) == [oid for oid, _ in page.pairs()]

    with index.batch():
        carry_out(index, bucket, todo)
        check()  # with changes that are not committed
    if late:
        index.consolidate()
    check()


PARTED = [
    "main",
    "_main_",
    "main__",
    "get",
    "user",
    "users",
    "get_user_by_id",
    "getUser",
    "by",
    "main.get",
    "id",
    "main7",
]


@settings(deadline=None, max_examples=examples(30))
@given(
    st.lists(st.lists(st.sampled_from(PARTED), min_size=1, max_size=4), min_size=12, max_size=40),
    st.lists(st.sampled_from(["main", "get", "user", "getting", "id", "ma"]), min_size=1, max_size=3),
    st.integers(1, 6),
    st.sampled_from(["none", "eng"]),
)
def test_pages_that_whole_words_fill_are_slices_of_the_same_ranking(
    index: Index, texts: list[list[str]], question: list[str], size: int, lang: str
) -> None:
    """Some words with the typed one as a part count as the word itself, also while a page needs no completions."""
    bucket, other, text = f"b{next(buckets)}", f"b{next(buckets)}", " ".join(question)
    with index.batch():
        for number, words in enumerate(texts):
            index.push(C, bucket, f"o{number}", " ".join(words), lang)
            index.push(C, (bucket, other)[number % 2], f"p{number}", " ".join(words), lang)
    for where in (bucket, [bucket, other]):
        if where != bucket and index.config.search.ranking != "bm25":
            continue
        whole = index.query(C, where, text, limit=1000, lang=lang, total=True)
        pages: list[tuple[str, float]] = []
        for offset in range(0, len(whole), size):
            pages += index.query(C, where, text, limit=size, offset=offset, lang=lang).pairs()
        assert pages == whole.pairs()
    explained = index.explain(C, bucket, text, limit=20, lang=lang)
    assert [hit.object for hit in explained.hits] == index.query(C, bucket, text, limit=20, lang=lang).objects


def test_words_in_low_lines_are_on_pages_of_any_size(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        for number in range(12):
            index.push(C, B, f"m{number:02}", "main street" + " along the river" * (number % 3), "none")
        for number in range(3):
            index.push(C, B, f"u{number}", "_main_ x", "none")
            index.push(C, B, f"g{number}", "get_main_street", "none")
        for text in ("main", "main street"):
            whole = index.query(C, B, text, limit=100, lang="none", total=True).objects
            assert {"u0", "u1", "u2"} <= {*whole} or text != "main"
            for size in range(1, 19):
                pages = [
                    oid
                    for offset in range(0, 18, size)
                    for oid in index.query(C, B, text, limit=size, offset=offset, lang="none")
                ]
                assert pages == whole, (text, size)


class Twin:
    """Objects with the words of their texts, in the order of the first push."""

    def __init__(self) -> None:
        self.iids: dict[str, int] = {}
        self.held: dict[str, dict[str, int]] = {}
        self.next_iid = 0

    def push(self, oid: str, words: list[str]) -> None:
        if oid not in self.held:
            self.iids[oid], self.held[oid] = self.next_iid, {}
            self.next_iid += 1
        for word in words:
            self.held[oid][word] = max(self.held[oid].get(word, 0), words.count(word))

    def pop(self, oid: str, words: list[str]) -> None:
        for word in words:
            self.held.get(oid, {}).pop(word, None)
        if not self.held.get(oid, True):
            del self.held[oid]

    def best(self, question: list[str]) -> list[tuple[str, int, float]]:
        """Return the objects that answer some words, the first of which is a stop word if it is "der"; there are no
        expansions.
        """
        oids = {self.iids[oid]: oid for oid in self.held}
        lengths = bytearray(self.next_iid)
        for oid, held in self.held.items():
            lengths[self.iids[oid]] = pack_length(sum(held.values()))
        asked = list(dict.fromkeys(question))
        brings_any = any(word != "der" and any(word in held for held in self.held.values()) for word in asked)
        terms = []
        for word in sorted(asked, key=lambda word: word == "der"):
            postings = {self.iids[oid]: held[word] for oid, held in self.held.items() if word in held}
            share = 0.4 if word == "der" else 1.0  # a stop word
            weight = share * math.sqrt(question.count(word)) * idf(len(self.held), len(postings))
            terms.append(
                Term(
                    weight,
                    BRINGS if word != "der" or not brings_any else ADDS,
                    [Slot([postings], weight)] * bool(postings),
                )
            )
        size = sum(term.role & BRINGS for term in terms)
        exponent = min(3.0, 2.5 / size) if size else 1.0
        average = sum(sum(held.values()) for held in self.held.values()) / len(self.held) if self.held else 0.0
        return [
            (oids[iid], kind, score)
            for iid, kind, score in best_objects(terms, bytes(lengths), average, 1.2, 0.75, exponent, size <= 4)
        ]


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20))
def test_long_lists_with_late_words_deletions_and_uncommitted_changes(tmp_path: Path, seed: int) -> None:
    """Long lists, with many blocks, skewed frequencies and equal scores, in every state, compared with a check of every
    posting.
    """
    chance = random.Random(seed)
    words = ["der", "anker", "birne", "dampf", "eiche", "feder", "grube"]
    shares = [0.9, 0.6, 0.4, 0.2, 0.05, 0.01, 0.001]
    twin = Twin()

    def text() -> list[str]:
        held = [word for word, share in zip(words, shares, strict=True) if chance.random() < share]
        held += [f"fuell{letter}" for letter in "abcdefghij"[: chance.choice((0, 0, 3, 10))]]
        return held * chance.choice((1, 1, 1, 2)) or ["eiche"]

    with open_index(tmp_path, search__query_alternates_try=0) as index:
        for step in range(4):
            with index.batch():
                for number in range(700):
                    oid = f"o{step}x{number}" if chance.random() < 0.8 else f"o{chance.randrange(step + 1)}x{number}"
                    some = text()
                    verb = chance.random()
                    if verb < 0.9:
                        index.push(C, B, oid, " ".join(some), "deu")
                        twin.push(oid, some)
                    elif verb < 0.95:
                        index.pop(C, B, oid, " ".join(some[:3]))
                        twin.pop(oid, some[:3])
                    else:
                        index.flush_object(C, B, oid)
                        twin.held.pop(oid, None)
                if chance.random() < 0.7:
                    compare(index, twin, chance, words)
            compare(index, twin, chance, words)
        assert index.verify() == []


def compare(index: Index, twin: Twin, chance: random.Random, words: list[str]) -> None:
    for _ in range(25):
        question = chance.sample([*words, "unbekannt"], chance.randint(1, 4))
        expected = twin.best(question)
        limit, offset = chance.choice(((10, 0), (1, 0), (5, 7), (100_000, 0), (10, 300)))
        hits = index.query(C, B, " ".join(question), limit=limit, offset=offset, lang="deu", total=True)
        page = expected[offset : offset + limit]
        assert list(hits) == [oid for oid, _, _ in page], (question, limit, offset)
        assert hits.total == len(expected)
        assert [int(score) for _, score in hits.pairs()] == [3 - kind for _, kind, _ in page]


FORMS = ["der", "birne", "birnen", "motor", "motoren", "motors", "haus", "hauses", "häuser", "cafe", "café"]


@pytest.fixture(scope="module", params=["auto", "off"])
def with_forms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with open_index(
        tmp_path_factory.mktemp("forms"), search__stemming=request.param, search__query_limit_maximum=1000
    ) as opened:
        yield opened


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["push"] * 4 + ["pop", "flush"]),
            st.integers(0, 15),
            st.lists(st.sampled_from(FORMS), min_size=1, max_size=6),
        ),
        max_size=40,
    ),
    st.lists(st.sampled_from(FORMS), min_size=1, max_size=5),
    st.booleans(),
)
def test_without_families_a_word_finds_itself_alone(
    with_forms: Index, todo: list[tuple[str, int, list[str]]], question: list[str], late: bool
) -> None:
    """With search.stemming off in the settings or the query, the answer equals that of an index without families."""
    index, twin, bucket = with_forms, Twin(), f"b{next(buckets)}"
    is_off = index.config.search.stemming == "off"
    with index.batch():
        carry_out(index, bucket, todo)
        for verb, number, words in todo:
            if verb == "push":
                twin.push(f"o{number}", words)
            elif verb == "pop":
                twin.pop(f"o{number}", words)
            else:
                twin.held.pop(f"o{number}", None)
        if late:  # beside changes that no commit holds
            check_without_families(index, bucket, twin, question, is_off)
    check_without_families(index, bucket, twin, question, is_off)


def check_without_families(index: Index, bucket: str, twin: "Twin", question: list[str], is_off: bool) -> None:
    expected = twin.best(question)
    for stem in (False, True) if is_off else (False,):
        hits = index.query(C, bucket, " ".join(question), limit=1000, lang="deu", stem=stem, total=True)
        assert list(hits) == [oid for oid, _, _ in expected]
        assert hits.total == len(expected)
        assert [int(score) for _, score in hits.pairs()] == [3 - kind for _, kind, _ in expected]


def test_the_words_of_that_test_have_families(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        for word in FORMS:
            index.push(C, B, word, word, "deu")
        for word, others in (("birne", {"birnen"}), ("motor", {"motoren", "motors"}), ("cafe", {"café"})):
            assert {word, *others} <= set(index.query(C, B, word, lang="deu"))
            assert index.query(C, B, word, lang="deu", stem=False) == [word]


@pytest.mark.full
def test_every_true_match_among_five_thousand_rows(tmp_path: Path) -> None:
    """In rows of three attributes, a query whose LIMIT is the number of its true matches returns all of them."""
    colours = "red green blue black white yellow purple orange pink brown".split()
    things = "shirt trousers skirt jacket socks gloves dress coat scarf jumper".split()
    sizes = "tiny small medium large huge".split()
    kinds = list(product(colours, things, sizes))
    rows = [kinds[number % len(kinds)] for number in range(5_000)]
    random.Random(3).shuffle(rows)
    with open_index(tmp_path, search__query_alternates_try=4) as index:
        with index.batch():
            for number, row in enumerate(rows):
                index.push(C, B, f"row{number}", " ".join(row), "eng")
        for number in range(3):
            others = [[*kind[:number], *kind[number + 1 :]] for kind in kinds[:: 7 + number]]
            for words in [*({(kind[number],) for kind in kinds}), *others, *kinds[:: 11 + number]]:
                true = {f"row{at}" for at, row in enumerate(rows) if set(words) <= set(row)}
                answer = index.query(C, B, " ".join(words), limit=len(true), lang="eng")
                assert set(answer) == true and len(answer) == len(true), words


def test_a_letter_that_may_begin_a_word_does_not_hide_better_objects(tmp_path: Path) -> None:
    """`l'u` is a doubtful form of `u`, and may not count for more than `u` itself: a page is a slice of one ranking."""
    with sonicpy.open(tmp_path) as index:
        filler = " ".join(f"filler{number}" for number in range(19))
        rows = [(C, B, f"o{number}", f"{'autre' if number % 5 else 'groupe'} {filler}") for number in range(24_800)]
        rows += [(C, B, f"short{number}", f"groupe l'u {' '.join(filler.split()[:8])}") for number in range(100)]
        rows += [(C, B, f"long{number}", f"groupe l'u {filler}") for number in range(100)]
        index.push_many(rows)
        first, more = (index.query(C, B, "groupe u", lang="eng", limit=limit) for limit in (10, 200))
        assert list(first) == list(more)[:10]
        assert first[0].object.startswith("short")


@pytest.mark.parametrize("query", ["wifirouter ", "wifirouter", "hotel wifirouter "])
def test_a_page_of_one_is_the_beginning_of_a_longer_page(tmp_path: Path, query: str) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "apart", "wifi router hotel")
        index.push(C, B, "joined", "get_wifirouter_name hotel")
        whole = list(index.query(C, B, query, limit=10))
        assert len(whole) == 2
        assert [index.query(C, B, query, limit=1, offset=place)[0] for place in (0, 1)] == whole
        assert index.explain(C, B, query).hits[0].object == whole[0]
