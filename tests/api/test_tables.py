"""Tables for notebooks: whole HTML, every cell escaped, and one for everything that a notebook shows."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.api.html import SCOPES_SHOWN, figures_table, html_table, index_tables, shown
from tests.processes import HOST, Server

EVIL = "<script>alert('&')</script>"


class Cells(HTMLParser):
    """Reads tables back as a browser would: rows of (tag, text, side) by table; other tags are not allowed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: list[list[list[tuple[str, str, str]]]] = []
        self.captions: list[str] = []
        self.other: list[str] = []
        self._open: list[str] = []
        self._text, self._side = "", ""
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)
        self._text, self._side = "", str(dict(attrs).get("style")).removeprefix("text-align: ")
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag not in ("caption", "td", "th", "thead", "tbody"):
            self.other.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag == "caption":
            self.captions.append(self._text)
        elif tag in ("td", "th"):
            self.tables[-1][-1].append((tag, self._text, self._side))

    def handle_data(self, data: str) -> None:
        self._text += data

    def texts(self, table: int = 0) -> list[list[str]]:
        return [[text for _, text, _ in row] for row in self.tables[table]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (True, "yes"),
        (1234567, "1\u202f234\u202f567"),
        (-3, "-3"),
        (1234.56789, "1\u202f234.5679"),
        (0.0, "0.0000"),
        ("1234", "1234"),
    ],
)
def test_how_values_are_shown(value: object, expected: str) -> None:
    assert shown(value) == expected


def test_cells_are_escaped_and_numbers_stand_on_the_right() -> None:
    told = Cells(html_table((EVIL, "n"), [(EVIL, 5), (None, True)], EVIL))
    assert (told.captions, told.other) == ([EVIL], [])
    assert told.texts() == [[EVIL, "n"], [EVIL, "5"], ["", "yes"]]
    assert [side for _, _, side in told.tables[0][1]] == ["left", "right"]
    assert {tag for tag, _, _ in told.tables[0][0]} == {"th"}


def test_figures_of_one_row_each() -> None:
    told = Cells(figures_table("f", {"disk_bytes": 1536, "big_bytes": 5 << 30, "few_bytes": 7, "no_bytes": None,
                                     "a_b": 1, "nested": {}, "list": []}))  # fmt: skip
    assert told.texts() == [["disk", "1.5 KiB"], ["big", "5.0 GiB"], ["few", "7 bytes"], ["no", ""], ["a b", "1"]]


def test_an_index_of_many_buckets_shows_some() -> None:
    def stats(collection: str | None = None) -> dict[str, Any]:
        if collection is None:
            return {"buckets": 60, "by_collection": dict.fromkeys("abc", {})}
        return {"by_bucket": {str(n): {"objects": n, "words": 1, "average_length": 2.0} for n in range(15)}}

    rows = Cells(index_tables("many", stats)).texts(1)
    assert len(rows) == 1 + SCOPES_SHOWN + 1
    assert rows[1] == ["a", "0", "0", "1", "2.0000"]
    assert rows[-1][0] == "40 more"


def test_everything_a_notebook_shows_is_a_table() -> None:
    with sonicpy.open(":memory:") as index:
        index.push("<i>", "&amp;", "<o>", "sunny weather")
        bucket = index.bucket("<i>", "&amp;")
        whole = Cells(index._repr_html_())
        assert whole.texts(1)[1] == ["<i>", "&amp;", "1", "2", "2.0000"]
        assert dict(whole.texts(0))["words"] == "2"
        assert Cells(bucket._repr_html_()).captions == ["<i> / &amp;"]
        hits = Cells(bucket.query("wether", total=True)._repr_html_())
        assert hits.captions == ["1 of 1 objects"] and hits.texts()[1][1] == "<o>"
        why = Cells(index.explain("<i>", "&amp;", "<wether>")._repr_html_())
        assert why.texts(0)[1][0] == "wether" and why.texts(1)[1][0] == "<o>"
        assert set(why.other) <= {"p", "ul", "li"}
    assert Cells(index._repr_html_()).captions == ["<Index, closed>"]


def test_a_server_looks_the_same(server: Server) -> None:
    with sonicpy.connect(f"sonic://{HOST}:{server.port}") as client:
        client.push("c", "b", "o", "sunny weather")
        assert Cells(client._repr_html_()).texts(1)[1] == ["c", "b", "1", "2", "2.0000"]
        assert dict(Cells(client.bucket("c", "b")._repr_html_()).texts())["objects"] == "1"


def test_a_server_that_tells_no_figures(tmp_path: Path) -> None:
    with (
        Server(tmp_path, {"server.compat": "sonic"}) as server,
        sonicpy.connect(f"sonic://{HOST}:{server.port}") as client,
    ):
        assert dict(Cells(client._repr_html_()).texts())["clients connected"] == "2"
        assert "not offered" in dict(Cells(client.bucket("c", "b")._repr_html_()).texts())["note"]
