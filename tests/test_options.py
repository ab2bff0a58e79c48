"""The table of options agrees with everything that is made from it, or written beside it."""

import argparse
import importlib
import inspect
import re
from typing import Any

import pytest

import sonicpy
from sonicpy.api.bucket import Searchable
from sonicpy.channel import commands
from sonicpy.channel.meta_arguments import read_meta
from sonicpy.channel.syntax import COMMANDS, SONIC_COMMANDS_OF_MODE
from sonicpy.cli.parser import make_parser
from sonicpy.client.aio.bucket import AsyncBucket, AsyncSearchable
from sonicpy.client.lines import meta
from sonicpy.option_kinds import Languages, Name
from sonicpy.options import ARGUMENTS, OPTIONS, Option, checked
from sonicpy.search import ExplainOptions, FacetSearch, QueryOptions, Search, asked
from tests.docs.pages import DOCS

METHODS = {
    "QUERY": "query",
    "EXPLAIN": "explain",
    "FACETS": "facets",
    "SUGGEST": "suggest",
    "SIMILAR": "similar",
    "LIST": "words",
    "OBJECTS": "objects",
    "PUSH": "push",
}
OWNERS = (sonicpy.Index, sonicpy.Bucket, sonicpy.Client, sonicpy.AsyncClient, AsyncBucket)
FIELDS = {"QUERY": commands.Query, "EXPLAIN": commands.Explain, "OBJECTS": commands.Objects, "LIST": commands.List}


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.__name__)
@pytest.mark.parametrize("verb", METHODS)
def test_methods_take_the_options(owner: type[Any], verb: str) -> None:
    taken = inspect.signature(getattr(owner, METHODS[verb])).parameters
    for name, option in ARGUMENTS[verb].items():
        assert taken[name].default == option.default, f"{owner.__name__}.{METHODS[verb]}({name})"
    others = set(taken) - set(ARGUMENTS[verb]) - {"self", "collection", "bucket", "object", "text", "word", "facets"}
    assert not others


def test_the_types_of_options_name_them_all() -> None:
    assert QueryOptions.__annotations__.keys() | ExplainOptions.__annotations__.keys() == ARGUMENTS["QUERY"].keys()
    assert ExplainOptions.__annotations__.keys() == ARGUMENTS["EXPLAIN"].keys()
    for protocol in (Searchable, AsyncSearchable):
        assert "options" in inspect.signature(protocol.query).parameters  # type: ignore[attr-defined]


@pytest.mark.parametrize("verb", OPTIONS)
def test_commands_have_a_field_for_each(verb: str) -> None:
    kind = COMMANDS[verb].build.kind  # type: ignore[union-attr]
    own = kind._fields[COMMANDS[verb].words + COMMANDS[verb].has_text :]
    assert {option.name for option in OPTIONS[verb]} <= set(own)
    for option in OPTIONS[verb]:
        if option.name in kind._field_defaults:
            assert kind._field_defaults[option.name] == option.default


def test_a_search_has_the_fields_of_a_query() -> None:
    assert Search._fields[3:] == tuple(option.name for option in OPTIONS["QUERY"])
    assert issubclass(commands.Query, Search) and issubclass(commands.Explain, Search)


@pytest.mark.parametrize("verb", ["query", "explain", "suggest"])
def test_the_command_line_has_a_flag_for_each(verb: str) -> None:
    parser = make_parser([verb])
    verbs = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    flags = {action.dest: action for action in verbs.choices[verb]._actions}
    for name, option in ARGUMENTS[verb.upper()].items():
        assert flags[name].default == option.default


def test_http_takes_the_options() -> None:
    pytest.importorskip("fastapi", reason="needs the extra [http]")
    app = importlib.import_module("sonicpy.http").app
    testclient = importlib.import_module("starlette.testclient")
    with sonicpy.open(":memory:") as index:
        schema = testclient.TestClient(app(index)).get("/openapi.json").json()
    body = schema["components"]["schemas"]["QueryBody"]["properties"]
    for path, verb in (("query", "QUERY"), ("search", "QUERY"), ("explain", "EXPLAIN"), ("suggest", "SUGGEST")):
        told = {one["name"]: one["schema"] for one in schema["paths"][f"/v1/{path}"]["get"]["parameters"]}
        for name, option in ARGUMENTS[verb].items():
            assert told[name].get("default") == option.default, (path, name)
    assert ARGUMENTS["QUERY"].keys() <= body.keys()


def test_compat_mode_has_the_options_of_sonic() -> None:
    rows = {name: row for rows in SONIC_COMMANDS_OF_MODE.values() for name, row in rows.items()}
    for name, row in rows.items():
        assert set(row.options) == {option.key for option in OPTIONS.get(name, ()) if not option.is_ours}


def test_the_protocol_has_every_option() -> None:
    protocol = (DOCS / "protocol.md").read_text("utf-8")
    for verb, options in OPTIONS.items():
        for option in options:
            if option.name not in ARGUMENTS["QUERY"]:  # tests/docs/test_ask.py has these
                assert f"{option.key}(" in protocol, f"{verb} {option.key}"


def test_every_value_is_checked() -> None:
    for verb, taken in ARGUMENTS.items():
        for name, option in taken.items():
            with pytest.raises(sonicpy.InvalidArgument, match=f"^{name} "):
                checked(verb, {name: object()})
            assert checked(verb, {})[name] == option.default


@pytest.mark.parametrize("owner", [Search, FacetSearch])
def test_a_search_explains_its_fields(owner: type[Search | FacetSearch]) -> None:
    told = (owner.__doc__ or "").partition("Attributes:")[2]
    lists = re.findall(r"^ +([\w,\s]+?): ", told, re.MULTILINE)
    assert set(owner._fields) == {name for names in lists for name in re.split(r",\s+", names.strip())}


@pytest.mark.parametrize("verb", ["QUERY", "EXPLAIN", "FACETS", "SUGGEST"])
def test_a_default_is_a_value_of_its_kind(verb: str) -> None:
    defaults = {name: option.default for name, option in ARGUMENTS[verb].items()}
    assert checked(verb, defaults) == defaults


def test_an_unknown_option_is_a_wrong_call() -> None:
    with pytest.raises(TypeError, match=r"^query\(\) got an unexpected keyword argument 'limits'$"):
        asked("QUERY", "c", "b", "x", {"limits": 1})
    with sonicpy.open(":memory:") as index, pytest.raises(TypeError, match="unexpected keyword argument 'fuzzily'"):
        index.query("c", "b", "x", fuzzily=True)  # type: ignore[call-arg]


def test_a_new_option_needs_a_row_and_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up option, once it has a row, is read by the parser and carried by lines and flags."""
    fold = Option("fold", Name(), "", "FOLD(<letters>)", "a made-up option", is_ours=True)
    monkeypatch.setitem(OPTIONS, "QUERY", (*OPTIONS["QUERY"], fold))
    line = meta("QUERY", {"limit": 3, "fold": "a b"})
    assert line == ' LIMIT(3) FOLD("a b")'
    found = read_meta(line.encode(), 1, {option.key: option for option in OPTIONS["QUERY"]}, Languages(frozenset()))
    assert found == {"limit": 3, "fold": "a b"}
