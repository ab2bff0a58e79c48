"""SYNTAX(web), MATCH and FUZZY find the same objects as a reference implementation; no text is an error."""

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

import sonicpy  # noqa: E402
from sonicpy.cluster.node.places import Places  # noqa: E402
from sonicpy.cluster.node.spread import Spread  # noqa: E402
from sonicpy.cluster.registry.partitions import part_of  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from sonicpy.index.recorder import Recorder  # noqa: E402
from sonicpy.index.search.demands import Demands  # noqa: E402
from sonicpy.index.search.planners import demanded  # noqa: E402
from sonicpy.index.search.planners.demanded import Demanded  # noqa: E402
from sonicpy.index.search.web_syntax import MANY_MAX  # noqa: E402
from tests.index.extras import EXTRAS, hide  # noqa: E402
from tests.index.test_spread import Part  # noqa: E402
from tests.reference.boolean import Item, answering, near, typed  # noqa: E402
from tests.support.examples import examples
from tests.support.patience import SLOWNESS
from tests.support.surfaces import PartsDesk
from tests.test_options_everywhere import command, of_reply  # noqa: E402

C, B = "c", "b"
WORDS = ("alba", "albo", "brid", "brin", "colt", "corm", "dusk", "dune", "fjel", "grok")
BEGUN = ("al", "bri", "co", "dun", "zz")
INNER = ("l", "ri", "un", "k", "zz")
PLAIN: Any = {"stem": False, "complete": False}
RANKINGS = ("bm25", "newest")


def texts(seed: int) -> dict[str, str]:
    pick = random.Random(seed)
    return {f"o{number}": " ".join(pick.sample(WORDS, pick.randrange(1, 6))) for number in range(80)}


TEXTS = texts(1)
OTHERS = [*WORDS, "nil"]


def items(sign: str) -> st.SearchStrategy[Item]:
    words = st.sampled_from(OTHERS)
    phrases = st.lists(words, min_size=1, max_size=1 if sign == "-" else 3).map(" ".join)
    return st.one_of(
        words.map(lambda text: Item(sign, "word", text)),
        phrases.map(lambda text: Item(sign, "phrase", text)),
        st.sampled_from(BEGUN).map(lambda text: Item(sign, "begun", text)),
        st.sampled_from(INNER).map(lambda text: Item(sign, "part", text)),
    )


positive = st.one_of(items(""), items("+"))
alone = st.one_of(positive, items("-")).map(lambda item: [item])
queries = st.lists(st.one_of(alone, st.lists(positive, min_size=2, max_size=3)), min_size=1, max_size=4).filter(
    lambda query: sum(item.kind in ("begun", "part") for either in query for item in either) <= MANY_MAX
)


@pytest.fixture(scope="module", params=RANKINGS)
def index(request: pytest.FixtureRequest) -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:", config={"search": {"ranking": request.param}}) as opened:
        opened.push_many([(name, text, "eng") for name, text in TEXTS.items()], collection=C, bucket=B)
        yield opened


def match_of(index: sonicpy.Index, match: str) -> str:
    """Return the effect of a value of MATCH in a ranking; for the newest objects, every word is always required."""
    return "all" if match == "auto" and index.config.search.ranking == "newest" else match


@given(query=queries, match=st.sampled_from(("all", "any", "auto")))
def test_the_twin_finds_the_same(index: sonicpy.Index, query: list[list[Item]], match: str) -> None:
    found = index.query(C, B, typed(query), syntax="web", match=match, fuzzy=0, limit=100, total=True, **PLAIN)
    expected = answering(TEXTS, query, match_of(index, match))
    assert set(found) == expected, typed(query)
    assert found.total == len(expected)
    assert len(found) == len(expected)


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("alba AND brid", "+alba +brid"),
        ("alba AND brid AND colt", "+alba +brid +colt"),
        ("alba NOT brid", "alba -brid"),
        ("alba AND NOT brid", "alba -brid"),
        ("NOT alba brid", "-alba brid"),
        ('alba NOT "brid colt"', 'alba -"brid colt"'),
        ('alba NOT ""', "alba not"),
        ('"alba brid" AND col*', '+"alba brid" +col*'),
        ("alba OR brid AND colt", "alba OR brid +colt"),
        ("alba and brid", "alba brid and"),
        ("AND alba", "alba and"),
        ("alba NOT", "alba not"),
        ("alba AND NOT", "alba and not"),
        ("alba AND AND brid", "+alba +brid"),
        ("alba AND AND", "alba and and"),
        ("\u00abalba brid\u00bb", '"alba brid"'),
    ],
)
def test_and_and_not_in_capitals_are_signs(index: sonicpy.Index, text: str, signs: str) -> None:
    found, expected = (index.query(C, B, f"{each} ", syntax="web", fuzzy=0, limit=100) for each in (text, signs))
    assert found == expected
    assert len(found) > 0 or index.config.search.ranking == "newest"


@pytest.mark.parametrize("text", ["+path", '"path"', "+path +call"])
def test_a_required_word_is_held_by_words_that_have_it_as_a_part(text: str) -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "part", "call os.path.join")
        index.push(C, B, "other", "call pathology")
        assert index.query(C, B, f"{text} ", syntax="web") == ["part"]


@given(words=st.lists(st.sampled_from(OTHERS), min_size=1, max_size=4), match=st.sampled_from(("all", "any", "auto")))
def test_match_without_signs(index: sonicpy.Index, words: list[str], match: str) -> None:
    query = [[Item("", "word", word)] for word in words]
    found = index.query(C, B, typed(query), match=match, fuzzy=0, limit=100, **PLAIN)
    assert set(found) == answering(TEXTS, query, match_of(index, match))


def test_objects_with_any_word_rank_by_score() -> None:
    with sonicpy.open(":memory:") as index:
        for number in range(40):
            index.push(C, B, f"common{number}", "the usual words and nothing else at all")
        index.push(C, B, "rare", "extraordinary extraordinary extraordinary")
        index.push(C, B, "both", "usual words of " + "many " * 400 + "extraordinary")
        assert index.query(C, B, "usual extraordinary ")[0] == "both"
        assert index.query(C, B, "usual extraordinary ", match="any")[0] == "rare"


def test_all_words_and_their_forms_stop_words_aside() -> None:
    with sonicpy.open(":memory:") as index:
        index.push_many(
            [("1", "the engines of boats", "eng"), ("2", "a boat", "eng"), ("3", "an engine", "eng")],
            collection=C,
            bucket=B,
        )
        assert index.query(C, B, "the boat with engine ", match="all", lang="eng") == ["1"]
        assert index.query(C, B, "the boat with engine ", match="all", lang="eng", stem=False) == []
        assert index.query(C, B, "boat engnes ", match="all", lang="eng", fuzzy=0) == []
        assert index.query(C, B, "boat engnes ", match="all", lang="eng") == ["1"]


@pytest.mark.parametrize("edits", [0, 1, 2, 3])
def test_fuzzy_bounds_edits_however_many_objects_hold_a_word(edits: int) -> None:
    words = ["planet", "plant", "plants", "planets", "plane", "plat", "plamet", "blanket", "sun", "son"]
    with sonicpy.open(":memory:", config={"search": {"alternates_below": 1}}) as index:
        for word in words:
            index.push_many([(f"{word}{number}", word) for number in range(3)], collection=C, bucket=B)
        for asked in ("planet", "palnet", "plnt", "sun", "xyzzy"):
            found = index.query(C, B, asked, fuzzy=edits, limit=100, **PLAIN)
            held = {name.rstrip("0123456789") for name in found}
            completed = {word for word in words if word.startswith(asked) and asked not in words}
            assert held == near(asked, set(words), edits) | completed, asked


def test_fuzzy_of_a_frequent_word_finds_what_auto_does_not() -> None:
    with sonicpy.open(":memory:") as index:
        index.push_many([(f"right{number}", "harbour") for number in range(30)], collection=C, bucket=B)
        index.push(C, B, "wrong", "harbuor")
        assert index.query(C, B, "harbour", total=True).total == 30
        assert index.query(C, B, "harbour", fuzzy=1, total=True).total == 31
        assert index.query(C, B, "harbour", fuzzy=1, how=True, limit=100)[-1].how == (
            ("correction", "harbour", "harbuor"),
        )


def test_only_refused_words_answer_the_others_newest_first() -> None:
    with sonicpy.open(":memory:") as index:
        for number in range(300):
            index.push(C, B, f"o{number}", "odd" if number % 2 else "even")
        index.flush(C, B, "o298")
        expected = [f"o{number}" for number in range(296, -1, -2)]
        assert index.query(C, B, "-odd", syntax="web", limit=1000) == expected
        assert index.query(C, B, "-odd", syntax="web", limit=10, offset=20) == expected[20:30]
        found = index.query(C, B, "-odd -even", syntax="web", total=True)
        assert (found.objects, found.total) == ([], 0)
        assert index.query(C, B, "-odd") != expected, "without the syntax it is a word"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("C++ ", ["c"]),
        ("e-mail", ["mail"]),
        ("-5", ["five"]),
        ("c -C++", []),
        ("or", ["or"]),
        ("-mail OR c ", ["c"]),  # what is refused joins nothing: OR is left out
        ("mail Or c ", ["c", "mail", "or"]),
        ('"c++', ["c"]),
        ("-c*", ["or", "mail", "five"]),
        ("**c** ", ["c"]),
        ("mail OR 5", ["five", "mail"]),
    ],
)
def test_signs_count_only_where_people_mean_them(text: str, found: list[str]) -> None:
    with sonicpy.open(":memory:") as index:
        for name, content in {"c": "c++", "five": "-5", "mail": "an e-mail", "or": "or"}.items():
            index.push(C, B, name, content, lang="none")
        assert sorted(index.query(C, B, text, syntax="web", lang="none", fuzzy=0)) == sorted(found)


def test_a_word_is_refused_with_its_forms() -> None:
    with sonicpy.open(":memory:") as index:
        for number, text in enumerate(("one boat", "two boats", "three"), 1):
            index.push(C, B, number, text, lang="eng")
        assert index.query(C, B, "-boat", syntax="web", lang="eng") == ["3"]
        assert index.query(C, B, "-boat", syntax="web", lang="eng", stem=False) == ["3", "2"]


def test_runs_without_blanks() -> None:
    with sonicpy.open(":memory:") as index:
        index.push_many([("1", "東京都庁"), ("2", "京都府立"), ("3", "東京タワー")], collection=C, bucket=B)
        assert sorted(index.query(C, B, '"東京" タワー', syntax="web")) == ["1", "3"]
        assert index.query(C, B, "+東京 +タワー", syntax="web") == ["3"]
        assert index.query(C, B, "-東京", syntax="web") == ["2"]
        assert index.query(C, B, "東京タワー", match="all") == ["3"]


@pytest.mark.parametrize("is_consolidated", [False, True])
def test_parts_are_looked_for_in_old_and_new_words(tmp_path: Path, is_consolidated: bool) -> None:
    with sonicpy.open(tmp_path / "index") as index:
        index.push_many([("1", "startled"), ("2", "partial tarts"), ("3", "nothing")], collection=C, bucket=B)
        if is_consolidated:
            index.consolidate()
        index.push(C, B, "4", "artless")
        index.pop(C, B, "2", "partial")
        assert sorted(index.query(C, B, "*art*", syntax="web", fuzzy=0)) == ["1", "2", "4"]
        assert index.query(C, B, "*artl*", syntax="web", fuzzy=0) == ["4", "1"]
        assert index.query(C, B, "*arti*", syntax="web", fuzzy=0) == []


FORMS = [
    pytest.param("น้ำ", "น้ำแข็ง", id="a vowel of Thai that has two characters"),
    pytest.param("ﾃﾚﾋﾞ", "テレビゲーム", id="half-width kana"),
    pytest.param("カ\u3099イト\u3099", "ガイドブック", id="kana with separate marks"),
    pytest.param("हिन्दी", "हिन्दीभाषा", id="a vowel sign at the end"),
    pytest.param("Ｈａｕｓ", "hausbau", id="full-width letters"),
]


@pytest.mark.parametrize(("word", "longer"), FORMS)
def test_signs_know_words_in_every_spelling(monkeypatch: pytest.MonkeyPatch, word: str, longer: str) -> None:
    """A word behind a sign is compared in the normal form of words, as it is elsewhere."""
    hide(monkeypatch, *EXTRAS)  # by a dictionary, the longer word is two words
    bucket = sonicpy.open(":memory:").bucket(C, B)
    for name, text in (("word", word), ("longer", longer), ("other", "other")):
        bucket.push(name, text, "none")
    expected = {"-{}*": {"other"}, "-*{}*": {"other"}}
    expected |= {f"{sign}{{}}{end}": {"word", "longer"} for sign, end in (("", "*"), ("*", "*"), ("+", "*"))}
    for asked, objects in expected.items():
        assert set(bucket.query(asked.format(word), syntax="web", fuzzy=0)) == objects, asked
    assert "word" not in bucket.query(f"-{word}", syntax="web", fuzzy=0)
    assert len(bucket.words(prefix=word)) == 2


def test_alternatives_of_many_parts_take_little_time(index: sonicpy.Index) -> None:
    """Five joined words of ten parts have 100,000 combinations of their parts."""
    parts = [f"part{letter}" for letter in "abcdefghij"]
    index.push(C, "joined", "all", " ".join(parts))
    index.push(C, "joined", "other", "more parta")
    joined = [".".join(parts[place:] + parts[:place]) for place in range(5)]
    started = time.process_time()
    found = index.query(C, "joined", " OR ".join(["alone", *joined]), syntax="web", fuzzy=0)
    assert time.process_time() - started < 1 * SLOWNESS
    assert found.objects[:1] == ["all"] or index.config.search.ranking == "newest"


HOSTILE = st.text(st.sampled_from('ab *"+-:ORé東0.\t\u3000\u201c\x00\ud800'), max_size=40)


@given(text=HOSTILE, match=st.sampled_from(("all", "any", "auto")), fuzzy=st.sampled_from(("0", "2", "auto")))
def test_no_text_is_an_error(index: sonicpy.Index, text: str, match: str, fuzzy: str) -> None:
    options: Any = {"syntax": "web", "match": match, "fuzzy": fuzzy}
    if "\ud800" in text:
        with pytest.raises(sonicpy.InvalidArgument, match="not Unicode"):
            index.query(C, B, text, **options)
        return
    found = index.query(C, B, text, how=True, total=True, **options)
    assert found.objects == index.query_ids(C, B, text, **options)
    explained = index.explain(C, B, text, **options)
    assert ([hit.object for hit in explained.hits], explained.total) == (found.objects, found.total)
    assert str(explained)


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Part, Spread]]:
    folder = tmp_path_factory.mktemp("asked")
    one, parts = Part(folder / "one"), [Part(folder / str(number)) for number in range(2)]
    try:
        for name, text in TEXTS.items():
            one.push(C, B, name, text, lang="eng")
            parts[part_of(name, 2)].push(C, B, name, text, lang="eng")
        parts[0].consolidate()
        places = Places(Layout(2, 1, ("n1",), spread=((C, 2),)))
        recorder = Recorder(Config())
        yield one, Spread(PartsDesk(parts, places, recorder), places, recorder)  # type: ignore[arg-type]
    finally:
        for index in (one, *parts):
            index.close()


@settings(max_examples=examples(30))
@given(query=queries, match=st.sampled_from(("all", "any", "auto")), fuzzy=st.sampled_from(("0", "2", "auto")))
def test_a_spread_bucket_answers_the_same(
    spread: tuple[Part, Spread], query: list[list[Item]], match: str, fuzzy: str
) -> None:
    one, parts = spread
    options: Any = {"syntax": "web", "match": match, "fuzzy": fuzzy, "limit": 100, "total": True, "how": True}
    expected = one.query(C, B, typed(query), **options)
    asked = command(typed(query), options)
    found = of_reply(asyncio.run(parts.execute(asked)), how=True)
    assert (set(found.names), found.total) == (set(expected), expected.total)
    hows = {hit.object: list(hit.how or ()) for hit in expected}
    assert dict(zip(found.names, found.hows or [], strict=True)) == hows


@pytest.mark.parametrize("match", ["all", "any"])
def test_match_alone_is_planned_in_two_ways_with_equal_answers(monkeypatch: pytest.MonkeyPatch, match: str) -> None:
    """A query whose only demand is MATCH is planned in native code; `Demanded` plans it here."""
    pick = random.Random(match)
    words = [*OTHERS, "al", "duns", "brd", "fjl", "os.path", "the", "東京都"]
    asked = [" ".join(pick.choices(words, k=size)) for size in (1, 2, 3) * 40]
    calls: list[int] = []

    def answers() -> list[Any]:
        with sonicpy.open(":memory:") as index:
            for name, text in TEXTS.items():
                index.push(C, B, name, f"{text} the os.path.join 東京都庁 {name}")
            pages: list[Any] = [{"limit": 7}, {"limit": 3, "offset": 4, "total": True}]
            return [index.query(C, B, text, match=match, **page) for text in asked for page in pages]

    class Counted(Demanded):
        def clauses(self, *given: Any) -> Any:
            calls.append(1)
            return super().clauses(*given)

    natively = answers()
    assert not calls
    monkeypatch.setattr(demanded, "Demanded", Counted)
    monkeypatch.setattr(Demands, "is_only_match", False)
    assert answers() == natively
    assert len(calls) >= len(asked)
