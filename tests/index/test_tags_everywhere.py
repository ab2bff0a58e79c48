"""Tags and values in every way into an index: library, rows, export, channel, clients, HTTP."""

import asyncio
import json
import time
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import sonicpy
from sonicpy.errors import CommandError, InvalidArgument, StoreError
from sonicpy.index.report.export import lines
from sonicpy.values import number_in_value, point_of, shown_point, unpack_point, value_of
from tests.processes import Server
from tests.support.examples import examples

WRONG = (1.5, Decimal("0.1"), float("nan"), float("inf"), "x", "1/2/3", (91, 0), (0, 181), (True, 0), b"1", [1], 2**63)


@pytest.fixture
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:") as opened:
        yield opened


def held(index: sonicpy.Index, bucket: str = "b") -> dict[str, dict[str, Any]]:
    """Return the tags and values of each object."""
    return {one.object: one.fields for one in index.holdings("c", bucket)}


def test_what_values_mean(index: sonicpy.Index) -> None:
    given: dict[str, Any] = {
        "whole": 5.0, "big": Decimal(-(2**63)), "yes": True, "day": date(1970, 1, 2),
        "moment": datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "naive": datetime(1970, 1, 1, 0, 0, 1),
        "here": (47.21, -1.55), "there": "-90/180",
    }  # fmt: skip
    index.push("c", "b", "o", "", values=given)
    assert held(index)["o"]["values"] == {
        "big": -(2**63), "day": 86_400, "here": "47.21/-1.55", "moment": 0, "naive": 1, "there": "-90/180", "whole": 5,
        "yes": 1,
    }  # fmt: skip
    for wrong in (
        1.5,
        Decimal("0.1"),
        float("nan"),
        float("inf"),
        "x",
        "1/2/3",
        (91, 0),
        (0, 181),
        (True, 0),
        b"1",
        [1],
        2**63,
    ):
        with pytest.raises(InvalidArgument):
            index.push("c", "b", "o", "", values={"n": wrong})


@pytest.mark.parametrize(
    "text", ["1e999999", "-1e9999999", "9" * 5_000, "1e19", "sNaN", "NaN", "-Infinity", "1e-9999999"]
)
def test_a_decimal_beyond_all_values_is_not_written_out(text: str) -> None:
    """int() takes an hour for the second one, in which no other thread runs."""

    class Watched(Decimal):
        def __int__(self) -> int:
            assert self.adjusted() < 100, "its zeros are written out"
            return int(Decimal(self))

    with pytest.raises(InvalidArgument, match=r"the value n is Decimal\(.*; allowed are a whole number of 64 bits"):
        value_of("n", Watched(text))
    assert number_in_value(Watched(text)) is None


def test_a_decimal_that_is_whole_is_a_value() -> None:
    for text, value in (("0e9999999", 0), ("1.000", 1), ("1e18", 10**18), ("-9223372036854775808.00", -(2**63))):
        assert value_of("n", Decimal(text)) == (value, False)


@pytest.mark.parametrize("inexact", [2.0**53, -(2.0**53), float(2**53 + 1), 1e18])
def test_a_float_that_may_mean_several_numbers_is_no_value(index: sonicpy.Index, inexact: float) -> None:
    """A column of numbers in pandas with a missing value holds floats: two different keys became equal ones."""
    rows = [{"id": 1, "text": "a", "n": inexact}, {"id": 2, "text": "a", "n": 2.0**53 - 1}, {"id": 3, "text": "a"}]
    report = index.push_many(rows, collection="c", bucket="b", values=["n"])
    rule = r"a whole number of 64 bits (a float only below 2**53), a date or a time"
    assert [one.reason.partition(";")[0] for one in report.refused] == [f"the value n is {inexact!r}"]
    assert rule in report.refused[0].reason
    assert held(index) == {"2": {"values": {"n": 2**53 - 1}}, "3": {}}
    assert index.query("c", "b", "a", filter={"n": 2.0**53 - 1}) == ["2"]
    with pytest.raises(InvalidArgument, match=r"^filter has .* \(floats only below 2\*\*53\)"):
        index.query("c", "b", "a", filter={"n": inexact})
    assert value_of("n", int(inexact)) == value_of("n", Decimal(inexact)) == (int(inexact), False)


def test_a_float_of_numpy_names_an_object_only_if_it_means_one_number(index: sonicpy.Index) -> None:
    numpy = pytest.importorskip("numpy")
    for kind, bound in ((numpy.float16, 2**11), (numpy.float32, 2**24), (numpy.float64, 2**53)):
        index.push("c", "b", kind(bound - 1), "a")
        assert index.exists("c", "b", str(bound - 1))
        for wrong in (bound, -bound, bound + 1):
            with pytest.raises(InvalidArgument, match="^object is .*; allowed are 1 to 128 bytes"):
                index.push("c", "b", kind(wrong), "a")


def test_tags_are_compared_after_normalisation(index: sonicpy.Index) -> None:
    index.push("c", "b", "o", "", tags=["e\u0301", "\u00e9", "Ben & Jerry's", "M\u00fcller, Thomas"])
    assert held(index)["o"]["tags"] == ["Ben & Jerry's", "M\u00fcller, Thomas", "\u00e9"]
    for wrong in ("", "a\0", "x" * 129, "\u00e9" * 65, "\ud800", 5, None, b"a"):
        with pytest.raises(InvalidArgument):
            index.push("c", "b", "o", "", tags=[wrong])  # type: ignore[list-item]
    assert index.tag("c", "b", "o", []) == 1
    assert held(index) == {"o": {}}
    assert index.tag("c", "b", "none", ["a"]) == index.tag("c", "none", "o", ["a"]) == 0
    assert (index.buckets("c"), index.objects("c", "b"), index.count_objects("c", "b")) == (["b"], ["o"], 1)
    before, figures = index.stats()["hidden_words"], index.stats("c", "b")
    index.push("c", "b", "p", "", tags=["x", "y"], values={"n": 1})
    assert (index.stats()["hidden_words"], index.stats("c", "b")["hidden_words"]) == (before, figures["hidden_words"])
    assert "tags" not in figures and index.stats("c", "b")["tags"] == 2 and index.stats("c", "b")["values"] == {"n": 1}
    assert index.words("c", "b") == index.suggest("c", "b", "ben") == []


@pytest.mark.parametrize("sign", ["\u0301\u0323", "\u0f73", "e\u0301\u0323"])
def test_too_long_tags_are_refused_without_sorting_their_marks(index: sonicpy.Index, sign: str) -> None:
    """Sorting n marks takes n * n steps: 100,000 of these would take more than half a minute."""
    long, began = sign * 50_000, time.process_time()
    for refused in (
        lambda: index.push("c", "b", "o", "", tags=[long]),
        lambda: index.query("c", "b", "x", filter=long),
        lambda: index.query("c", "b", "x", filter=f'NOT "{long}" OR a'),
        lambda: index.query("c", "b", "x", filter={"tag": long}),
        lambda: index.facets("c", "b", "x", of=f"{long}*"),
        lambda: index.query("c", "b", "x", group=long),
    ):
        with pytest.raises(InvalidArgument, match="allowed are"):
            refused()
    assert time.process_time() - began < 2


def test_a_tag_of_many_marks_is_found_in_any_order_of_them(index: sonicpy.Index) -> None:
    longest = "\u03b0" * 64
    for tag in (longest, "a" + "\u0323" * 31 + "\u0301" * 31):
        index.push("c", "b", "o", "", tags=[tag])
        for form in ("NFC", "NFD"):
            spelled = unicodedata.normalize(form, tag)
            assert index.query("c", "b", "", filter={"tag": spelled}).objects == ["o"]
            assert index.query("c", "b", "", filter=f'"{spelled}"').objects == ["o"]
    index.push("c", "b", "o", "", tags=[unicodedata.normalize("NFD", longest)])
    assert held(index)["o"]["tags"] == [longest]


def test_rows(index: sonicpy.Index) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "text": "a", "kind": "x, y", "more": ["p", "q"], "price": 5},
        {"id": 2, "text": "a", "kind": None, "more": None, "price": None},
        {"id": 3, "text": "a", "kind": "x", "more": 7, "price": 1},
        {"id": 4, "text": "a", "kind": "x", "price": "none"},
    ]
    report = index.push_many(rows, collection="c", bucket="b", tags=["kind", "more"], values={"cents": "price"})
    assert [one.row for one in report.refused] == [2, 3]
    assert held(index) == {"1": {"tags": ["p", "q", "x, y"], "values": {"cents": 5}}, "2": {}}
    report = index.push_many([(5, "a")], collection="c", bucket="b", tags="kind")
    assert "names of columns" in report.refused[0].reason


def test_a_table_of_rows(index: sonicpy.Index) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"id": [1, 2], "text": ["a", "b"], "tags": [["x"], None], "n": [None, 3]})
    assert index.push_many(table, collection="c", bucket="b", tags="tags", values=["n"]).indexed == 2
    assert held(index) == {"1": {"tags": ["x"]}, "2": {"values": {"n": 3}}}


def test_a_point_among_numbers_is_refused(index: sonicpy.Index) -> None:
    index.push("c", "b", "o", "alpha", values={"n": 5})
    for change in (index.push, index.upsert):
        with pytest.raises(InvalidArgument, match="the value n is a point, but those of the bucket are numbers"):
            change("c", "b", "o", "beta", values={"n": (48.1, 11.5)})
    with pytest.raises(InvalidArgument, match="the value n is a point"):
        index.tag("c", "b", "o", values={"n": "48.1/11.5"})
    assert held(index) == {"o": {"values": {"n": 5}}}
    assert index.query("c", "b", "beta") == []


def test_export_and_import(index: sonicpy.Index, tmp_path: Path) -> None:
    index.push("c", "b", "o", "alpha", tags=["a", "b c"], values={"n": -1, "here": "47.21/-1.55"})
    index.push("c", "b", "p", "beta")
    with sonicpy.open(tmp_path / "other") as other:
        for one in index.holdings():
            other.push_terms(
                one.collection, one.bucket, one.object, one.terms, one.hidden, one.rules, fields=one.fields
            )
        assert held(other) == held(index)
        other.backup(tmp_path / "backup")
        other.tag("c", "b", "o", ["z"], values={"n": None})
        other.restore(tmp_path / "backup")
        assert (held(other), other.verify()) == (held(index), [])
        assert other.tag("c", "b", "o", ["z"]) == 1, "a restored bucket goes on"
        assert (other.verify(), other.flush("c")) == ([], 1)
    with index.engine.read() as view:
        first = next(iter(lines(view, None, None)))
    assert {"tags", "values"} <= set(first["uses"]), "older versions refuse the export"


class WithoutElements:
    """A value that looks as if it had elements, as a scalar of some kinds of tensors does."""

    def __iter__(self) -> Iterator[str]:
        raise TypeError("iteration over a scalar")


def test_tags_that_are_no_list_refuse_their_row_alone(index: sonicpy.Index, shared_server: Server) -> None:
    numpy = pytest.importorskip("numpy")
    given: list[Any] = [numpy.array("red"), WithoutElements(), {"red": 1}, {}, numpy.array(["a", "b"]), b"red"]
    said = {
        0: "tags is a list with a value of type ndarray; allowed are tags of",
        1: "tags is of type WithoutElements, from which no elements can be read (iteration over a scalar); allowed",
        2: "tags is of type dict; allowed is a list of tags",
        3: "tags is of type dict; allowed is a list of tags",
        5: "tags is b'red'; allowed is a list of tags",
    }
    rows = [{"id": number, "text": "a", "t": one} for number, one in enumerate(given)]
    with sonicpy.connect(f"sonic://:SecretPassword@127.0.0.1:{shared_server.port}") as client:
        for target in (index, client):
            bucket = target.bucket("lists", "b")
            for upsert in (False, True):
                report = bucket.push_many(rows, tags="t", upsert=upsert)
                assert (report.indexed, [one.row for one in report.refused]) == (1, list(said))
                for one in report.refused:
                    assert one.reason.startswith(said[one.row])
            for place in said:
                with pytest.raises(InvalidArgument, match="^tags is .*; allowed is a list of tags"):
                    bucket.push("o", "a", tags=given[place])
                with pytest.raises(InvalidArgument, match="^tags is .*; allowed is a list of tags"):
                    bucket.tag("o", given[place])
            assert bucket.objects() == ["4"]
        client.flush("lists")
    assert [one.fields["tags"] for one in index.holdings("lists", "b")] == [["a", "b"]]


def test_a_column_of_structs_gives_no_tags(index: sonicpy.Index) -> None:
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"id": [1], "text": ["a"], "t": [{"color": "red", "size": "xl"}]})
    report = index.push_many(table, collection="c", bucket="b", tags="t")
    assert report.refused == [(0, "1", "tags is of type dict; allowed is a list of tags")]


def test_compat_mode_has_neither(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path, {"server.compat": "sonic"}) as index:
        for refused in (
            lambda: index.push("c", "b", "o", "x", tags=["a"]),
            lambda: index.tag("c", "b", "o", values={"a": 1}),
            lambda: index.push_many([], collection="c", bucket="b", tags="kind"),
        ):
            with pytest.raises(CommandError, match="compat mode"):
                refused()


def test_over_the_channel(shared_server: Server) -> None:
    shown = {"tags": ["Ben & Jerry's", 'say "x"', "size:xl"], "values": {"here": "-0.5/179.9999999", "price": 5}}
    url = f"sonic://:SecretPassword@127.0.0.1:{shared_server.port}"
    with sonicpy.connect(url) as client, sonicpy.open(shared_server.folder / "store", read_only=True) as reader:
        bucket = client.bucket("c", "b")
        bucket.push("o", "text " * 8_000, **shown)
        assert (bucket.tag("o", values={"gone": None}), bucket.tag("none", ["x"])) == (1, 0)
        with client.batch() as batch:
            batch.push("c", "b", "p", "", tags=["only"])
        rows = [{"id": "q", "text": "a", "t": ["x", "y"], "n": 7}]
        assert client.push_many(rows, collection="c", bucket="b", tags="t", values=["n"]).indexed == 1

        async def other() -> int:
            async with sonicpy.connect_async(url) as many:
                await many.push("c", "b", "r", "a", tags=["\u00e9"])
                return await many.bucket("c", "b").tag("r", values={"n": 2**63 - 1})

        assert asyncio.run(other()) == 1
        with pytest.raises(CommandError, match=r"SET\[n\], a number in this bucket"):
            bucket.push("q", "b", values={"n": (1, 2)})
        client.consolidate()
        assert client.verify() == []
        client.stats()  # commits
        assert held(reader) == {
            "o": shown, "p": {"tags": ["only"]}, "q": {"tags": ["x", "y"], "values": {"n": 7}},
            "r": {"tags": ["\u00e9"], "values": {"n": 2**63 - 1}},
        }  # fmt: skip


def test_over_http(index: sonicpy.Index) -> None:
    pytest.importorskip("httpx")
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient  # noqa: PLC0415

    from sonicpy.http import app  # noqa: PLC0415

    client = TestClient(app(index))
    names = {"collection": "c", "bucket": "b", "object": "o"}
    body = {**names, "text": "alpha " * 500, "tags": ["a", "b c"], "values": {"n": 1, "here": "1/2", "old": None}}
    assert client.post("/v1/push", json=body).status_code == 200
    assert client.post("/v1/tag", json={**names, "values": {"n": 2}}).json() == {"tagged": True}
    assert client.post("/v1/tag", json={**names, "object": "none", "tags": []}).json() == {"tagged": False}
    assert client.post("/v1/tag", json=names).status_code == 400
    answer = client.post("/v1/tag", json={**names, "values": {"here": 5}})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("the value here is a number, but those of the bucket are points")
    rows = [{**names, "object": "p", "text": "", "tags": ["x"]}, {**names, "object": "q", "text": "", "tags": 5}]
    found = client.post("/v1/bulk", content="\n".join(map(json.dumps, rows))).json()
    assert (found["pushed"], found["refused"]) == (1, 1)
    assert held(index) == {"o": {"tags": ["a", "b c"], "values": {"here": "1/2", "n": 2}}, "p": {"tags": ["x"]}}


@settings(max_examples=examples(100), deadline=None)
@given(some.integers(-90 * 10**7, 90 * 10**7), some.integers(-180 * 10**7, 180 * 10**7))
def test_points_come_back(latitude: int, longitude: int) -> None:
    value = point_of(f"{latitude / 10**7:.7f}/{longitude / 10**7:.7f}")
    assert unpack_point(value) == (latitude, longitude)
    assert point_of(shown_point(value)) == value


def test_a_store_that_uses_tags_is_refused_by_a_version_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push("c", "b", "o", "x", tags=["a"])
    monkeypatch.delitem(sonicpy.store.rows.uses.KNOWN, "tags")
    with pytest.raises(StoreError, match="uses 'tags', unknown"):
        sonicpy.open(tmp_path)
