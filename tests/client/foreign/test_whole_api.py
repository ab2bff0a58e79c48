"""Published clients without tests of their own: every method has the same outcome on Sonic and on compat mode.

asonic and sonic-client from PyPI, sonic-channel from npm, each unchanged.
"""

import asyncio
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from asonic.enums import Action, Channel
from asonic.exceptions import ServerError

from sonicpy.lexer.sonic_language import has_whatlang
from tests.client.foreign import test_asonic, test_node, test_sonic_client
from tests.client.foreign.both import OURS, SONIC, Address, both_servers

pytestmark = pytest.mark.full
package = test_node.package  # a fixture

INGEST, SEARCH, CONTROL = "ingest", "search", "control"
BY_CLOCK = ("uptime", "command_latency_best", "command_latency_worst", "commands_total")
"""Figures that depend on the time; the last one, because Sonic counts a command a moment after its answer."""
OPEN_GRAPHS = "fst_open_count"
"""The figure that differs on purpose: see docs/protocol.md."""
FILL = [
    (f"o{number}", text, language)
    for number, (text, language) in enumerate(
        [
            ('He said "hello" to the world\nand C:\\new left', None),
            ("Bitte schick es mir so bald wie du kannst", "deu"),
            ("L'été, les valérianes poussent au bord du chemin", "fra"),
            ("今天天气很好", "jpn"),
            ("Открытый пирог с орехами и сгущенкой", None),
            ("responsibility wonderful wonder world words word", "none"),
            ("alice@example.com snake_case covid-19 #topic 192.168.0.1", None),
            ("", None),
            ("one word", "xxx"),
        ]
    )
]
ASKED = (
    "hello",
    "world",
    "wor",
    "wonderfull",
    "pirog",
    "пирог",
    "été",
    "valeriane",
    "snake_case",
    "nothing",
    "",
    "a b",
)


class Call(NamedTuple):
    """A method of a client, with its mode and its arguments."""

    mode: str
    method: str
    arguments: tuple[object, ...]
    named: dict[str, object]


def call(mode: str, method: str, *arguments: object, **named: object) -> Call:
    return Call(mode, method, arguments, named)


def calls(language: str, trigger: object) -> list[Call]:
    """Return the calls that both clients for Python have, in their order.

    Args:
        language: the client's name of the argument for LANG.
        trigger: the argument of the client for a consolidation.
    """
    made = [call(INGEST, "ping"), call(INGEST, "help", "commands")]
    made += [call(INGEST, "push", "api", "b", oid, text, **{language: code}) for oid, text, code in FILL]
    made += [call(INGEST, "count", *names) for names in (("api",), ("api", "b"), ("api", "b", "o5"), ("no", "b"))]
    made += [call(CONTROL, "trigger", trigger), call(CONTROL, "ping"), call(CONTROL, "help", "commands")]
    made += [call(INGEST, "count", "api", "b")]
    made += [call(SEARCH, "query", "api", "b", text) for text in ASKED]
    made += [call(SEARCH, "query", "api", "b", text, **{language: "none"}) for text in ASKED]
    made += [call(SEARCH, "query", "api", "b", "world", limit=1, offset=offset) for offset in (0, 1, 5)]
    made += [call(SEARCH, "query", "api", "b", "world", limit=limit) for limit in (0, 100, 101)]
    made += [call(SEARCH, "suggest", "api", "b", text) for text in ASKED]
    made += [call(SEARCH, "suggest", "api", "b", "wo", limit=limit) for limit in (1, 20, 21)]
    made += [call(SEARCH, "help", "commands"), call(SEARCH, "ping"), call(SEARCH, "query", "api", "ß", "bad name")]
    made += [call(INGEST, "pop", "api", "b", "o5", "word words"), call(INGEST, "count", "api", "b", "o5")]
    return made


FLUSHES = (("api", "b", "o1"), ("api", "b", "o1"), ("api", "b"), ("api", "b"), ("api",), ("api",))


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Address]]:
    with both_servers(tmp_path_factory.mktemp("both"), "SecretPassword") as addresses:
        yield addresses


def steady(figures: dict[str, Any]) -> dict[str, Any]:
    """Return INFO without the figures that differ between servers, by nature or on purpose."""
    return {name: value for name, value in figures.items() if name not in (*BY_CLOCK, OPEN_GRAPHS)}


async def ask_asonic(server: Address) -> list[object]:
    """Return the outcome of each call of asonic, each with a new client, because a refusal ends the connection."""
    outcomes: list[object] = []
    flushes = [call(INGEST, ("flushc", "flushb", "flusho")[len(names) - 1], *names) for names in FLUSHES]
    ends = [call(mode, "quit") for mode in (INGEST, SEARCH, CONTROL)]
    for mode, method, arguments, named in [
        *calls("locale", Action.CONSOLIDATE), *flushes, call(CONTROL, "trigger"), call(CONTROL, "info"), *ends
    ]:  # fmt: skip
        async with test_asonic.connected(server, Channel(mode)) as client:
            try:
                outcome = await getattr(client, method)(*arguments, **named)
            except ServerError as error:
                outcome = repr(error)
        outcomes.append(steady(outcome) if method == "info" else outcome)
    return outcomes


def test_asonic_has_one_outcome(servers: dict[str, Address]) -> None:
    sonic, ours = (asyncio.run(ask_asonic(servers[name])) for name in (SONIC, OURS))
    assert ours == sonic
    assert any("policy_reject" in str(outcome) for outcome in ours)
    public = {name for name, _ in inspect.getmembers(test_asonic.Client, inspect.isfunction) if name[0] != "_"}
    called = {made.method for made in calls("locale", None)}
    assert public - called == {"channel", "flushc", "flushb", "flusho", "info", "quit"}


def ask_sonic_client(server: Address) -> list[object]:
    """Return the outcome of each call of sonic-client."""
    module = test_sonic_client
    kinds = {INGEST: module.IngestClient, SEARCH: module.SearchClient, CONTROL: module.ControlClient}
    flushes = [call(INGEST, "flush", *names) for names in FLUSHES]
    flushes += [
        call(INGEST, ("flush_collection", "flush_bucket", "flush_object")[len(names) - 1], *names) for names in FLUSHES
    ]
    outcomes: list[object] = []
    for mode, method, arguments, named in [*calls("lang", "consolidate"), *flushes]:
        with module.connected(kinds[mode], server) as client:
            try:
                outcomes.append(getattr(client, method)(*arguments, **named))
            except (module.sonic.client.SonicServerError, ValueError) as error:  # it takes HELP's answer for a number
                outcomes.append(repr(error))
    return outcomes


def test_sonic_client_has_one_outcome(servers: dict[str, Address]) -> None:
    sonic, ours = (ask_sonic_client(servers[name]) for name in (SONIC, OURS))
    assert ours == sonic
    assert any("policy_reject" in str(outcome) for outcome in ours)


@pytest.mark.skipif(not has_whatlang(), reason="needs the extra [compat], which finds the language of a long text")
def test_the_client_for_node_has_one_outcome(package: Path, servers: dict[str, Address]) -> None:
    sonic, ours = (test_node.talk(package, servers[name]) for name in (SONIC, OURS))
    for results in (sonic, ours):
        results["control"]["info"][1] = steady(results["control"]["info"][1])
    assert json.dumps(ours, sort_keys=True, indent=1) == json.dumps(sonic, sort_keys=True, indent=1)
