"""Tests of `sonicpy mcp`: assistants call tools, which answer as the library does; the client is the official one."""

import asyncio
import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from subprocess import PIPE
from types import SimpleNamespace
from typing import IO, Any

import pytest

import sonicpy
from sonicpy.access.key import hash_of, make_key, new_secret
from sonicpy.access.key_store import KeyStore
from sonicpy.api.shown import Shown, shows
from sonicpy.cli.main import main
from sonicpy.cli.mcp.schemas import KINDS, OF_VECTORS
from sonicpy.cli.mcp.tools import TOOLS, ToolBox, ToolRefused
from sonicpy.index.read_only_index import ReadOnlyIndex
from sonicpy.options import ARGUMENTS
from tests.processes import HOST, Server
from tests.support.paths import ROOT
from tests.support.patience import WAIT_S, until
from tests.support.surfaces import BITS, TAGS, TEXTS, VALUES
from tests.test_options_everywhere import EXAMPLES

READING = {"search", "facets", "similar", "suggest", "explain", "collections", "buckets", "objects", "stats"}
WRITING = {"push", "upsert", "flush"}
IN = {"collection": "c", "bucket": "b"}
PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'

Talk = Callable[[Any], Awaitable[None]]


@pytest.fixture(scope="module")
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:", {"store": {"order": True}}) as opened:
        for oid, text in TEXTS.items():
            opened.push("c", "b", oid, text, "eng", BITS.get(oid), tags=TAGS.get(oid), values=VALUES.get(oid))
        yield opened


@pytest.fixture
def box(index: sonicpy.Index) -> ToolBox:
    return ToolBox(index, changes=True)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in OF_VECTORS])
def test_every_option_means_the_same(box: ToolBox, index: sonicpy.Index, name: str) -> None:
    example = EXAMPLES[name]
    given = {**example.beside, name: example.value}
    hits = index.query("c", "b", example.text, **given)
    answer = box.call("search", {**IN, "text": example.text, **given})
    assert answer["hits"] == hits.to_dicts()
    assert answer.get("total") == hits.total


def test_the_schemas_name_every_option(box: ToolBox) -> None:
    for tool in box.tools:
        options = set(ARGUMENTS.get(tool.verb, {})) - OF_VECTORS - ({"field"} if tool.name == "upsert" else set())
        assert set(tool.schema["properties"]) == {*tool.names, *options}
        assert all(each["description"] for each in tool.schema["properties"].values())
    search = next(tool.schema for tool in box.tools if tool.name == "search")
    assert search["required"] == ["collection", "text"]
    assert search["properties"]["limit"] == {
        "type": "integer", "minimum": 0, "maximum": 65535, "description": "at most this many results", "default": 10
    }  # fmt: skip
    assert search["properties"]["match"]["enum"] == ["all", "any", "auto"]
    verbs = {tool.verb for tool in TOOLS} & ARGUMENTS.keys()
    kinds = {type(each.kind) for verb in verbs for name, each in ARGUMENTS[verb].items() if name not in OF_VECTORS}
    assert kinds <= set(KINDS)


@pytest.mark.parametrize("target", [sonicpy.Index, sonicpy.Client, ReadOnlyIndex])
def test_every_tool_offers_what_its_method_takes(target: type) -> None:
    for tool in TOOLS:
        method = inspect.signature(getattr(target, tool.method))
        options = dict.fromkeys(tool.schema["properties"].keys() - set(tool.names))
        taken = list(method.bind(target, *tool.names, **options).arguments)
        assert taken[1 : len(tool.names) + 1] == [*tool.names]


def test_changes_with_all_options() -> None:
    with sonicpy.open(":memory:") as index:
        given = {"object": "o", "text": "red", "lang": "eng", "tags": ["t"], "values": {"price": 1}}
        for name in ("push", "upsert"):
            assert ToolBox(index, changes=True).call(name, {**IN, **given}) == {"done": True}
        with pytest.raises(ToolRefused, match="^upsert has no argument 'field'; allowed are "):
            ToolBox(index, changes=True).call("upsert", {**IN, **given, "field": "title"})


def test_the_schemas_are_schemas(box: ToolBox) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="needs the extra: pip install 'sonicpy-search[mcp]'")
    for tool in box.tools:
        jsonschema.Draft202012Validator.check_schema(tool.schema)
        valid = jsonschema.Draft202012Validator(tool.schema).is_valid
        given = {name: "x" for name in tool.schema["required"]}
        assert valid(given) and not valid({**given, "nothing": 1})
    (search,) = (tool.schema for tool in box.tools if tool.name == "search")
    for name, example in EXAMPLES.items():
        if name not in OF_VECTORS:
            value = str(example.value) if name == "fuzzy" else example.value
            jsonschema.validate({"collection": "c", "text": "x", name: value}, search)


REFUSED: list[tuple[str, Mapping[str, Any], str]] = [
    ("search", {"text": "x"}, "search needs the argument collection"),
    ("search", {"collection": "c", "text": "x", "txt": 1}, "search has no argument 'txt'; allowed are collection, buc"),
    ("search", {"collection": "c", "text": "x", "limit": "two"}, "limit is 'two'; allowed is a whole number"),
    ("search", {"collection": 5, "text": "x"}, "collection is 5; allowed are 1 to 128"),
    ("search", {"collection": "c", "text": None}, "text is None; allowed is a str"),
    ("search", {"collection": "c", "text": "x", "filter": "a AND"}, "the filter ends too early; allowed at letter 6"),
    ("suggest", {"collection": "c", "word": "!"}, "word holds no word; allowed is a word"),
    ("dance", {}, "there is no tool 'dance'; allowed are search, facets"),
]


@pytest.mark.parametrize(("name", "given", "said"), REFUSED)
def test_refused_calls_get_a_sentence(box: ToolBox, name: str, given: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        box.call(name, given)
    assert str(refused.value).startswith(said)


def test_only_reads_unless_told(index: sonicpy.Index) -> None:
    reading = ToolBox(index)
    assert {tool.name for tool in reading.tools} == READING
    for name in WRITING:
        with pytest.raises(ToolRefused, match=f"{name} changes the index, and this server only reads it"):
            reading.call(name, {**IN, "object": "one", "text": "other"})
    assert index.objects("c", "b") == list(TEXTS)


def test_an_empty_answer_says_that_a_name_is_wrong(box: ToolBox) -> None:
    wrong = {"collection": "c", "bucket": "d"}
    remark = "collection 'c' has no bucket 'd'; there is 'b'"
    assert box.call("search", {**wrong, "text": "boat"}) == {"hits": [], "remark": remark}
    assert box.call("suggest", {**wrong, "word": "boat"}) == {"words": [], "remark": remark}
    assert box.call("objects", wrong) == {"objects": [], "remark": remark}
    assert box.call("search", {**IN, "text": "nothing at all"}) == {"hits": []}


def test_hits_are_shown_with_texts(index: sonicpy.Index) -> None:
    def show(collection: str, bucket: str, objects: Any) -> list[Shown]:
        return [Shown(f"{collection}/{bucket}/{name}", TEXTS[name]) for name in objects]

    (hit,) = ToolBox(index, show=show).call("search", {**IN, "text": "river"})["hits"]
    assert (hit["object"], hit["title"], hit["text"]) == ("other", "c/b/other", TEXTS["other"])
    assert "link" not in hit


def test_odd_texts_are_shown(index: sonicpy.Index, here: Path) -> None:
    rows = [{"id": "other", "text": "cut \ud83d"}, {"id": "river", "text": "long " * 40_000}]
    (here / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (hit,) = ToolBox(index, show=shows(str(here / "rows.jsonl"))).call("search", {**IN, "text": "river"})["hits"]
    assert json.dumps(hit, ensure_ascii=False).encode() and hit["text"] == "cut ?"
    (here / "rows.csv").write_text(f"id,text\nother,{'long ' * 40_000}\n")
    (hit,) = ToolBox(index, show=shows(str(here / "rows.csv"))).call("search", {**IN, "text": "river"})["hits"]
    assert hit["text"].startswith("long long")


@pytest.mark.parametrize("tool", ["search", "similar"])
def test_a_failing_function_of_show_is_a_sentence(index: sonicpy.Index, tool: str) -> None:
    def show(collection: str, bucket: str, objects: Any) -> list[Shown]:
        raise KeyError("title")

    given = {"search": {"text": "river"}, "similar": {"object": "one"}}[tool]
    with pytest.raises(ToolRefused, match=f"{tool} failed: --show, .* has failed: KeyError: 'title'"):
        ToolBox(index, show=show).call(tool, {**IN, **given})


def test_several_buckets_are_searched_as_one() -> None:
    def show(collection: str, bucket: str, objects: Any) -> list[Shown]:
        return [Shown(text=f"{name} of {bucket}") for name in objects]

    with sonicpy.open(":memory:") as index:
        for bucket in ("chat", "forum:a", "forum:b"):
            index.push("c", bucket, "o", "sunny weather")
        box = ToolBox(index, show=show)
        found = box.call("search", {"collection": "c", "bucket": ["chat", "forum:*"], "text": "weather"})
        assert {(hit["bucket"], hit["text"]) for hit in found["hits"]} == {
            (bucket, f"o of {bucket}") for bucket in ("chat", "forum:a", "forum:b")
        }
        assert box.call("search", {"collection": "c", "bucket": ["x"], "text": "weather"}) == {"hits": []}


def test_a_tool_is_offered_where_the_index_has_its_method() -> None:
    box = ToolBox(SimpleNamespace(collections=lambda: ["c"]))  # type: ignore[arg-type]
    assert [tool.name for tool in box.tools] == ["collections"]
    assert box.call("collections", {}) == {"collections": ["c"]}
    with pytest.raises(ToolRefused, match="^there is no tool 'similar'; allowed are collections$"):
        box.call("similar", {"collection": "c", "object": "o"})


def test_similar_objects_are_those_of_the_library(box: ToolBox, index: sonicpy.Index) -> None:
    hits = index.similar("c", "b", "longer", limit=2)
    assert len(hits) == 2
    assert box.call("similar", {**IN, "object": "longer", "limit": 2}) == {"hits": hits.to_dicts()}


@pytest.mark.full
def test_a_missing_index_is_an_error_of_the_start(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mcp", reason="needs the extra: pip install 'sonicpy-search[mcp]'")
    assert main(["mcp", "nowhere"]) == 1
    assert capsys.readouterr().err == "sonicpy: there is no index in nowhere\n"
    assert main(["mcp", "--show", "nothing"]) == 2
    assert "'nothing' shows no objects" in capsys.readouterr().err


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "sonicpy.cli.mcp.serving", raising=False)
    assert main(["mcp"]) == 2
    said = "sonicpy: mcp needs the package mcp: run pip install 'sonicpy-search[mcp]'.\n"
    assert capsys.readouterr().err == said


@contextlib.contextmanager
def started_alone(folder: Path) -> Iterator[tuple[subprocess.Popen[str], IO[str], IO[str], IO[str]]]:
    """Start `sonicpy mcp` over a folder; yield the process, its stdin, stdout and stderr."""
    pytest.importorskip("mcp", reason="needs the extra: pip install 'sonicpy-search[mcp]'")
    command = [sys.executable, "-m", "sonicpy", "mcp", str(folder), "--write"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, cwd=ROOT) as started:
        assert started.stdin is not None and started.stdout is not None and started.stderr is not None
        yield started, started.stdin, started.stdout, started.stderr


@pytest.mark.full
def test_ctrl_c_ends_it_while_it_waits_for_a_line(tmp_path: Path) -> None:
    with started_alone(tmp_path) as (started, asked, answered, said):
        asked.write(PING)
        asked.flush()
        assert json.loads(answered.readline())["id"] == 1
        started.send_signal(signal.SIGINT)
        assert started.wait(WAIT_S) == 130
        assert said.read() == "sonicpy: interrupted\n"


@pytest.mark.full
def test_a_reader_that_is_gone_ends_it(tmp_path: Path) -> None:
    with started_alone(tmp_path) as (started, asked, answered, said):
        answered.close()
        asked.write(PING)
        asked.flush()
        assert started.wait(WAIT_S) == 141
        assert said.read() == ""


def with_client(talk: Talk, *arguments: str, **variables: str) -> None:
    """Run `sonicpy mcp` with these arguments, and let the official client talk to it over stdio."""
    mcp = pytest.importorskip("mcp", reason="needs the extra: pip install 'sonicpy-search[mcp]'")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SONIC_", "SONICPY_"))}
    started = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "sonicpy", "mcp", *arguments],
        env={**clean, "PYTHONPATH": str(ROOT), **variables},
    )

    async def run() -> None:
        async with mcp.stdio_client(started, errors) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            await talk(session)

    with tempfile.TemporaryFile("w+") as errors:
        asyncio.run(run())
        errors.seek(0)
        assert errors.read() == ""


async def answer(session: Any, name: str, **given: Any) -> Any:
    """Return the answer of a tool, after checking that its text and its structure agree."""
    result = await session.call_tool(name, given)
    assert not result.is_error, result.content
    (content,) = result.content
    assert json.loads(content.text) == result.structured_content
    return result.structured_content


def test_every_tool_over_a_folder(tmp_path: Path) -> None:
    async def talk(session: Any) -> None:
        called = set()

        async def call(name: str, **given: Any) -> Any:
            called.add(name)
            return await answer(session, name, collection="notes", **given)

        listed = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(listed) == READING | WRITING
        assert {name for name, tool in listed.items() if tool.annotations.read_only_hint} == READING
        assert {name for name, tool in listed.items() if tool.annotations.destructive_hint} == {"upsert", "flush"}
        assert await call("push", object="n:1", text="Sunny weather in Nantes", tags=["trip"]) == {"done": True}
        assert await call("push", object="n:2", text="Wether") == {"done": True}
        assert await call("upsert", object="n:2", text="Rain in Lisbon", values={"day": 3}) == {"done": True}
        assert await call("push", object="n:3", text="Snow") == {"done": True}
        found = await call("search", text="sunny wether", total=True)
        assert [hit["object"] for hit in found["hits"]] == ["n:1"] and found["total"] == 1
        assert (await call("search", text="", filter="day = 3"))["hits"][0]["object"] == "n:2"
        assert (await call("facets", of="*"))["tags"] == {"": {"trip": 1}}
        assert await call("suggest", word="lis") == {"words": ["lisbon"]}
        assert "1. n:2" in (await call("explain", text="rain"))["explanation"]
        assert [hit["object"] for hit in (await call("similar", object="n:1"))["hits"]] == ["n:2"]
        assert await call("flush", object="n:3") == {"flushed": 1}
        assert await call("objects", prefix="n:") == {"objects": ["n:1", "n:2"]}
        assert await call("buckets") == {"buckets": ["default"]}
        assert (await call("stats", bucket="default"))["objects"] == 2
        assert await answer(session, "collections") == {"collections": ["notes"]}
        refused = await session.call_tool("search", {"text": "rain"})
        assert refused.is_error and refused.content[0].text == "search needs the argument collection"
        assert called | {"collections"} == set(listed)

    folder = tmp_path / "new"
    with_client(talk, str(folder), "--write")
    with sonicpy.open(folder, read_only=True) as index:
        assert index.objects("notes", "default") == ["n:1", "n:2"]


@pytest.mark.full
def test_a_server_and_its_folder(locked_server: Server, tmp_path: Path) -> None:
    url = f"sonic://{HOST}:{locked_server.port}"
    with sonicpy.connect(url, password="SecretPassword") as client:
        client.push("notes", "default", "n:1", "Sunny weather in Nantes")
    rows = tmp_path / "rows.jsonl"
    text = "Sunny weather in Nantes" + " and elsewhere" * 200
    rows.write_text(json.dumps({"id": "n:1", "text": text}))

    async def talk(session: Any) -> None:
        assert {tool.name for tool in (await session.list_tools()).tools} == READING
        (hit,) = (await answer(session, "search", collection="notes", text="wether"))["hits"]
        assert (hit["object"], hit["text"]) == ("n:1", text), "longer than people are shown"
        refused = await session.call_tool("push", {"collection": "notes", "object": "n:2", "text": "Snow"})
        assert refused.is_error and "this server only reads" in refused.content[0].text

    with_client(talk, url, "--show", str(rows), SONICPY_PASSWORD="SecretPassword")
    with sonicpy.open(locked_server.folder / "store", read_only=True) as index:
        box = ToolBox(index)
        # The server commits late.
        hits = until(lambda: box.call("search", {"collection": "notes", "text": "nantes"})["hits"])
    assert [hit["object"] for hit in hits] == ["n:1"]


def test_a_key_bounds_what_a_tool_may(locked_server: Server) -> None:
    secret = new_secret("reader")
    rights = {"verbs": ["query"], "scopes": ["notes/default"]}
    assert KeyStore(locked_server.folder / "store").put(make_key("reader", hash_of(secret.encode()), rights))
    with sonicpy.connect(f"sonic://{HOST}:{locked_server.port}", password=secret) as client:
        box = ToolBox(client, changes=True)
        assert "hits" in box.call("search", {"collection": "notes", "text": "snow"})
        for name, given in (("push", {"object": "n:2", "text": "Snow"}), ("objects", {})):
            with pytest.raises(ToolRefused, match=rf"{name} is refused: not_permitted\(.*\)"):
                box.call(name, {"collection": "notes", **given})
