"""Odd arguments of the library: a right answer or one sentence that names the argument; never half of a change."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
import sonicpy.keyvalue
from sonicpy import Index, InvalidArgument
from tests.index.test_kinds_of_arguments import B, C, Markup
from tests.support.examples import some

LONG = "x" * 10_000


def odd(value: Any) -> Any:
    """Return a value, so that type checkers allow it as any argument."""
    return value


def nested(depth: int) -> Any:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.fixture
def index() -> Iterator[Index]:
    with sonicpy.open(":memory:") as opened:
        opened.upsert(C, B, "o1", "red shirt", tags=["red"], values={"price": 5})
        yield opened


SCOPED: dict[str, Callable[[Index, str, str], Any]] = {
    "upsert": lambda index, c, b: index.upsert(c, b, "o1", "hat"),
    "pop": lambda index, c, b: index.pop(c, b, "o1", "red"),
    "tag": lambda index, c, b: index.tag(c, b, "o1", ["blue"]),
    "flush object": lambda index, c, b: index.flush(c, b, "o1"),
    "flush bucket": lambda index, c, b: index.flush(c, b),
    "flush": lambda index, c, b: index.flush(c),
    "claim": lambda index, c, b: index.claim(c, b, "shop"),
    "rows": lambda index, c, b: index.push_many([("o2", "hat")], collection=c, bucket=b).indexed,
    "mirror": lambda index, c, b: index.mirror([("o2", "hat")], collection=c, bucket=b).changed,
    "drop": lambda index, c, b: index.drop_vectors(c, b),
    "query": lambda index, c, b: index.query(c, b, "shirt").objects,
    "count": lambda index, c, b: index.count(c, b),
    "exists": lambda index, c, b: index.exists(c, b, "o1"),
    "digests": lambda index, c, b: index.digests(c, b, ["o1"]),
    "stats": lambda index, c, b: index.stats(c, b)["objects"],
}


@pytest.mark.parametrize("call", some(SCOPED, 2))
@pytest.mark.parametrize("bucket", some([B, "new"], 2))
def test_names_of_buckets_may_be_of_a_kind_of_str(index: Index, call: str, bucket: str) -> None:
    found = []
    for kind in (str, Markup):
        index.flush(C)
        index.upsert(C, B, "o1", "red shirt")
        answer = SCOPED[call](index, kind(C), kind(bucket))
        found.append((answer, [[name, index.objects(C, name), index.words(C, name)] for name in index.buckets(C)]))
        assert index.verify() == []
    assert found[0] == found[1]


REFUSED: dict[str, tuple[str, Callable[[Index], Any]]] = {
    "fields": ("field is ", lambda index: index.query(C, B, "x", fields=odd([[]]))),
    "facets": ("facets is ", lambda index: index.query(C, B, "x", facets=odd([["a"]]))),
    "lang": ("lang is of type list", lambda index: index.push(C, B, "o2", "x", lang=nested(3_000))),
    "long field": ("field is 'xxx", lambda index: index.push(C, B, "o2", "x", field=LONG)),
    "long fields": ("fields names 'xxx", lambda index: index.query(C, B, "x", fields=LONG)),
    "long column": ("column is 'xxx", lambda index: index.drop_vectors(C, B, LONG)),
    "surrogate": ("folder is ", lambda index: index.backup("\ud800")),
    "restored": ("folder is ", lambda index: index.restore("\ud800")),
    "limit": ("limit is True", lambda index: index.suggest(C, B, "shi", limit=True)),
    "progress": ("progress is 1;", lambda index: index.mirror([], collection=C, bucket=B, progress=odd(1))),
    "report": ("report is of type list;", lambda index: index.push_many([], collection=C, bucket=B, report=odd([]))),
    "objects": ("objects is None", lambda index: index.digests(C, B, odd(None))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_argument_and_changes_nothing(index: Index, name: str) -> None:
    begins, call = REFUSED[name]
    index.suggest(C, B, "shi", limit=1)
    with pytest.raises(InvalidArgument) as refused:
        call(index)
    assert str(refused.value).startswith(begins) and len(str(refused.value)) < 600
    assert index.objects(C, B) == ["o1"] and index.words(C, B) == ["red", "shirt"]


def test_a_limit_beyond_every_number() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o1", "shirt")
        assert index.suggest(C, B, "shi", limit=2**70) == ["shirt"]


def test_a_filter_of_a_kind_of_str(index: Index) -> None:
    assert index.query(C, B, "shirt", filter=Markup("price = 5")) == ["o1"]
    assert index.query(C, B, "shirt", filter=Markup("price = 6")) == []


def test_arrays(index: Index) -> None:
    numpy = pytest.importorskip("numpy")
    none, several = numpy.array(1), numpy.array(["a", "b"])
    calls: dict[str, Callable[[], Any]] = {
        "fields": lambda: index.query(C, B, "x", fields=odd(none)),
        "rows": lambda: index.push_many(none, collection=C, bucket=B),
        "tags": lambda: index.push(C, B, "o2", "x", tags=none),
        "rules": lambda: index.set_synonyms(C, none),
        "values": lambda: index.push_many([], collection=C, bucket=B, values=several),
        "vector": lambda: index.push_many([], collection=C, bucket=B, vector=several),
        "of": lambda: index.count(C, B, of=several),
    }
    for name, call in calls.items():
        with pytest.raises(InvalidArgument, match=f"^{name} is "):
            call()
    assert index.suggest(C, B, "shi", limit=none) == ["shirt"]
    assert index.objects(C, B) == ["o1"]


class Ambiguous:
    """A value that is neither true nor false, as `pandas.NA` and arrays of several numbers are."""

    def __bool__(self) -> bool:
        raise TypeError("the truth value is ambiguous")


TEXTS: dict[str, Callable[[Index, Any], Any]] = {
    "push": lambda index, text: index.push(C, B, "o2", text),
    "tagged": lambda index, text: index.push(C, B, "o2", text, tags=["red"]),
    "upsert": lambda index, text: index.upsert(C, B, "o2", text),
    "query": lambda index, text: index.query(C, B, text),
    "several": lambda index, text: index.query(C, [B, "new"], text),
    "filtered": lambda index, text: index.query(C, B, text, filter="red", group="price"),
    "explain": lambda index, text: index.explain(C, B, text),
    "facets": lambda index, text: index.facets(C, B, text, of="*"),
}


@pytest.mark.parametrize("call", TEXTS)
@pytest.mark.parametrize("embed", [None, lambda texts: [[1.0] * 24 for _ in texts]], ids=["plain", "embedded"])
@pytest.mark.parametrize("text", [None, 5, float("nan"), ["a"], b"a", Ambiguous()], ids=lambda one: type(one).__name__)
def test_a_text_of_another_kind(call: str, embed: Any, text: Any) -> None:
    with sonicpy.open(":memory:", embed=embed) as index:
        index.upsert(C, B, "o1", "red shirt")
        with pytest.raises(InvalidArgument, match="^text is .*; allowed is a str$"):
            TEXTS[call](index, text)
        assert index.objects(C, B) == ["o1"]


@pytest.mark.parametrize("opened", [sonicpy.open, sonicpy.keyvalue.open, Index])
@pytest.mark.parametrize("scheme", ["sonic", "SONICS", "sonic+unix", "http", "https"])
def test_the_address_of_a_server_is_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Callable[[Any], Any], scheme: str
) -> None:
    monkeypatch.chdir(tmp_path)
    address = f"{scheme}://:secret@localhost:1491"
    for path in (address, Path(address)):
        with pytest.raises(InvalidArgument, match="^path is the address of a server: use sonicpy.connect; ") as refused:
            opened(path)
        assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []
    opened("sonic").close()  # no address
