"""The page "Ask" has every option of QUERY with its sentence and an example, whose answer is the one on the page."""

import contextlib
import io
import re
from collections.abc import Iterator

import pytest

import sonicpy
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.options import OPTIONS
from sonicpy.server.connections import dispatch
from tests.docs.pages import DOCS, blocks

PAGE = DOCS / "ask.md"
OPENED = 'sonicpy.open("./data/ask", config={"store.order": True})'
EXAMPLES = {
    "limit": '"weather", limit=1',
    "offset": '"weather", limit=1, offset=1',
    "lang": '"hotels", lang="none", fuzzy=0',
    "scores": '"nantes" SCORES(1)',
    "stem": '"hotels", stem=False',
    "total": '"weather", limit=1, total=True',
    "complete": '"hot", complete=False',
    "whole": '"wether" TOTAL(1) WHOLE(1)',
    "syntax": '"hotel -york", syntax="web"',
    "match": '"new weather", match="all"',
    "fuzzy": '"wether", fuzzy=0',
    "how": '"wether lisbon", how=True, limit=1',
    "vector": '"new", vector=[1] * 8',
    "meaning": '"new", vector=[1] * 8, meaning=0',
    "depth": '"new", vector=[1] * 8, depth=1',
    "filter": '"weather", filter="hotel"',
    "sort": '"weather", sort="-visits"',
    "after": '"weather", sort="-visits", after="4"',
    "boost": '"lisbon", boost="visits"',
    "buckets": '"lisbon" BUCKETS(default)',
    "fields": '"weather", fields="title"',
    "group": '"weather", group="visits"',
    "phrase": '"hotel", phrase="new hotel"',
}
"""Option -> an example: arguments of `query`, or the end of a line for an option that only the wire has."""


@pytest.fixture(scope="module")
def index() -> Iterator[sonicpy.Index]:
    first = next(block for block in blocks(PAGE) if block.language == "python")
    with sonicpy.open(":memory:", config={"store.order": True}) as opened:
        exec(
            first.code.replace(OPENED, "opened"),
            {"opened": opened, "sonicpy": sonicpy},
        )
        yield opened


def answer_of(index: sonicpy.Index, name: str) -> str:
    """Return the answer of an example as the page shows it."""
    option = next(one for one in OPTIONS["QUERY"] if one.name == name)
    if option.is_argument:
        hits = eval(f'index.query("messages", "default", {EXAMPLES[name]})', {"index": index})
        if hits.hows is not None:
            held = ", ".join(f"{one.how} {one.word}" for one in hits[0].how)
            return f"{', '.join(hits)}: {held}; `corrected` is {hits.corrected!r}"
        return ", ".join(hits) + (f"; `total` is {hits.total}" if hits.total is not None else "") or "nothing"
    talk = Session("1.0", None, Limits(), False)
    talk.feed(b"START search\n" + f"QUERY messages default {EXAMPLES[name]}\n".encode())
    command = next(found for found in iter(talk.next, None) if type(found) in dispatch.CALLS)
    return f"`{dispatch.CALLS[type(command)](index, command).decode().splitlines()[1].split(' ', 3)[3]}`"


def table(index: sonicpy.Index) -> str:
    """Return the table of the page."""
    rows = []
    for option in OPTIONS["QUERY"]:
        call = "query({})" if option.is_argument else "QUERY messages default {}"
        example = call.format(EXAMPLES[option.name])
        given = option.name if option.default in (None, "") else f"{option.name}={option.default!r}"
        names = f"`{given}`, `{option.usage}`" if option.is_argument else f"`{option.usage}`"
        rows.append(f"| {names} | {option.sentence} | `{example}` | {answer_of(index, option.name)} |")
    return "\n".join(["| option | what it does | example | answer |", "|---|---|---|---|", *rows]) + "\n"


def test_the_page_has_every_option(index: sonicpy.Index) -> None:
    assert EXAMPLES.keys() == {option.name for option in OPTIONS["QUERY"]}
    assert table(index) in PAGE.read_text("utf-8"), "python -m tests.docs.test_ask writes the table"


def test_the_signs_mean_what_the_page_says(index: sonicpy.Index) -> None:
    signs = PAGE.read_text("utf-8").partition("## Signs")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| [^|]+ \| ([\d, ]+|nothing) \|$", signs, re.MULTILINE)
    assert len(rows) >= 8
    for text, answer in rows:
        found = index.query("messages", "default", text, syntax="web", fuzzy=0)
        assert (", ".join(sorted(found)) or "nothing") == answer, text


def write() -> None:
    """Write the table into the page."""
    code = next(block for block in blocks(PAGE) if block.language == "python").code
    with sonicpy.open(":memory:", config={"store.order": True}) as made:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code.replace(OPENED, "opened"), {"opened": made, "sonicpy": sonicpy})
        text = PAGE.read_text("utf-8")
        before, behind = re.split(r"^\| option \|.*?^(?!\|)", text, maxsplit=1, flags=re.DOTALL | re.MULTILINE)
        PAGE.write_text(before + table(made) + behind, "utf-8")


if __name__ == "__main__":
    write()
