"""Filters, orders, facets and erasures over the channel: all processes of a server answer as the library does."""

from pathlib import Path

import pytest

import sonicpy
from tests.processes import Server

TAGS = {"o1": ["red", "size:m"], "o2": ["red", "Ben & Jerry's"], "o3": ["blue"]}


@pytest.mark.parametrize("processes", [0, 1])
def test_a_client_asks_with_tags_and_values(tmp_path: Path, processes: int) -> None:
    with (
        Server(tmp_path / "s", {"server.search_processes": processes}) as server,
        sonicpy.connect(f"sonic://{server.host}:{server.port}") as client,
    ):
        shop = client.bucket("shop", "shirts")
        for number, (name, tags) in enumerate(TAGS.items()):
            shop.push(name, "linen shirt", tags=tags, values={"price": 1000 * (3 - number)})
        assert shop.query("shirt", filter='red AND NOT "Ben & Jerry\'s"') == ["o1"]
        assert shop.query("", filter={"tag": ["red", "blue"]}, sort="price", total=True).total == 3
        assert shop.query("", sort="price", limit=2) == ["o3", "o2"]
        assert shop.query("", sort="price", after="o2") == ["o1"]
        hits = shop.query("shirt", filter="price < 2500", facets={"size:*": None, "*": None, "price": [0, 1500]})
        assert set(hits) == {"o2", "o3"} and hits.facets is not None
        assert hits.facets.to_dict() == {
            "total": 2,
            "tags": {"size:": {}, "": {"Ben & Jerry's": 1, "blue": 1, "red": 1}},
            "ranges": {"price": [[0, 1500, 1], [1500, None, 1]]},
        }
        assert shop.explain("shirt", filter="green").unfiltered == 3
        with pytest.raises(sonicpy.InvalidArgument, match="at letter 9 of the filter is 'x'"):
            shop.query("shirt", filter="price < x")
        assert shop.flush(filter="red") == 2
        assert shop.query("shirt") == ["o3"] and len(shop) == 1
        shop.push("o4", "shirt")
        assert shop.query("", filter="NOT blue") == ["o4"]
