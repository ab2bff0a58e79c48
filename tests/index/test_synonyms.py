"""Synonyms of a collection: the objects that queries find by them, and their durability, compared with a reference
implementation.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy.errors import InvalidArgument
from sonicpy.index.index import Index
from sonicpy.index.search.plan import of_plain, to_plain
from sonicpy.index.search.planners.bm25 import plan_bm25
from sonicpy.store.disk.table_numbers import META
from sonicpy.store.rows.synonym_rules import RULES, STAMPS
from sonicpy.store.store import Store
from tests.index.extras import EXTRAS, hide
from tests.reference.synonyms import answers, holders
from tests.support.examples import examples

C, B = "c", "b"
WORDS = "zebra kiwi mango quokka fjord lynx vortex".split()
EXACTLY: dict[str, Any] = {"lang": "none", "complete": False, "fuzzy": 0, "stem": False, "limit": 1000}
TOWNS = {
    "o1": "ny pizza",
    "o2": "new york pizza",
    "o3": "york ham",
    "o4": "television show",
    "o5": "tv set",
    "o6": "new car",
    "o7": "big apple pizza",
    "o8": "pizza margherita",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with sonicpy.open(tmp_path / "towns") as made:
        for name, text in TOWNS.items():
            made.push(C, B, name, text, "eng")
        yield made


words = st.sampled_from(WORDS)
phrase = st.lists(words, min_size=1, max_size=2, unique=True).map(" ".join)
side = st.lists(phrase, min_size=1, max_size=3, unique=True).map(", ".join)
rule = st.one_of(
    st.lists(phrase, min_size=2, max_size=3, unique=True).map(", ".join), st.tuples(side, side).map(" => ".join)
).filter(lambda text: len({part.strip() for part in text.replace("=>", ",").split(",")}) > 1)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(rule, min_size=1, max_size=4), st.lists(words, min_size=1, max_size=3, unique=True), st.integers())
def test_the_twin_agrees(rules: list[str], query: list[str], seed: int) -> None:
    dice = random.Random(seed)
    objects = {f"o{number}": set(dice.sample(WORDS, dice.randint(1, 4))) for number in range(12)}
    with sonicpy.open(":memory:") as index:
        with index.batch():
            for name, held in objects.items():
                index.push(C, B, name, " ".join(sorted(held)), "none")
        assert index.set_synonyms(C, rules) == len(set(rules))
        text = " ".join(query)
        every = index.query(C, B, text, match="all", total=True, **EXACTLY)
        assert set(every) == holders(objects, rules, query)
        assert every.total == len(every)
        some = index.query(C, B, text, total=True, **EXACTLY)
        assert set(some) == answers(objects, rules, query)
        assert (some.total, some.whole) == (len(some), len(some))
        assert set(some[: len(every)]) == set(every)
        assert index.explain(C, B, text, **EXACTLY).total == len(some)


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(rule, min_size=1, max_size=3), st.lists(words, min_size=1, max_size=3, unique=True), st.integers())
def test_the_newest_objects_that_hold_all_words(rules: list[str], query: list[str], seed: int) -> None:
    dice = random.Random(seed)
    objects = {f"o{number}": set(dice.sample(WORDS, dice.randint(1, 4))) for number in range(12)}
    with sonicpy.open(":memory:", config={"search": {"ranking": "newest"}}) as index:
        with index.batch():
            for name, held in objects.items():
                index.push(C, B, name, " ".join(sorted(held)), "none")
        index.set_synonyms(C, rules)
        found = list(index.query(C, B, " ".join(query), **EXACTLY))
        assert found == [name for name in reversed(objects) if name in holders(objects, rules, query)]


def test_common_words_together_are_found_among_many_objects() -> None:
    dice = random.Random(5)
    objects = {f"o{number}": set(dice.sample(WORDS, dice.randint(1, 5))) for number in range(9_000)}
    with sonicpy.open(":memory:") as index:
        index.push_many([(name, " ".join(held)) for name, held in objects.items()], collection=C, bucket=B, lang="none")
        index.set_synonyms(C, ["zz => zebra kiwi, mango quokka fjord"])
        assert index.query(C, B, "zz", total=True, **EXACTLY).total == len(
            holders(objects, ["zz => zebra kiwi, mango quokka fjord"], ["zz"])
        )
        index.flush(C, B, "o3")
        del objects["o3"]
        assert index.query(C, B, "zz vortex", total=True, match="all", **EXACTLY).total == len(
            holders(objects, ["zz => zebra kiwi, mango quokka fjord"], ["zz", "vortex"])
        )


def test_the_word_comes_before_its_synonyms_and_these_before_completions(index: Index) -> None:
    index.push(C, B, "o9", "tvs everywhere", "none")
    index.set_synonyms(C, ["tv => television"])
    assert list(index.query(C, B, "tv", stem=False)) == ["o5", "o4", "o9"]
    assert list(index.query(C, B, "television")) == ["o4"]


def test_cycles_and_chains_are_harmless(index: Index) -> None:
    index.set_synonyms(C, ["tv => television", "television => show", "show => tv", "tv => tv, set"])
    assert list(index.query(C, B, "tv", fuzzy=0)) == ["o5", "o4"]
    assert list(index.query(C, B, "show", fuzzy=0)) == ["o4", "o5"]


def test_some_words_of_several_are_not_enough(index: Index) -> None:
    index.set_synonyms(C, ["ny, new york, big apple"])
    assert list(index.query(C, B, "ny pizza")) == ["o1", "o7", "o2", "o8"]
    assert set(index.query(C, B, "new york", match="all")) == {"o1", "o2", "o7"}


def test_an_alternative_holds_all_words_of_a_synonym() -> None:
    with sonicpy.open(":memory:") as index:
        index.set_synonyms("c", ["alpha, beta gamma"])
        for number, text in enumerate(("alpha", "beta gamma", "beta", "gamma", "delta")):
            index.push("c", "b", f"o{number}", f"{text} here", "none")
        assert set(index.query("c", "b", "alpha OR delta ", syntax="web", lang="none")) == {"o0", "o1", "o4"}


def test_forms_of_synonyms_are_found(index: Index) -> None:
    index.push(C, B, "o9", "many televisions", "eng")
    index.set_synonyms(C, ["tv => television", "goggle => york hams"])
    assert set(index.query(C, B, "tv", lang="eng")) == {"o4", "o5", "o9"}
    assert list(index.query(C, B, "goggle", lang="eng")) == ["o3"]
    assert list(index.query(C, B, "goggle", lang="eng", stem=False)) == []


def test_a_refused_or_required_word_is_meant_itself(index: Index) -> None:
    index.set_synonyms(C, ["ny, new york, big apple"])
    assert set(index.query(C, B, "pizza -ny", syntax="web")) == {"o2", "o7", "o8"}
    assert list(index.query(C, B, "+ny pizza", syntax="web")) == ["o1"]


def test_answers_name_synonyms(index: Index) -> None:
    index.set_synonyms(C, ["ny, new york"])
    how = {hit.object: hit.how or () for hit in index.query(C, B, "ny", how=True)}
    assert [tuple(one) for one in how["o1"]] == [("word", "ny", "ny")]
    assert [tuple(one) for one in how["o2"]] == [("synonym", "ny", "new york")]
    explained = index.explain(C, B, "ny")
    (other,) = explained.terms[0].alternates
    assert (other.word, other.how, other.objects) == ("new york", "synonym", 1)
    assert "synonym new york: 1 object" in str(explained)
    assert [part.word for part in explained.hits[1].parts] == ["new york"]


def test_other_nodes_read_the_plan(index: Index) -> None:
    index.set_synonyms(C, ["ny, new york", "ny => town"])
    with index._engine.read_words(C, B) as lexicon:
        assert lexicon is not None
        terms = index._engine.lexer.lex_query("ny pizza", None)[0]
        plan = plan_bm25(lexicon, terms, index._config.search)
    again = of_plain(to_plain(plan))
    slots = [(slot.words, slot.how, slot.weight, slot.together) for clause in plan.clauses for slot in clause.slots]
    assert slots == [
        (slot.words, slot.how, slot.weight, slot.together) for clause in again.clauses for slot in clause.slots
    ]
    assert ((b"new", b"york"), "synonym", (1, 1)) in [(words, how, groups) for words, how, _, groups in slots]


def test_runs_without_blanks_and_words_with_signs() -> None:
    with sonicpy.open(":memory:") as index:
        for name, text in (("o1", "東京タワーに行った"), ("o2", "the tower of tokyo"), ("o3", "C++"), ("o4", "cpp")):
            index.push(C, B, name, text)
        index.set_synonyms(C, ["東京タワー, tower of tokyo", "C++, cpp"])
        for query in ("東京タワー", "tower of tokyo"):
            assert set(index.query(C, B, query, match="all", how=True)) == {"o1", "o2"}
        for query in ("C++", "cpp"):
            assert set(index.query(C, B, query, match="all", fuzzy=0)) == {"o3", "o4"}


def test_hits_of_runs_without_blanks_say_by_which_words(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, *EXTRAS)  # a dictionary cuts the run into words
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o1", "東京タワーに行った")
        (hit,) = index.query(C, B, "東京タワー", how=True)
        assert ("completion", "東京タワー", "東京タワーに行った") in [tuple(one) for one in hit.how or ()]


def test_an_answer_that_was_kept_is_forgotten(index: Index) -> None:
    assert index.query_ids(C, B, "tv") == index.query_ids(C, B, "tv") == ["o5"]
    index.set_synonyms(C, ["tv => television"])
    assert index.query_ids(C, B, "tv") == ["o5", "o4"]
    with index.batch():
        index.set_synonyms(C, [])
        assert index.query_ids(C, B, "tv") == ["o5"]
        index.set_synonyms(C, ["tv => show"])
        assert index.query_ids(C, B, "tv") == ["o5", "o4"]
    assert index.query_ids(C, B, "tv") == ["o5", "o4"]


def test_rules_are_added_replaced_and_listed(index: Index) -> None:
    assert index.set_synonyms(C, ["ny,  new york ", "tv => television"]) == 2
    assert index.set_synonyms(C, ["tv => television", "a, b"], add=True) == 3
    assert index.synonyms(C) == ["ny, new york", "tv => television", "a, b"]
    assert index.synonyms("other") == []
    assert index.set_synonyms(C, ["a, b"]) == 1
    assert index.synonyms(C) == ["a, b"]
    assert index.set_synonyms(C, []) == 0
    assert index.synonyms(C) == []


WRONG = [
    (["a"], "one word alone"),
    (["a, A"], "one word alone"),
    (["a => a"], "one word alone"),
    (["=> b"], "no word"),
    (["a, , b"], "no word"),
    (["a => b => c"], "more than once"),
    ([", ".join(f"w{number}" for number in range(17))], "17 words"),
    ("a, b", "list of texts"),
    ([5], "str"),
    (["a, \ud800"], "Unicode"),
]


@pytest.mark.parametrize(("rules", "reason"), WRONG)
def test_a_wrong_rule_changes_nothing(index: Index, rules: object, reason: str) -> None:
    index.set_synonyms(C, ["a, b"])
    with pytest.raises(InvalidArgument, match=reason):
        index.set_synonyms(C, rules)  # type: ignore[arg-type]
    assert index.synonyms(C) == ["a, b"]


@pytest.mark.full
def test_a_collection_has_ten_thousand_rules(index: Index) -> None:
    assert index.set_synonyms(C, [f"w{number} => television" for number in range(10_000)]) == 10_000
    assert list(index.query(C, B, "w9999")) == ["o4"]
    with pytest.raises(InvalidArgument, match="10000"):
        index.set_synonyms(C, ["one, more"], add=True)
    with pytest.raises(InvalidArgument, match="10000"):
        index.set_synonyms(C, [f"w{number} => television" for number in range(10_001)])
    assert len(index.synonyms(C)) == 10_000


def test_synonyms_last(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    with sonicpy.open(folder) as index:
        index.push(C, B, "o", "television")
        index.set_synonyms(C, ["tv => television"])
        index.set_synonyms(C, ["telly => television"])
        assert index.verify() == []
    with sonicpy.open(folder, read_only=True) as reader:
        assert list(reader.query(C, B, "tv")) == []
        assert list(reader.query(C, B, "telly")) == ["o"]
        assert reader.synonyms(C) == ["telly => television"]
        with pytest.raises(sonicpy.StoreError):
            reader.set_synonyms(C, [])
    with sonicpy.open(folder) as index:
        assert list(index.query(C, B, "telly")) == ["o"]
        index.backup(tmp_path / "backup")
        index.set_synonyms(C, ["box => television"])
        index.set_synonyms("other", ["a, b"])
        index.restore(tmp_path / "backup")
        assert (index.synonyms(C), index.synonyms("other")) == (["telly => television"], ["a, b"])
        assert list(index.query(C, B, "telly")) == ["o"]
        index.flush(C)
        assert index.synonyms(C) == []
        assert index.verify() == []


def test_an_uncommitted_change_is_replayed(tmp_path: Path) -> None:
    with Index(tmp_path / "left", autocommit=False) as index:
        index.push(C, B, "o", "television")
        index.set_synonyms(C, ["tv => television"])
        store = index._engine.store
        assert isinstance(store, Store)
        store.seal()
        store._recover(None)
        assert list(index.query(C, B, "tv")) == ["o"]


def test_who_has_none_pays_nothing(index: Index) -> None:
    with index._engine.read() as view:
        assert "synonyms" not in view.uses()
        assert not list(view.transaction.rows(META, STAMPS))
    index.set_synonyms(C, ["a, b"])
    with index._engine.read() as view:
        assert "synonyms" in view.uses()


def test_verify_finds_damage(index: Index) -> None:
    index.set_synonyms(C, ["a, b"])
    store = index._engine.store
    store.maintain(lambda view: view.transaction.put(META, RULES + C.encode(), b"[["))
    store.commit()
    assert any("synonyms of c" in fault for fault in index.verify())


def test_compat_mode_refuses_them() -> None:
    with (
        sonicpy.open(":memory:", config={"server": {"compat": "sonic"}}) as index,
        pytest.raises(InvalidArgument, match="compat mode"),
    ):
        index.set_synonyms(C, ["a, b"])
