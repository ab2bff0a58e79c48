"""Fields, the named texts of objects, compared with plain sets, a slow scorer, and buckets with only one field."""

import random
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy.api.rows import Refused
from sonicpy.errors import InvalidArgument
from sonicpy.lexer.lexer import Lexer
from tests.support.examples import examples

WORDS = [*(f"wort{letter}" for letter in "abcdefgh"), "Java", "tools", "été"]
NAMES = ["title", "body", "note"]
SCOPE = ("c", "b")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[sonicpy.Index]:
    with sonicpy.open(tmp_path / "index") as index:
        yield index


def folded(text: str) -> set[str]:
    return set(text.casefold().split())


class Twin:
    """The reference implementation of a bucket: objects as dicts from the name of a text to its set of words; "" is the
    name for all words.
    """

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, set[str]]] = {}

    def push(self, oid: str, text: str, field: str | None) -> None:
        held = self.objects.setdefault(oid, {"": set()})
        for name in {"", field or ""}:
            held.setdefault(name, set()).update(folded(text))

    def upsert(self, oid: str, texts: str | Mapping[str, str]) -> None:
        self.objects[oid] = {"": set()}
        for name, text in texts.items() if isinstance(texts, Mapping) else [("", texts)]:
            self.push(oid, text, name or None)

    def pop(self, oid: str, text: str) -> None:
        held = self.objects.get(oid, {})
        for words in held.values():
            words -= folded(text)
        if held and not held[""]:
            del self.objects[oid]

    def holders(self, word: str, name: str) -> set[str]:
        return {oid for oid, held in self.objects.items() if word.casefold() in held.get(name, ())}


def some_text(chance: random.Random, most: int = 5) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, most)))


def change(chance: random.Random, index: sonicpy.Index, twin: Twin) -> None:
    oid = f"o{chance.randrange(8)}"
    match chance.randrange(8):
        case 0 | 1 | 2:
            names = chance.sample(["", *NAMES], chance.randint(1, 3))
            texts: Any = {name: some_text(chance) for name in names} if chance.random() < 0.8 else some_text(chance)
            index.upsert(*SCOPE, oid, texts)
            twin.upsert(oid, texts)
        case 3 | 4:
            text, field = some_text(chance), chance.choice([None, *NAMES])
            index.push(*SCOPE, oid, text, field=field)
            twin.push(oid, text, field)
        case 5:
            text = some_text(chance, 2)
            index.pop(*SCOPE, oid, text)
            twin.pop(oid, text)
        case 6:
            index.flush(*SCOPE, oid)
            twin.objects.pop(oid, None)
        case _:
            index._engine.commit()


def check(index: sonicpy.Index, twin: Twin) -> None:
    assert list(index.verify()) == []
    for word in WORDS:
        for name in NAMES:
            found = index.query(*SCOPE, word, fields=name, complete=False, fuzzy=0, stem=False, total=True)
            assert set(found) == twin.holders(word, name), (word, name)
            assert found.total == len(found)
        assert set(index.query(*SCOPE, word, complete=False, fuzzy=0, stem=False)) == twin.holders(word, "")


@given(st.integers(0, 2**32))
@settings(max_examples=examples(12), deadline=None)
def test_random_changes_as_by_the_twin(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance, twin = random.Random(seed), Twin()
    folder = tmp_path_factory.mktemp("fields")
    with sonicpy.open(folder / "index") as index:
        for _ in range(30):
            change(chance, index, twin)
        check(index, twin)
        index._engine.store.seal()
        shutil.copytree(folder / "index", folder / "killed")
        lines = list(index.holdings(*SCOPE))
    with sonicpy.open(folder / "killed") as index:
        check(index, twin)
    with sonicpy.open(folder / "copy") as index:
        for line in lines:
            index.push_terms(*SCOPE, line.object, line.terms, line.hidden, line.rules, line.languages, line.fields)
        check(index, twin)
        assert index.flush(*SCOPE) == 1
        assert index.query(*SCOPE, "Java", fields="title") == []
        assert list(index.verify()) == []


@given(st.integers(0, 2**32))
@settings(max_examples=examples(12), deadline=None)
def test_weight_0_changes_nothing(seed: int) -> None:
    chance, twin = random.Random(seed), Twin()
    with sonicpy.open(":memory:") as index:
        for _ in range(25):
            change(chance, index, twin)
        text = some_text(chance, 3)
        plain = index.query(*SCOPE, text, total=True)
        found = index.query(*SCOPE, text, total=True, fields=dict.fromkeys(NAMES, 0))
        assert (list(found), found.scores, found.total) == (list(plain), plain.scores, plain.total)
        weighted = index.query(*SCOPE, text, total=True, limit=100, fields=dict.fromkeys(NAMES, 3))
        assert (set(weighted), weighted.total) == (set(index.query(*SCOPE, text, limit=100)), plain.total)


def test_scores_are_those_of_a_slow_scorer(index: sonicpy.Index) -> None:
    """A field adds its weight times idf * tf / (tf + norm) to the score of a query of one word."""
    chance = random.Random(5)
    texts = {f"o{number}": {"title": some_text(chance, 2), "body": some_text(chance, 30)} for number in range(40)}
    for oid, parts in texts.items():
        index.upsert(*SCOPE, oid, parts)
    lengths = {oid: len(f"{parts['title']} {parts['body']}".split()) for oid, parts in texts.items()}
    average = sum(lengths.values()) / len(lengths)

    def part(tf: int, oid: str) -> float:
        return tf / (tf + 1.2 * (0.25 + 0.75 * lengths[oid] / average)) if tf else 0.0

    for word in ("worta", "wortb", "Java"):
        expected = {}
        for oid, parts in texts.items():
            title, whole = (parts[name].casefold().split() for name in ("title", "body"))
            held = (title + whole).count(word.casefold())
            in_title = word.casefold() in title
            is_whole = set(title) == {word.casefold()}
            if held:
                expected[oid] = part(held, oid) + 4 * part(in_title, oid) + 24 * part(255 * is_whole, oid)
        found = index.query(*SCOPE, word, fields={"title": 4}, limit=100, complete=False, stem=False, fuzzy=0)
        best = max(expected.values())
        assert set(found) == expected.keys()
        shares = [expected[oid] / best for oid in found]
        assert shares == pytest.approx(sorted(shares, reverse=True), rel=0.02), "lengths are rounded in the store"


def test_titles_come_first(index: sonicpy.Index) -> None:
    chance = random.Random(3)
    names = list(dict.fromkeys("-".join(chance.sample(WORDS[:8], chance.randint(1, 3))) for _ in range(400)))
    rows = [
        {"id": name, "name": name, "summary": f"{some_text(chance, 40)} {chance.choice(names)}"}
        for name in chance.sample(names, len(names))
    ]
    columns = {"name": "name", "summary": "summary"}
    assert index.push_many(rows, collection="c", bucket="b", text=columns).indexed == len(names)
    asked = chance.sample(names, 100)
    for fields in ({"name": 2}, "name"):
        places = [list(index.query(*SCOPE, name, fields=fields, limit=50)) for name in asked]
        ranks = [
            1 / (found.index(name) + 1) if name in found else 0.0 for name, found in zip(asked, places, strict=True)
        ]
        assert sum(ranks) / len(ranks) >= 0.98
    again = index.push_many(rows, collection="c", bucket="b", text=columns, upsert=True)
    assert again.indexed == len(names)
    assert index.push_many(rows, collection="c", bucket="b", text=columns, upsert=True).unchanged == len(names)
    index.upsert(*SCOPE, "island", {"name": "Java", "summary": " ".join(WORDS * 300)})
    index.upsert(*SCOPE, "tools", {"name": "Java tools", "summary": "java"})
    assert next(iter(index.query(*SCOPE, "java", fields="name^2"))) == "island"


def test_signs_name_a_field(index: sonicpy.Index) -> None:
    for oid, title, body in (("1", "Java", "an island"), ("2", "tools", "java"), ("3", "java tools", "good")):
        index.upsert(*SCOPE, oid, {"title": title, "body": body})

    def found(text: str) -> list[str]:
        return sorted(index.query(*SCOPE, text, syntax="web", complete=False))

    assert found("title:java") == ["1", "3"]
    assert found("title:ja*") == ["1", "3"]
    assert found("java -title:java") == ["2"]
    assert found("title:java body:island") == ["1"]
    assert found("body:java OR body:good") == ["2", "3"]
    assert found('title:"java tools"') == found('java title:"tools java"') == ["3"], "each word in the field"
    assert found('title:"java tools" OR body:java') == ["2", "3"]
    assert found('java -title:"java"') == ["2"]
    assert found('java -title:"java tools"') == ["1", "2", "3"], "a refused item is one word"
    assert found("http:java") == [], "no field of the bucket: the words count as typed"
    explained = index.explain(*SCOPE, "title:java", syntax="web")
    assert explained.notes == ()
    assert "title:java" in str(explained)


def test_signs_and_fields_mix(index: sonicpy.Index) -> None:
    """The answers to random queries of signs, fields and OR beside a set of words for each field of each object."""
    chance, words, fields = random.Random(3), ("java", "tools", "island"), ("title", "body", "")
    held: dict[str, dict[str, set[str]]] = {}
    for number in range(40):
        texts = {name: {word for word in words if chance.random() < 0.4} for name in ("title", "body")}
        held[str(number)] = {**texts, "": texts["title"] | texts["body"]}
        index.upsert(*SCOPE, number, {name: " ".join(sorted(text)) or "empty" for name, text in texts.items()})
    for _ in range(150):
        eithers = [
            [(chance.choice(fields), chance.choice(words)) for _ in range(chance.choice((1, 1, 2, 3)))]
            for _ in range(chance.randint(1, 3))
        ]
        refused = [(chance.choice(fields), chance.choice(words)) for _ in range(chance.choice((0, 0, 1)))]
        shown = [[f"{field}:{word}" if field else word for field, word in each] for each in (*eithers, refused)]
        text = " ".join([" OR ".join(each) for each in shown[:-1]] + [f"-{one}" for one in shown[-1]] + [""])
        expected = {
            oid
            for oid, texts in held.items()
            if all(any(word in texts[field] for field, word in each) for each in eithers)
            and not any(word in texts[field] for field, word in refused)
        }
        assert set(index.query(*SCOPE, text, syntax="web", match="all", limit=100)) == expected, text


def test_no_part_of_a_text_is_lexed_twice(index: sonicpy.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.push(*SCOPE, "o1", "java tools", field="title")
    lexed: list[str] = []
    lex_piece = Lexer.lex_piece

    def counting(lexer: Lexer, text: str, code: str | None) -> Any:
        lexed.append(text)
        return lex_piece(lexer, text, code)

    monkeypatch.setattr(Lexer, "lex_piece", counting)
    text = "title:java OR title:rust title:tools -title:other"
    assert index.query(*SCOPE, text, syntax="web").objects == ["o1"]
    assert sorted(lexed) == ["", "java", "java rust tools ", "rust", "tools"]


def test_a_bucket_has_eight_names(index: sonicpy.Index) -> None:
    for number in range(8):
        index.push(*SCOPE, "o", "text", field=f"f{number}")
    with pytest.raises(InvalidArgument, match="allowed are 8"):
        index.push(*SCOPE, "o", "more", field="f8")
    assert index.query(*SCOPE, "more") == []
    assert index.flush(*SCOPE) == 1
    index.push(*SCOPE, "o", "more", field="f8")
    assert list(index.query(*SCOPE, "more", fields="f8")) == ["o"]


def test_a_named_text_that_is_not_unicode_is_refused_alone(index: sonicpy.Index) -> None:
    rows = [("o1", {"title": "fine"}), ("o2", {"title": "lone \ud800"}), ("o3", {"title": "fine", "body": "too"})]
    report = index.push_many(rows, collection="c", bucket="b", upsert=True)
    assert report.refused == [Refused(1, "o2", "the text is not Unicode: character 5 is a lone surrogate")]
    assert index.mirror(rows, collection="c", bucket="b").unchanged == 2
    assert index.check_mirror(rows, collection="c", bucket="b").samples["missing"] == ["o2"]


def test_stats_count_the_objects_of_each_field(index: sonicpy.Index) -> None:
    chance = random.Random(11)
    held: dict[str, dict[str, str]] = {}
    for number in range(120):
        oid = f"o{chance.randrange(60)}"
        texts = {name: chance.choice(["", some_text(chance)]) for name in chance.sample(["", *NAMES], 2)}
        if number % 9 == 8:
            index.flush(*SCOPE, oid)
            held.pop(oid, None)
        else:
            index.upsert(*SCOPE, oid, texts)
            held[oid] = texts
    counts = {name: sum(bool(texts.get(name)) for texts in held.values()) for name in sorted(NAMES)}
    assert index.stats(*SCOPE)["fields"] == counts
    assert index.stats()["hidden_words"] == index.stats(*SCOPE)["hidden_words"] == 0
    for oid in held:
        index.upsert(*SCOPE, oid, "no field")
    assert "fields" not in index.stats(*SCOPE)


def test_explain_names_the_field_that_lacks_a_word(index: sonicpy.Index) -> None:
    index.upsert(*SCOPE, "1", {"title": "Java", "body": "an island"})
    inside = index.explain(*SCOPE, "java island", fields="title")
    assert inside.fields == ("title",) and inside.advice == ["No object holds 'island' in the field title."]
    assert sonicpy.Explanation.from_json(inside.to_json()) == inside
    signed = index.explain(*SCOPE, "title:island", syntax="web")
    assert [term.field for term in signed.terms] == ["title"]
    refused = index.explain(*SCOPE, "island -title:Java -nothing", syntax="web").terms[1:]
    assert {(term.word, term.role, term.field) for term in refused} == {
        ("java", "refused", "title"), ("nothing", "refused", None)
    }  # fmt: skip
    assert signed.advice == ["No object holds 'island' in the field title, and an object must hold it."]
    assert sonicpy.Explanation.from_json(signed.to_json()) == signed
    assert '"field"' not in index.explain(*SCOPE, "island").to_json()
    assert "in the field title or note" in str(index.explain(*SCOPE, "island", fields=["title", "note"]))
    for fields in ({"title": 5}, None):
        everywhere = index.explain(*SCOPE, "java nothing", fields=fields)
        assert not everywhere.fields and '"fields"' not in everywhere.to_json()
        assert "No object holds 'nothing'; " in everywhere.advice[0]
    assert {part.times for hit in index.explain(*SCOPE, "java", fields={"title": 5}).hits for part in hit.parts} == {1}


def test_a_word_or_a_word_of_a_field_finds_words_that_came_later() -> None:
    """Words and named texts change at different times, so windows that are kept for one half are not right for both."""
    with sonicpy.open(":memory:") as index:
        texts = (
            {"title": "ruby" if number % 3 else "python", "body": "alpha beta java" if number % 2 else "rust"}
            for number in range(3000)
        )
        rows = [{"id": f"o{number}", **text} for number, text in enumerate(texts)]
        index.push_many(rows, collection="c", bucket="b", lang="none", text={"title": "title", "body": "body"})
        for number in range(3000, 3600):
            index.push("c", "b", f"o{number}", "java" if number % 2 else "rust", lang="none")
        index.commit()
        for number in range(3000, 3600, 200):
            found = index.query("c", "b", "java OR title:python", syntax="web", lang="none", limit=5000)
            assert f"o{number}" not in found
            index.push("c", "b", f"o{number}", "java", lang="none")
            index.commit()
            found = index.query("c", "b", "java OR title:python", syntax="web", lang="none", limit=5000)
            assert f"o{number}" in found


def test_whole_words_of_a_field_are_counted_beside_a_word_that_begins_so(index: sonicpy.Index) -> None:
    index.upsert(*SCOPE, "1", {"title": "京都"})
    index.upsert(*SCOPE, "2", {"title": "大阪", "body": "京都府立"})
    found = index.query(*SCOPE, "title:京都", syntax="web", total=True)
    assert (list(found), found.total, found.whole) == (["1"], 1, 1)
