"""Both clients of a server give the answers of the library."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

import sonicpy
from tests.client.ways import WAYS
from tests.processes import HOST, Server
from tests.support.examples import some

SCOPE = ("c", "b")
TEXTS = {"o1": "Sunny weather", "o2": "weather", "o3": "sun"}


@pytest.fixture(scope="module", params=["0", "1"], ids=["one process", "search processes"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("same"), {"server.search_processes": request.param}) as running:
        yield running


@pytest.fixture(params=WAYS)
def client(request: pytest.FixtureRequest, server: Server) -> Iterator[Any]:
    with WAYS[request.param](f"sonic://{HOST}:{server.port}") as opened:
        yield opened


@pytest.fixture
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:") as opened:
        yield opened


ORDERS: list[dict[str, Any]] = [
    {}, {"filter": "a"}, {"group": "p"}, {"sort": "p"}, {"sort": "newest"}, {"sort": "p", "group": "p"},
]  # fmt: skip


def test_how_many_objects_hold_whole_words(client: Any, index: sonicpy.Index) -> None:
    client.flush("c")
    for source in (client, index):
        for place, (name, text) in enumerate(TEXTS.items()):
            source.push(*SCOPE, name, text, tags=["a"], values={"p": place})
    for text in ("sunn", "wether", "sun", "suny wether", "!!!", ""):
        for options in ORDERS if text else ORDERS[3:]:
            for limit in (0, 1, 10):
                found, wanted = (one.query(*SCOPE, text, total=True, limit=limit, **options) for one in (client, index))
                assert (found.objects, found.total, found.whole) == (wanted.objects, wanted.total, wanted.whole), text
    assert client.query(*SCOPE, "wether", total=True, sort="p").whole is None
    assert client.query(*SCOPE, "wether", total=True).whole == 0


def test_a_limit_of_none(client: Any, index: sonicpy.Index) -> None:
    for source in (client, index):
        source.push("limits", "b", "o", "sunny weather", tags=["red"])
    for text in ("sunny", "wether", "nothing"):
        found, wanted = (one.explain("limits", "b", text, limit=0) for one in (client, index))
        assert found.hits == wanted.hits == () and found.total == wanted.total
        assert (found.terms, found.advice) == (wanted.terms, wanted.advice)
        for one in (client, index):
            assert one.suggest("limits", "b", text, limit=0) == one.query("limits", "b", text, limit=0) == []
            assert one.facets("limits", "b", text, of="*", limit=0).tags == {"": {}}


BACKSLASHES = ["\\", "\\\\", "\\\\\\", '\\"', '"\\', "\\n", "\\r", "\n\\", "\\\n", "\\\\n", "\\u0041", " \\", "\\ "]
OTHERS = [" ", '"', "\n", "-", ".", "(", "/", "%5C", "+"]
MISSPELT = {"wether": "weather", "lisbn": "lisbon", "nmes": "names"}
TYPED = [*MISSPELT, *MISSPELT.values(), "sunny", "temp", "c", "n"]


def text_with_backslashes(chance: random.Random) -> str:
    """Return words with backslashes and other signs between them, without white space that lines do not keep."""
    signs = [chance.choice(BACKSLASHES if chance.random() < 0.7 else OTHERS) for _ in range(chance.randint(1, 5))]
    text = "".join(f"{chance.choice(TYPED)}{sign}" for sign in signs)
    text = f"{chance.choice(['', chr(92)])}{text}{chance.choice([*MISSPELT, chr(92), 'sunn', ''])}"
    return " ".join(part for part in text.split(" ") if part)


@pytest.mark.parametrize("seed", some(range(4), 4))
def test_texts_with_backslashes_come_back_as_they_were_typed(client: Any, index: sonicpy.Index, seed: int) -> None:
    texts = ["weather in lisbon", "sunny names\\temp", "c:\\temp\\names", "n \\\\server\\share"]
    client.flush("c")
    for source in (client, index):
        for place, text in enumerate(texts):
            source.upsert(*SCOPE, f"o{place}", text)
        source.consolidate()
    chance, corrected = random.Random(seed), 0
    for _ in range(60):
        text = text_with_backslashes(chance)
        for syntax in ("plain", "web"):
            found, wanted = (one.query(*SCOPE, text, how=True, syntax=syntax) for one in (client, index))
            assert (found.corrected, found.hows) == (wanted.corrected, wanted.hows), text
            if found.corrected is not None:
                corrected += 1
                again, wanted = (one.query(*SCOPE, found.corrected, how=True) for one in (client, index))
                assert (again.objects, again.corrected) == (wanted.objects, wanted.corrected), text
        assert client.explain(*SCOPE, text).text == text
        typed = f"{text.split(' ')[-1].strip()}/sunn"
        assert client.suggest(*SCOPE, typed) == index.suggest(*SCOPE, typed), typed
    assert corrected > 20


def test_rules_with_backslashes_come_back_as_they_were_given(client: Any) -> None:
    rules = ["a\\b => tv", 'x"y, tv', "c\\\\d, tv", "e\\n, tv", '\\"f, tv']
    assert client.set_synonyms("rules", rules) == len(rules)
    assert client.synonyms("rules") == rules
    assert client.set_synonyms("rules", client.synonyms("rules"), add=True) == len(rules)
