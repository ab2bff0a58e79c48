"""Tests of Hits: a sequence of hits that iterates over names and equals lists of them."""

import copy
import json
import pickle
from collections.abc import Sequence

import pydantic
import pytest

from sonicpy import Hit, Hits
from sonicpy.api.facets import Facets
from sonicpy.api.hits import with_facets

TWO = Hits(["o1", "o2"], [2.5, 0.25], total=7)


def test_slices_keep_facets_and_tables_name_buckets() -> None:
    counted = with_facets(Hits(["o1", "o1"], [2.5, 0.25], 7, buckets=["a", "b"]), Facets(7, {"": {"red": 7}}, {}))
    assert counted[1:].facets == counted.facets and counted[1:].buckets == ["b"]
    table = counted._repr_html_()
    assert [table.count(text) for text in (">bucket<", ">a<", ">b<", ">o1<")] == [1, 1, 1, 2]
    assert ">bucket<" not in TWO._repr_html_()


def test_a_sequence() -> None:
    assert (len(TWO), list(TWO), list(reversed(TWO))) == (2, ["o1", "o2"], ["o2", "o1"])
    assert isinstance(TWO, Sequence)
    assert "o2" in TWO and "o3" not in TWO
    assert (TWO.index("o2"), TWO.count("o1"), TWO.count("o3")) == (1, 1, 0)
    assert TWO and not Hits()


def test_items_are_hits_and_slices_keep_the_total() -> None:
    assert TWO[0] == "o1" == next(iter(TWO)) and type(TWO[0]) is type(next(iter(TWO))) is Hit
    assert [hit.score for hit in TWO] == [hit.score for hit in reversed(TWO)][::-1] == [2.5, 0.25]
    first, second = TWO
    assert (first.object, second.score, type(first.object)) == ("o1", 0.25, str)
    assert TWO[-1].object == "o2" and TWO[-1].score == 0.25
    assert (TWO[1:].objects, TWO[1:].scores, TWO[1:].total) == (["o2"], [0.25], 7)
    with pytest.raises(IndexError):
        TWO[2]


def test_without_scores() -> None:
    hits = Hits(["o1"])
    assert (hits[0], hits[0].score, hits.scores, hits.total) == ("o1", None, None, None)


def test_equality_looks_at_names_alone() -> None:
    assert TWO == ["o1", "o2"] == TWO
    assert TWO == ("o1", "o2") and hash(TWO) == hash(("o1", "o2"))
    assert Hits(["o1", "o2"]) == TWO
    assert TWO != ["o2", "o1"] and Hits(["o1"]) != TWO and TWO != "o1 o2"
    assert [*TWO, "o3"] == ["o1", "o2", "o3"]


def test_json_holds_names_and_dicts_also_scores() -> None:
    assert json.loads(json.dumps(TWO)) == json.loads(json.dumps(list(TWO))) == ["o1", "o2"]
    assert json.loads(json.dumps({"hits": TWO, "best": TWO[0]})) == {"hits": ["o1", "o2"], "best": "o1"}
    assert TWO.to_dicts() == [{"object": "o1", "score": 2.5}, {"object": "o2", "score": 0.25}]
    assert TWO[1].to_dict() == {"object": "o2", "score": 0.25} and type(TWO.to_dicts()[0]["object"]) is str
    assert Hits(["o"]).to_dicts() == [{"object": "o", "score": None}]


def test_pydantic_takes_hits_for_a_list_of_names() -> None:
    class Answer(pydantic.BaseModel):
        hits: Hits

    assert Answer(hits=TWO).hits is TWO
    assert Answer.model_validate_json('{"hits": ["o1"]}').hits == ["o1"]
    assert Answer(hits=TWO).model_dump_json() == '{"hits":["o1","o2"]}'
    assert Answer.model_json_schema()["properties"]["hits"]["items"] == {"type": "string"}
    with pytest.raises(pydantic.ValidationError):
        Answer.model_validate({"hits": [5]})


def test_fastapi_returns_hits() -> None:
    fastapi = pytest.importorskip("fastapi", reason="FastAPI is not installed")
    client_of = pytest.importorskip("fastapi.testclient", reason="httpx is not installed").TestClient
    application = fastapi.FastAPI()
    application.get("/plain")(lambda: TWO)

    @application.get("/hits")
    def typed() -> Hits:
        return TWO

    @application.get("/names")
    def names() -> list[str]:
        return TWO  # type: ignore[return-value]

    @application.get("/dicts")
    def dicts() -> list[dict[str, str | float | None]]:
        return TWO.to_dicts()

    client = client_of(application)
    for path in ("/plain", "/hits", "/names"):
        assert client.get(path).json() == ["o1", "o2"]
    assert client.get("/dicts").json() == TWO.to_dicts()
    assert client.get("/openapi.json").status_code == 200


def test_copies_keep_everything() -> None:
    for copied in (pickle.loads(pickle.dumps(TWO)), copy.deepcopy(TWO)):
        assert (type(copied), copied.objects, copied.scores, copied.total) == (Hits, ["o1", "o2"], [2.5, 0.25], 7)
    assert pickle.loads(pickle.dumps(TWO[0])).score == 2.5


def test_it_never_changes() -> None:
    TWO.objects.clear()
    assert TWO.scores is not None
    TWO.scores.clear()
    assert TWO.objects == ["o1", "o2"] and TWO.scores == [2.5, 0.25]
    with pytest.raises(AttributeError):
        TWO.total = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="2 objects need as many scores, not 1"):
        Hits(["o1", "o2"], [1.0])


def test_how_it_looks() -> None:
    assert repr(TWO) == "Hits(['o1', 'o2'], total=7)"
    assert repr(Hits(["o1"])) == "Hits(['o1'])"
    assert (repr(TWO[0]), str(TWO[0]), f"{TWO[0]:>4}") == ("Hit('o1', 2.5)", "o1", "  o1")
    assert repr(Hit("o", 1 / 3)) == "Hit('o', 0.333333)" and repr(Hit("o")) == "Hit('o', None)"
    html = Hits(["<o>"], [1.23456], total=9)._repr_html_()
    assert "&lt;o&gt;" in html and "1.2346" in html and "1 of 9 objects" in html
    assert "score" not in Hits(["o"])._repr_html_()
