"""The page of the protocol names every command, its arguments and errors, and a server behaves as described."""

import re
import socket

from sonicpy.channel.syntax import ACTIONS, ROWS
from sonicpy.options import OPTIONS
from sonicpy.version import VERSION
from tests.docs.pages import DOCS
from tests.processes import HOST, Server
from tests.support.patience import WAIT_S

PAGE = (DOCS / "protocol.md").read_text(encoding="utf-8")


ON_ASK = {option.key for option in OPTIONS["QUERY"]}
"""The keys that docs/ask.md explains; `tests/docs/test_ask.py` compares that page with the table."""


def test_every_command_is_told_with_its_arguments() -> None:
    for row in ROWS:
        told = re.findall(rf"`({row.name}\b[^`]*)`", PAGE)
        assert told, row.name
        named = "".join(told)
        refers = any(line.startswith(f"| `{row.name} ") and "](ask.md)" in line for line in PAGE.splitlines())
        keys = row.options.keys() - ON_ASK if refers else row.options
        assert all(f"{key}(" in named for key in keys), row.name
        assert named.count("<") >= row.words, row.name
    for action in ACTIONS:
        assert f"`TRIGGER {action}" in PAGE


def test_what_sonicpy_adds() -> None:
    added = PAGE.partition("## What sonicpy adds")[2].partition("\n## ")[0]
    ours = {option.key for options in OPTIONS.values() for option in options if option.is_ours}
    for name in [*(row.name for row in ROWS if row.is_ours), *sorted(ours - ON_ASK)]:
        assert f"`{name}" in added, name


def test_the_conversation_at_the_top(server: Server) -> None:
    conversation = PAGE.partition("```text\n")[2].partition("```")[0].splitlines()
    assert conversation[0] == f"CONNECTED <sonicpy v{VERSION}>"
    for text in ('conversation:1 "Rainy weather"', 'conversation:2 "Sunny weather"'):
        assert talk(server, "ingest", f"PUSH messages default {text}") == ["OK"]
    command, pending, event = conversation[3:6]
    answer = talk(server, "search", command.removeprefix("> "))
    marker = answer[0].removeprefix("PENDING ")
    assert answer == [line.replace(pending.removeprefix("PENDING "), marker) for line in (pending, event)]


def test_what_is_said_of_lines_and_errors(server: Server) -> None:
    push = r'PUSH c b o "say \"hello\" C:\temp and\ndone\\" LANG(none)'
    assert talk(server, "ingest", push, "", "COUNT c b o") == ["OK", "RESULT 6"]
    assert talk(server, "search", b'QUERY c b "\xff"', "ping") == ["ERR invalid_format(line is not UTF-8)", "PONG"]
    said = talk(
        server, "search", "NOSUCH", "QUERY c b", 'QUERY c b "x" FOO(1)', 'QUERY c b "x" LIMIT(x)',
        'QUERY c\u20ac b "x"', 'QUERY c b "x" LIMIT(0)', 'SUGGEST c b "!"', "HELP nothing",
    )  # fmt: skip
    codes = [re.match(r"ERR (\w+)", line)[1] for line in said]  # type: ignore[index]
    assert codes == [
        "unknown_command", "invalid_format", "invalid_meta_key", "invalid_meta_value", "invalid_argument",
        "policy_reject", "query_error", "not_found",
    ]  # fmt: skip
    told = re.findall(r"^\| `(\w+)", PAGE.partition("## Errors")[2].partition("\n## ")[0], re.MULTILINE)
    assert told == [*codes, "not_permitted", "internal_error", "shutting_down"]
    (scored,) = talk(server, "search", 'QUERY c b "temp" SCORES(1)')[1:]
    assert re.fullmatch(r"EVENT QUERY \w{8} o:\d\.\d{6}", scored)


def talk(server: Server, mode: str, *lines: str | bytes) -> list[str]:
    """Return the answers of a server to lines, without the greeting and the end."""
    with socket.create_connection((HOST, server.port), timeout=WAIT_S) as peer:
        sent = [line if isinstance(line, bytes) else line.encode() for line in (f"START {mode}", *lines, "QUIT")]
        peer.sendall(b"".join(line + b"\n" for line in sent))
        heard = peer.makefile(encoding="utf-8", newline="\r\n").read().split("\r\n")
    assert heard[1].startswith("STARTED") and heard[-2:] == ["ENDED quit", ""]
    return heard[2:-2]
