"""Names of a kind of str with its own `str()`, such as members of enumerations, reach the server as their letters."""

from collections.abc import Callable
from typing import Any

import pytest

import sonicpy
from sonicpy.pytest_plugin import SonicpyServer
from tests.index.test_kinds_of_arguments import Markup

Both = sonicpy.Client | sonicpy.Index

CALLS: dict[str, Callable[[Both, str, str], Any]] = {
    "push": lambda target, c, b: target.push(c, b, "o2", "hat"),
    "upsert": lambda target, c, b: target.upsert(c, b, "o1", "hat") and None,
    "rows": lambda target, c, b: target.push_many([("o2", "hat")], collection=c, bucket=b).indexed,
    "pop": lambda target, c, b: target.pop(c, b, "o1", "red"),
    "tag": lambda target, c, b: target.tag(c, b, "o1", ["blue"]),
    "claim": lambda target, c, b: target.claim(c, b, "shop"),
    "rules": lambda target, c, b: target.set_synonyms(c, ["shirt, blouse"]),
    "flush object": lambda target, c, b: target.flush(c, b, "o1"),
    "flush tagged": lambda target, c, b: target.flush(c, b, filter="red"),
    "flush bucket": lambda target, c, b: target.flush(c, b),
    "flush": lambda target, c, b: target.flush(c),
    "query": lambda target, c, b: target.query(c, b, "shirt").objects,
    "similar": lambda target, c, b: target.similar(c, b, "o1").objects,
    "suggest": lambda target, c, b: target.suggest(c, b, "shi"),
    "words": lambda target, c, b: target.words(c, b),
    "objects": lambda target, c, b: target.objects(c, b),
    "exists": lambda target, c, b: target.exists(c, b, "o1"),
    "count": lambda target, c, b: target.count(c, b, of="objects"),
    "buckets": lambda target, c, b: target.buckets(c),
    "synonyms": lambda target, c, b: target.synonyms(c),
    "stats": lambda target, c, b: target.stats(c, b)["objects"],
}


def after(target: Both, call: str) -> list[Any]:
    """Make a call with odd names; return its answer, and all that the target holds then."""
    target.push("c", "b", "o1", "red shirt", tags=["red"])
    answer = CALLS[call](target, Markup("c"), Markup("b"))
    held = [[name, target.objects("c", name), target.words("c", name)] for name in target.buckets("c")]
    return [answer, held, target.buckets("other"), target.synonyms("c"), target.synonyms("other")]


@pytest.mark.parametrize("call", CALLS)
def test_a_server_answers_as_an_index(sonicpy_server: SonicpyServer, call: str) -> None:
    with sonicpy.open(":memory:") as index, sonicpy_server.connect() as client:
        assert after(client, call) == after(index, call)


def test_odd_options(sonicpy_server: SonicpyServer) -> None:
    numpy = pytest.importorskip("numpy")
    with sonicpy_server.connect() as client:
        client.push("c", "b", "o1", "red shirt")
        assert client.query("c", "b", "shirt", meaning=-0.0) == ["o1"]
        with pytest.raises(sonicpy.InvalidArgument, match="^rules is a "):
            client.set_synonyms("c", numpy.array("a, b"))
        with pytest.raises(sonicpy.InvalidArgument, match="^add is "):
            client.set_synonyms("c", [], add=numpy.array([1, 2]))
