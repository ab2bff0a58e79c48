"""A bucket in parts gives the same answers as one store: the same objects, scores, order and words."""

import contextlib
import json
import random
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy._native.terms import Terms
from sonicpy.cluster.registry.partitions import part_of
from sonicpy.config import Config
from sonicpy.index.index import Index
from sonicpy.index.recorder import Recorder
from sonicpy.index.search.fitting import suggest_fitting
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.packed_terms import pack_matching, pack_terms, pack_typed, unpack_matching, unpack_terms
from sonicpy.index.search.parts import Page, RemotePart, merge
from sonicpy.index.search.plan import Plan, to_plain
from sonicpy.index.search.ranking import PLANNERS
from sonicpy.index.search.sketch import common_languages, likely_completions
from sonicpy.index.search.statistics import SummedStatistics
from sonicpy.index.search.suggest import suggest_likely
from sonicpy.index.spread_parts import SpreadParts
from sonicpy.search import Search

PARTS = 3
SCOPE = ("c", "b")


class Part(SpreadParts, Index):
    """An index that also answers as a part of a spread bucket."""


WORDS = """\
apple apples pear pears orange running run runs runner walk walked walking house houses cafe café naïve naive resume
résumé library libraries the of and a in to search searches searching engine engines index indexes indexing query
queries light lights bright night knight sight flight might 2024 3.14 x-ray user@example.org table tables cable
""".split()


def corpus(seed: int) -> Iterator[tuple[str, str]]:
    pick = random.Random(seed)
    many = [*WORDS, *(f"word{number}" for number in range(200))]
    weights = [1 / (place + 3) for place in range(len(many))]
    for number in range(600):
        yield f"o{number}", " ".join(pick.choices(many, weights, k=pick.randrange(1, 40)))


@pytest.fixture(scope="module")
def one_and_parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Index, list[Part]]]:
    folder = tmp_path_factory.mktemp("spread")
    one = Index(folder / "one")
    parts = [Part(folder / str(number)) for number in range(PARTS)]
    try:
        for oid, text in corpus(1):
            one.push(*SCOPE, oid, text, "eng")
            parts[part_of(oid, PARTS)].push(*SCOPE, oid, text, "eng")
        for oid, text in list(corpus(1))[::17]:
            one.pop(*SCOPE, oid, text[:30])
            parts[part_of(oid, PARTS)].pop(*SCOPE, oid, text[:30])
        one.consolidate()
        parts[0].consolidate()  # the others have all their words pending
        yield one, parts
    finally:
        for index in (one, *parts):
            index.close()


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def plan_of(parts: list[Part], text: str, lang: str | None, config: Config) -> Plan | None:
    terms, matching = Recorder(parts[0].config).read_query(Search(*SCOPE, text, 10, 0, lang))
    if not len(terms):
        return None
    packed = pack_matching(matching)
    sketches = [through_json(part.spread_terms(*SCOPE, pack_terms(terms), packed)) for part in parts]
    if matching is not None and (languages := common_languages(sketches)):
        packed = pack_matching(matching._replace(languages=languages))
        sketches = [through_json(part.spread_terms(*SCOPE, pack_terms(terms), packed)) for part in parts]
    return PLANNERS[config.search.ranking](SummedStatistics(sketches), terms, config.search, matching)


def ask(parts: list[Part], text: str, limit: int, offset: int = 0, lang: str | None = "eng") -> Page:
    plan = plan_of(parts, text, lang, parts[0].config)
    if plan is None:
        return Page([], [], 0.0, 0)
    return merge(found_by(parts, plan, limit + offset, total=False), plan, limit, offset)


def found_by(parts: list[Part], plan: Plan, limit: int, *, total: bool) -> list[RemotePart]:
    plain = through_json(to_plain(plan))
    return [RemotePart(*through_json(part.spread_find(*SCOPE, plain, limit, total))) for part in parts]


def count_all(parts: list[Part], text: str, limit: int = 1) -> int:
    plan = plan_of(parts, text, "eng", parts[0].config)
    if plan is None:
        return 0
    total = merge(found_by(parts, plan, limit, total=True), plan, limit, 0).total
    assert total is not None
    return total


def queries(seed: int, count: int) -> Iterator[str]:
    pick = random.Random(seed)
    many = [*WORDS, *(f"word{number}" for number in range(200))]
    for _ in range(count):
        words = pick.choices(many, k=pick.randrange(1, 7))
        if pick.random() < 0.4:  # a typing error, or the beginning of a word
            word = pick.choice(words)
            place = pick.randrange(len(word))
            words.append(word[:place] + pick.choice("aeiouxz") + word[place + pick.randrange(2) :])
        if pick.random() < 0.2:
            words = [words[0][: pick.randrange(1, 6)]]
        yield " ".join(words)


FIXED = [
    "the",
    "the of and",
    "apple the",
    "user@example.org",
    "3.14",
    "running houses",
    "cafe",
    "zzzz",
    "",
    "wrod12 lihgt",
]


@pytest.mark.full
@pytest.mark.parametrize(("seed", "count"), [(1, 60), *((seed, 300) for seed in range(2, 6))])
def test_parts_find_what_one_store_finds(seed: int, count: int, one_and_parts: tuple[Index, list[Part]]) -> None:
    one, parts = one_and_parts
    differs = 0
    for text in [*FIXED, *queries(seed, count)]:
        wanted = one.query(*SCOPE, text, limit=700, lang="eng")
        page = ask(parts, text, 700)
        names = page.names
        assert sorted(names) == sorted(wanted), text
        assert page.scores == (wanted.scores or []), text
        assert dict(zip(names, page.scores, strict=True)) == dict(wanted.pairs()), text
        differs += names != list(wanted)
        assert ask(parts, text, 10, 5).names == names[5:15], text
        assert count_all(parts, text) == len(wanted), text
    print(f"{differs} of {len(FIXED) + count} answers order equal scores otherwise")


def test_no_language_and_no_stems(one_and_parts: tuple[Index, list[Part]]) -> None:
    one, parts = one_and_parts
    for text in ("running", "run house", "café"):
        assert sorted(ask(parts, text, 700, lang="none").names) == sorted(
            one.query(*SCOPE, text, limit=700, lang="none")
        )


def test_parts_suggest_what_one_store_suggests(one_and_parts: tuple[Index, list[Part]]) -> None:
    one, parts = one_and_parts
    typed = ["a", "ap", "lig", "word1", "nihgt", "runing", "serch", "w", "zzzzzz", "cafe", "t", "flihgts"]
    for word in typed:
        for limit in (1, 5, 20):
            term = Recorder(parts[0].config).read_typed(word).word
            whole = SummedStatistics([through_json(part.spread_word(*SCOPE, term.decode())) for part in parts])
            expected = one.suggest(*SCOPE, word, limit=limit)
            assert [found.decode() for found in suggest_likely(whole, term, limit)] == expected, word
            found_there = [part.spread_completions(*SCOPE, term.decode()) for part in parts]
            if None in found_there:  # some completions differ in accents
                continue
            packed = [b64decode(each or "") for each in found_there]
            completions = likely_completions(packed, term, limit)
            assert completions == expected[: len(completions)], word
            assert len(completions) in (limit, len([each for each in expected if each.startswith(word)])), word


@pytest.mark.parametrize("text", ["house a", "running the w", "walk lig", "library nihgt", "zzzz café n", "zzzz zzz"])
def test_parts_suggest_words_that_fit(one_and_parts: tuple[Index, list[Part]], text: str) -> None:
    one, parts = one_and_parts
    typed = Recorder(parts[0].config).read_typed(text)
    packed = through_json(pack_typed(typed))
    statistics = SummedStatistics([through_json(part.spread_typed(*SCOPE, packed)) for part in parts])
    steps = suggest_fitting(statistics, typed, 7)
    counts: list[int] | None = None
    while True:
        try:
            groups, words = next(steps) if counts is None else steps.send(counts)
        except StopIteration as end:
            assert [word.decode() for word in end.value] == one.suggest(*SCOPE, text, limit=7)
            break
        given = [[word.decode() for word in group] for group in groups], [word.decode() for word in words]
        counts = list(map(sum, zip(*(part.spread_together(*SCOPE, *given) for part in parts), strict=True)))


def test_a_part_without_the_bucket_knows_nothing(tmp_path: Path, one_and_parts: tuple[Index, list[Part]]) -> None:
    _, parts = one_and_parts
    before = ask(parts, "running apples", 50).names
    with Part(tmp_path / "empty") as empty:
        assert ask([*parts, empty], "running apples", 50).names == before
        assert ask([empty, empty], "running apples", 50).names == []
        assert count_all([*parts, empty], "running apples") == count_all(parts, "running apples") > 0
        assert count_all([empty, empty], "running apples") == 0


def test_the_ranking_newest_finds_the_same_objects(tmp_path: Path) -> None:
    config = Config.model_validate({"search": {"ranking": "newest"}})
    one = Index(tmp_path / "one", config)
    parts = [Part(tmp_path / str(number), config) for number in range(PARTS)]
    for oid, text in corpus(3):
        one.push(*SCOPE, oid, text, "eng")
        parts[part_of(oid, PARTS)].push(*SCOPE, oid, text, "eng")
    for text in ("apple", "running the", "word1 word2", "aple"):
        names = ask(parts, text, 700).names
        wanted = list(one.query(*SCOPE, text, limit=700, lang="eng"))
        assert sorted(names) == sorted(wanted)
        assert count_all(parts, text) == len(wanted)
        best = set(wanted[:30])
        assert len(best & set(names[:30])) >= 0.8 * len(best)  # each part numbers its own objects
    for index in (one, *parts):
        index.close()


def test_matching_comes_through_json() -> None:
    for matching in (Matching("eng", True), Matching(None, False), Matching("tur", True, True, ("tur", "eng"))):
        assert unpack_matching(through_json(pack_matching(matching))) == matching
    assert pack_matching(Matching("eng", True)) == ["eng", True], "as version 1.0 reads it"
    assert unpack_matching(None) is None
    terms = Terms([b"a", "é".encode()], b"\1\2", b"\0\1", [1, 2])
    again = unpack_terms(through_json(pack_terms(terms)))
    assert (again.words, again.counts, again.flags, list(again.typed)) == (
        terms.words,
        terms.counts,
        terms.flags,
        [1, 2],
    )


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (["connect"] * 4 + ["connected"] * 4 + ["connects"] * 4 + ["conect"], "connect"),
        (["domain_main", "other words"], "__main__"),
        (["email e mail", "e-mail", "mail address", "address of e"], "email address"),
        (["\u4eac\u90fd\u5e9c\u7acb", "\u6771\u4eac\u90fd\u5e81"], "\u4eac\u90fd"),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_one_part_may_hold_all_that_a_query_finds(tmp_path: Path, texts: list[str], query: str, apart: bool) -> None:
    with contextlib.ExitStack() as opened:
        one = opened.enter_context(sonicpy.open(tmp_path / "one"))
        parts = [opened.enter_context(Part(tmp_path / f"part{number}")) for number in range(2)]
        for number, text in enumerate(texts):
            one.push(*SCOPE, f"o{number}", text, "eng")
            parts[number % 2 if apart else 0].push(*SCOPE, f"o{number}", text, "eng")
        parts[1].push(*SCOPE, "other", "nothing of this", "eng")
        one.push(*SCOPE, "other", "nothing of this", "eng")
        hits = one.query(*SCOPE, query, lang="eng", total=True)
        assert len(hits) > 0
        assert sorted(ask(parts, query, 10).names) == sorted(hits)
        assert count_all(parts, query) == hits.total
        if not apart:
            assert ask(parts, query, 10).names == list(hits)
