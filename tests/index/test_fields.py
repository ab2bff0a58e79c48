"""Fields: named texts of objects, against plain sets, a slow scorer, and buckets that hold one field alone."""

import random
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
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
    """Objects as dicts of sets of words: of all of them under "", and of each named text."""

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
            index._engine.store.commit()


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
