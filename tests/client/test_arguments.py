"""Wrong arguments: every public method of the library and of both clients names the wrong one in a sentence."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy import ConfigError, InvalidArgument, SonicError
from sonicpy.search import FacetSearch
from tests.client.ways import WAYS
from tests.processes import Server

SCOPE = r"1 to 128 ASCII characters without white space"
OBJECT = r"1 to 128 bytes of UTF-8 without white space and control characters, or a whole number"
NUMBER = "a whole number from 0 on"
STR = "a str"
SWITCH = "True and False"
LANGUAGE = "a language of sonicpy.langcodes"

Call = Callable[[Any], object]

OF_A_BUCKET: list[tuple[str, Call, str, str]] = [
    ("push", lambda b: b.push(None, "x"), "object", OBJECT),
    ("push", lambda b: b.push(1.5, "x"), "object", OBJECT),
    ("push", lambda b: b.push(True, "x"), "object", OBJECT),
    ("push", lambda b: b.push(b"o", "x"), "object", OBJECT),
    ("push", lambda b: b.push("two words", "x"), "object", OBJECT),
    ("push", lambda b: b.push("a\0", "x"), "object", OBJECT),
    ("push", lambda b: b.push("o", 5), "text", STR),
    ("push", lambda b: b.push("o", "x", tags="red"), "tags", "a list of tags"),
    ("push", lambda b: b.push("o", "x", tags=["a\n"]), "tags", "128 bytes"),
    ("push", lambda b: b.push("o", "x", tags=[f"t{number}" for number in range(65)]), "tags", "64"),
    ("push", lambda b: b.push("o", "x", values={"price": 1.5}), "the value price", "a whole number"),
    ("tag", lambda b: b.tag([], ["red"]), "object", OBJECT),
    ("tag", lambda b: b.tag("o", [""]), "tags", "128 bytes"),
    ("tag", lambda b: b.tag("o", values={"1": 1}), "a value", "letters"),
    ("tag", lambda b: b.tag("o", values=[("a", 1)]), "values", "a dict"),
    ("tag", lambda b: b.tag("o", values={"a": 2**63}), "the value a", "64 bits"),
    ("tag", lambda b: b.tag("o"), "tags", "one of them"),
    ("push_many", lambda b: b.push_many([], tags=5), "tags", "column"),
    ("push_many", lambda b: b.push_many([], values=["two words"]), "a value", "letters"),
    ("push", lambda b: b.push("o", None), "text", STR),
    ("push", lambda b: b.push("o", ["x"]), "text", STR),
    ("push", lambda b: b.push("o", "x", "klingon"), "lang", LANGUAGE),
    ("push", lambda b: b.push("o", "x", ["en"]), "lang", LANGUAGE),
    ("push", lambda b: b.push("o", "x", 5), "lang", LANGUAGE),
    ("push_many", lambda b: b.push_many([], object=5), "object", "the name of a column"),
    ("push_many", lambda b: b.push_many([], text=5), "text", "the name of a column, and several names"),
    ("push_many", lambda b: b.push_many([], text=[]), "text", "the name of a column, and several names"),
    ("push_many", lambda b: b.push_many([], lang="klingon"), "lang", LANGUAGE),
    ("push_many", lambda b: b.push_many([], new="yes"), "new", SWITCH),
    ("pop", lambda b: b.pop({}, "x"), "object", OBJECT),
    ("pop", lambda b: b.pop("o", 5), "text", STR),
    ("query", lambda b: b.query(5), "text", STR),
    ("query", lambda b: b.query("x", limit=-1), "limit", NUMBER),
    ("query", lambda b: b.query("x", limit="10"), "limit", NUMBER),
    ("query", lambda b: b.query("x", limit=True), "limit", NUMBER),
    ("query", lambda b: b.query("x", limit=1.0), "limit", NUMBER),
    ("query", lambda b: b.query("x", limit=None), "limit", NUMBER),
    ("query", lambda b: b.query("x", offset=-1), "offset", NUMBER),
    ("query", lambda b: b.query("x", lang="klingon"), "lang", LANGUAGE),
    ("query", lambda b: b.query("x", stem="no"), "stem", SWITCH),
    ("query", lambda b: b.query("x", total=[]), "total", SWITCH),
    ("explain", lambda b: b.explain(None), "text", STR),
    ("explain", lambda b: b.explain("x", limit=-1), "limit", NUMBER),
    ("explain", lambda b: b.explain("x", lang=5), "lang", LANGUAGE),
    ("explain", lambda b: b.explain("x", stem="no"), "stem", SWITCH),
    ("suggest", lambda b: b.suggest(5), "word", STR),
    ("suggest", lambda b: b.suggest([]), "word", STR),
    ("suggest", lambda b: b.suggest("x", limit=-1), "limit", NUMBER),
    ("similar", lambda b: b.similar([]), "object", OBJECT),
    ("similar", lambda b: b.similar("o", limit=-1), "limit", NUMBER),
    ("words", lambda b: b.words(limit=-1), "limit", NUMBER),
    ("words", lambda b: b.words(offset="1"), "offset", NUMBER),
    ("words", lambda b: b.words(prefix=5), "prefix", STR),
    ("words", lambda b: b.words(after=5), "after", STR),
    ("objects", lambda b: b.objects(limit=-1), "limit", NUMBER),
    ("objects", lambda b: b.objects(prefix=5), "prefix", STR),
    ("objects", lambda b: b.objects(after=[]), "object", OBJECT),
    ("exists", lambda b: b.exists([]), "object", OBJECT),
    ("exists", lambda b: b.exists(float("nan")), "object", OBJECT),
    ("count", lambda b: b.count([]), "object", OBJECT),
    ("count", lambda b: b.count(of="buckets"), "of", '"words" and "objects"'),
    ("count", lambda b: b.count("o", of="objects"), "of", '"words"'),
    ("flush", lambda b: b.flush([]), "object", OBJECT),
    ("drop_vectors", lambda b: b.drop_vectors(5), "column", STR),
    ("upsert", lambda b: b.upsert([], "x"), "object", OBJECT),
    ("upsert", lambda b: b.upsert("o", 5), "text", STR),
    ("upsert", lambda b: b.upsert("o", "x", "klingon"), "lang", LANGUAGE),
    ("upsert", lambda b: b.upsert("o", "x", tags="red"), "tags", "a list of tags"),
    ("push_many", lambda b: b.push_many([], upsert="yes"), "upsert", SWITCH),
    ("facets", lambda b: b.facets(5, of="*"), "text", STR),
    ("facets", lambda b: b.facets("x", of="*", limit=-1), "limit", NUMBER),
    ("facets", lambda b: b.facets("x", of="*", apart="no"), "apart", SWITCH),
    ("query", lambda b: b.query("x", meaning=-1), "meaning", "a number from 0 to 100"),
    ("query", lambda b: b.query("x", depth=-1), "depth", NUMBER),
]
"""(method, call, wrong argument, allowed values); the same for the `bucket` of Index, Client and AsyncClient."""

OF_AN_INDEX: list[tuple[str, Call, str, str]] = [
    *[
        (method, lambda i, method=method, rest=rest: getattr(i, method)(["c"], "b", *rest), "collection", SCOPE)
        for method, *rest in (
            ("push", "o", "x"), ("pop", "o", "x"), ("flush",), ("flush", "o"), ("flush_bucket",), ("flush_object", "o"),
            ("query", "x"), ("explain", "x"), ("suggest", "x"), ("similar", "o"), ("words",), ("count",),
            ("count", "o"), ("count_words",), ("count_objects",), ("count_object_words", "o"), ("objects",),
            ("exists", "o"), ("stats",), ("bucket",),
        )
    ],
    *[
        (method, lambda i, method=method, rest=rest: getattr(i, method)("c", 5, *rest), "bucket", SCOPE)
        for method, *rest in (
            ("push", "o", "x"), ("pop", "o", "x"), ("flush",), ("flush", "o"), ("flush_bucket",), ("flush_object", "o"),
            ("query", "x"), ("explain", "x"), ("suggest", "x"), ("similar", "o"), ("words",), ("count",),
            ("count", "o"), ("count_words",), ("count_objects",), ("count_object_words", "o"), ("objects",),
            ("exists", "o"), ("stats",), ("bucket",),
        )
    ],
    *[
        (method, lambda i, method=method: getattr(i, method)(None), "collection", SCOPE)
        for method in ("count", "count_buckets", "flush", "flush_collection", "buckets")
    ],
    ("push_many", lambda i: i.push_many([], collection="two words"), "collection", SCOPE),
    ("push_many", lambda i: i.push_many([], bucket=b"b"), "bucket", SCOPE),
    ("count_object_words", lambda i: i.count_object_words("c", "b", None), "object", OBJECT),
    ("flush_object", lambda i: i.flush_object("c", "b", None), "object", OBJECT),
    ("drop_vectors", lambda i: i.drop_vectors("c", "b", "a b"), "column", "the name of a column of vectors"),
    ("claim", lambda i: i.claim("c", "b", ""), "owner", "1 to 1000 printable characters"),
    ("claim", lambda i: i.claim("c", "b", "x", prefix="a b"), "prefix", "the beginning of a name, such as 'shop:'"),
    ("synonyms", lambda i: i.synonyms(None), "collection", SCOPE),
    ("set_synonyms", lambda i: i.set_synonyms(None, []), "collection", SCOPE),
    ("set_synonyms", lambda i: i.set_synonyms("c", "a, b"), "rules", "a list of texts"),
    ("set_synonyms", lambda i: i.set_synonyms("c", [5]), "rule", STR),
    ("backup", lambda i: i.backup(5), "folder", "the path of a folder"),
    ("restore", lambda i: i.restore(None), "folder", "the path of a folder"),
]  # fmt: skip

OF_THE_LIBRARY: list[tuple[str, Call, str, str]] = [
    ("query_ids", lambda i: i.query_ids("c", "b", "x", limit=-1), "limit", NUMBER),
    ("query_ids", lambda i: i.query_ids("c", "b", None), "text", STR),
    ("push_terms", lambda i: i.push_terms("c", "b", "o", ["x"]), "terms", "a mapping of words to frequencies"),
    ("push_terms", lambda i: i.push_terms("c", "b", None, {}), "object", OBJECT),
    ("holdings", lambda i: list(i.holdings(5)), "collection", SCOPE),
    ("term_stats", lambda i: list(i.term_stats("c", 5)), "bucket", SCOPE),
    ("object_stats", lambda i: list(i.object_stats(5, "b")), "collection", SCOPE),
    ("find_facets", lambda i: i.find_facets(FacetSearch("c", "b", None, 10, None, of="*")), "text", STR),
    ("objects_passing", lambda i: i.objects_passing("c", 5, "red"), "bucket", SCOPE),
    ("text_rules", lambda i: i.text_rules("c", 5), "bucket", SCOPE),
    ("digest", lambda i: i.digest("c", "b", "o", 5), "text", STR),
    ("digest", lambda i: i.digest("c", "b", [], "x"), "object", OBJECT),
    ("digests", lambda i: i.digests("c", "b", [[]]), "object", OBJECT),
    ("iterate_digests", lambda i: list(i.iterate_digests(5, "b")), "collection", SCOPE),
    ("mirror", lambda i: i.mirror([], collection="c", bucket="b", owner=""), "owner", "printable characters"),
    ("mirror", lambda i: i.mirror([], collection="c", bucket="b", prefix=5), "prefix", STR),
    ("mirror", lambda i: i.mirror([], collection="c", bucket="b", whole="no"), "whole", SWITCH),
    ("mirror", lambda i: i.mirror([], collection="c", bucket=5), "bucket", SCOPE),
    (
        "check_mirror",
        lambda i: i.check_mirror([], collection="c", bucket="b", owner=5),
        "owner",
        "printable characters",
    ),
    ("check_mirror", lambda i: i.check_mirror([], collection="c", bucket=5), "bucket", SCOPE),
    ("iterate_objects", lambda i: list(i.iterate_objects("c", "b", prefix=5)), "prefix", STR),
]


@pytest.fixture(scope="module", params=["library", *WAYS])
def index(request: pytest.FixtureRequest, shared_server: Server) -> Iterator[Any]:
    if request.param == "library":
        with sonicpy.open(":memory:") as opened:
            yield opened
    else:
        with WAYS[request.param](f"sonic://{shared_server.host}:{shared_server.port}") as client:
            yield client


def check(call: Call, target: Any, argument: str, allowed: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        call(target)
    message = str(caught.value)
    assert re.match(rf"{argument} (is|has) .*; allowed.* (is|are|is|for) ", message), message
    assert allowed in message and "\n" not in message
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, TypeError)


@pytest.mark.parametrize("number", range(len(OF_A_BUCKET)), ids=lambda n: f"{OF_A_BUCKET[n][0]}-{n}")
def test_methods_of_a_bucket(index: Any, number: int) -> None:
    _, call, argument, allowed = OF_A_BUCKET[number]
    check(call, index.bucket("c", "b"), argument, allowed)


@pytest.mark.parametrize("number", range(len(OF_AN_INDEX)), ids=lambda n: f"{OF_AN_INDEX[n][0]}-{n}")
def test_methods_of_an_index(index: Any, number: int) -> None:
    _, call, argument, allowed = OF_AN_INDEX[number]
    check(call, index, argument, allowed)


@pytest.mark.parametrize("number", range(len(OF_THE_LIBRARY)), ids=lambda n: f"{OF_THE_LIBRARY[n][0]}-{n}")
def test_methods_of_the_library_alone(number: int) -> None:
    _, call, argument, allowed = OF_THE_LIBRARY[number]
    with sonicpy.open(":memory:") as opened:
        check(call, opened, argument, allowed)


def test_other_sentences(index: Any) -> None:
    for call, sentence in (
        (lambda: index.push_many(5), "rows is of type int; allowed are an iterable of tuples or dicts, and a table"),
        (lambda: index.count("c", None, 5), "the object 5 is given without its bucket"),
        (lambda: index.flush("c", None, "o"), "the object 'o' is given without its bucket"),
        (lambda: index.stats(None, "b"), "the bucket 'b' is given without its collection"),
        (lambda: index.push("c", "b", "o", "\ud800"), "text is not Unicode: character 0 is a lone surrogate"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            call()
        assert str(caught.value) == sentence


def test_sentences_about_what_a_bucket_holds(index: Any) -> None:
    index.push("held", "b", "o", "word")
    order: dict[str, Any] = {"sort": "newest"}
    for call, allowed in (
        (lambda: index.suggest("held", "b", "!!!"), "allowed is a word"),
        (lambda: index.objects("held", "b", after="gone"), "an object that exists"),
        (lambda: index.query("held", "b", "word", after="gone", **order), "an object that exists"),
        (lambda: index.query("held", ["b", "x"], "word", after="b/gone", **order), "as <bucket>/<object>"),
    ):
        with pytest.raises(InvalidArgument, match=allowed):
            call()


def test_a_depth_beyond_the_ceiling_means_the_ceiling(index: Any) -> None:
    index.push("deep", "b", "o", "word", vector=[1.0] * 8)
    assert index.query("deep", "b", "word", vector=[1.0] * 8, depth=1_000_000) == ["o"]


def test_every_public_method_is_in_the_tables() -> None:
    tested = {name for name, *_ in [*OF_A_BUCKET, *OF_AN_INDEX, *OF_THE_LIBRARY]}
    without_arguments = {
        "batch", "close", "collections", "commit", "config", "consolidate", "folder", "info", "ping", "read_only",
        "server", "verify", "bucket", "collection", "count_objects",
    }  # fmt: skip
    with sonicpy.open(":memory:") as opened:
        for shown in (dir(opened), dir(opened.bucket("c", "b")), dir(sonicpy.Client), dir(sonicpy.AsyncClient)):
            names = {name for name in shown if not name.startswith("_")} - {"mro", "open"}
            assert names - tested <= without_arguments


def test_how_an_index_is_opened(tmp_path: Path) -> None:
    for call, error, start in (
        (lambda: sonicpy.open(5), InvalidArgument, "path is 5; allowed is the path of a folder"),
        (lambda: sonicpy.open(tmp_path, read_only="no"), InvalidArgument, "read_only is 'no'; allowed are True"),
        (
            lambda: sonicpy.open(tmp_path, ["x"]),
            ConfigError,
            "config is of type list; allowed are a Config",
        ),
        (lambda: sonicpy.open(tmp_path, {"serch": {}}), ConfigError, "serch is not a known key"),
        (lambda: sonicpy.open(tmp_path, {"search": {"ranking": 3}}), ConfigError, "search.ranking is 3; allowed is"),
        (lambda: sonicpy.open(tmp_path, {"search": 5}), ConfigError, "search is 5; allowed is a section"),
        (lambda: sonicpy.open(tmp_path, {"search": 5, "search.ranking": "bm25"}), ConfigError, "search.ranking cannot"),
        (lambda: sonicpy.connect(5), ConfigError, "the address of the server is of type int; allowed is a str"),
        (lambda: sonicpy.connect("sonic://", password=5), ConfigError, "the password of the server is of type int"),
        (
            lambda: sonicpy.connect("sonic://", timeout_s="1"),
            InvalidArgument,
            "timeout_s is '1'; allowed is any",
        ),
        (lambda: sonicpy.connect("sonic://", pool_size=0), InvalidArgument, "pool_size is 0; allowed is any number"),
    ):
        with pytest.raises(SonicError) as caught:
            call()  # type: ignore[no-untyped-call]
        assert type(caught.value) is error and str(caught.value).startswith(start)
    assert not any(tmp_path.iterdir())


def test_settings_as_a_mapping(tmp_path: Path) -> None:
    for settings in (
        {"search": {"ranking": "newest"}},
        {"search.ranking": "newest"},
        {"search": sonicpy.Config().search},
    ):
        with sonicpy.open(tmp_path / "store", settings) as opened, sonicpy.Index(tmp_path / "other", settings) as other:
            assert opened.config == other.config
    assert opened.config == sonicpy.Config()
