"""Phrases of common words: their objects are checked in steps, between which others are served."""

import asyncio
import json
import shutil
import urllib.parse
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy import Index
from sonicpy._native.mask import AllOf, AnyOf
from sonicpy.errors import StoreFull
from sonicpy.index.search.phrases import CheckedTooMany, PhraseChecks
from sonicpy.server.connections import phrase_turns
from sonicpy.server.connections.phrase_turns import PhraseTurns
from tests.processes import Server, free_port
from tests.support.examples import some

ORDERED = {"store": {"order": True}}
OBJECTS = 5_000
"""A number of objects above that of a window, and above that of a turn."""
QUESTIONS: list[dict[str, Any]] = [
    {"total": True},
    {"total": True, "limit": 3, "offset": 2},
    {"sort": "price", "total": True},
    {"boost": "price", "filter": "third"},
    {"group": "third", "total": True},
    {"how": True},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("phrases") / "store"
    with sonicpy.open(made, config=ORDERED) as index, index.batch():
        for number in range(OBJECTS):
            words = "beta alpha" if number % 900 == 7 else "alpha beta"
            tags, bucket = (["third"] if number % 3 == 0 else []), "b" if number < OBJECTS - 100 else "other"
            index.push(
                "c", bucket, f"o{number}", f"{words} x{number}", "none", tags=tags, values={"price": number * 7 % 1_000}
            )
    return made


@pytest.fixture
def index(folder: Path) -> Iterator[Index]:
    with sonicpy.open(folder, config=ORDERED) as opened:
        yield opened


def in_steps(index: Index, ask: Any) -> tuple[Any, int]:
    """Return an answer in steps, and the number of passes of the loop meanwhile."""

    async def count() -> tuple[Any, int]:
        passes = 0
        answering = asyncio.create_task(PhraseTurns().answer(index, ask))
        while not answering.done():
            passes += 1
            await asyncio.sleep(0)
        return await answering, passes

    return asyncio.run(count())


def asked(buckets: Any, phrase: str, options: dict[str, Any], answers: Any) -> Any:
    return answers.query("c", buckets, "", phrase=phrase, **options)


@pytest.mark.parametrize("options", some(QUESTIONS, 2), ids=map(str, QUESTIONS))
def test_answers_in_steps_are_those_in_one(
    index: Index, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phrase_turns, "STEP_S", 0.0)
    monkeypatch.setattr(phrase_turns, "AT_ONCE", 100)
    for buckets in ("b", ["b", "other"]):
        for phrase in ("beta alpha", "beta alpha beta"):
            expected = index.query("c", buckets, "", phrase=phrase, **options)
            ask = partial(asked, buckets, phrase, options)
            found, passes = in_steps(index, ask)
            assert list(map(str, found)) == list(map(str, expected))
            assert (found.pairs(), found.total, found.groups) == (expected.pairs(), expected.total, expected.groups)
            assert passes >= 3
    found, _ = in_steps(index, lambda answers: answers.facets("c", "b", "", phrase="beta alpha", of="*"))
    assert found == index.facets("c", "b", "", phrase="beta alpha", of="*")


def test_a_question_shows_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrase_turns, "AT_ONCE", 10)
    monkeypatch.setattr(phrase_turns, "STEP_S", 0.0)
    with sonicpy.open(tmp_path / "i", config=ORDERED) as index:
        for number in range(50):
            index.push("c", "b", f"o{number}", "alpha beta", "none")
        tries: list[int] = []

        def ask(answers: Any) -> Any:
            tries.append(len(tries))
            index.push("c", "b", f"new{len(tries)}", "alpha beta", "none")
            return answers.query("c", "b", "", phrase="alpha beta", total=True)

        found, _ = in_steps(index, ask)
        assert len(tries) > 1 and found.total == 50
        assert index.query("c", "b", "", phrase="alpha beta", total=True).total == 50 + len(tries)


def test_an_allowance_is_kept(index: Index) -> None:
    for options in QUESTIONS[:3]:
        with pytest.raises(CheckedTooMany), PhraseChecks(3_000).trying():
            index.query("c", "b", "", phrase="beta beta", **options)
    with PhraseChecks(3_000).trying():
        assert len(index.query("c", "b", "", phrase="alpha beta")) == 10, "the best objects are looked at first"


def test_an_allowance_that_is_used_up_undoes_no_change(tmp_path: Path) -> None:
    """A question that is put off leaves changes that wait for their commit as they are: none is made again."""
    with sonicpy.open(tmp_path / "i", config=ORDERED) as index, index.engine.changing():
        for number in range(50):
            index.push("c", "b", f"o{number}", "alpha beta", "none")
        store = index.engine.store
        recoveries = store.recoveries
        assert store.uncommitted
        with pytest.raises(CheckedTooMany), PhraseChecks(10).trying():
            index.query("c", "b", "", phrase="alpha beta", total=True)
        index.push("c", "b", "o50", "alpha beta", "none")
        assert index.query("c", "b", "", phrase="alpha beta", total=True).total == 51
        assert store.recoveries == recoveries


def test_objects_are_looked_at_once(index: Index) -> None:
    checks = PhraseChecks(1)
    with index.engine.read_words("c", "b") as lexicon:
        assert lexicon is not None
        phrase: Any = checks.mask(lexicon.reader, ((b"alpha",), (b"beta",)))
        assert sum(1 for _ in checks.steps()) == phrase.count
        checked = phrase.checked
        with checks.trying():
            both = AllOf(phrase.count, [phrase, phrase])
            assert both.has(0) and not both.has(7)
            assert AnyOf(phrase.count, [both]).total() == phrase.total() > 4_000
        assert phrase.checked == checked


def test_many_objects_of_a_window_are_read_together(index: Index) -> None:
    with index.engine.read_words("c", "b") as lexicon:
        assert lexicon is not None
        phrase: Any = PhraseChecks().mask(lexicon.reader, ((b"alpha",), (b"beta",)))
        held = [iid for iid in range(2_000) if phrase.has(iid)]
        assert len(held) == 1_997
        assert 4_096 <= phrase.checked < 4_110, "a few alone, then the window"


@pytest.mark.full
@pytest.mark.parametrize("processes", [0, 1])
def test_the_server_answers_in_steps(folder: Path, index: Index, processes: int) -> None:
    expected = index.query("c", "b", "", phrase="beta alpha", total=True)
    facets = index.facets("c", "b", "", phrase="beta alpha", of="*")
    index.close()
    port = free_port()
    settings = {
        "store.order": "true",
        "http.inet": f"127.0.0.1:{port}",
        "server.search_processes": str(processes),
    }
    with Server(folder.parent, settings) as server:
        with sonicpy.connect(f"sonic://{server.host}:{server.port}") as client:
            for _ in range(2):
                found = client.query("c", "b", "", phrase="beta alpha", total=True)
                assert (list(found), found.total) == (list(expected), expected.total)
                assert client.query("c", "b", '"beta alpha"', syntax="web", total=True).total == expected.total
                assert client.facets("c", "b", "", phrase="beta alpha", of="*") == facets
                assert client.explain("c", "b", "", phrase="beta alpha").total == expected.total
        named = {"collection": "c", "bucket": "b", "text": "", "phrase": "beta alpha", "total": "true", "of": "*"}
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/query?{urllib.parse.urlencode(named)}") as answer:
            held = json.load(answer)
        assert [hit["object"] for hit in held["hits"]] == list(expected)
        assert (held["total"], held["facets"]) == (expected.total, facets.to_dict())


def test_phrases_of_common_words_are_answered_while_changes_are_refused(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path / "store")
    with Index(tmp_path / "store", config=ORDERED, autocommit=False) as index:
        index.engine.store.refuse("a reader keeps the space")
        monkeypatch.setattr(type(index.engine.store), "commit", refuse_to_commit)
        found, _ = in_steps(index, partial(asked, "b", "beta alpha", {"total": True}))
        assert found.total == len(range(7, OBJECTS - 100, 900))
        monkeypatch.undo()
        index.engine.store.refuse(None)


def refuse_to_commit(store: object) -> None:
    raise StoreFull("no room")
