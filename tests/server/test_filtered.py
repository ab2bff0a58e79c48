"""Filters, orders, facets and erasures over the channel: all processes of a server answer as the library does."""

import asyncio
from pathlib import Path

import pytest

import sonicpy
from tests.in_loop import serving_with
from tests.processes import Server

TAGS = {"o1": ["red", "size:m"], "o2": ["red", "Ben & Jerry's"], "o3": ["blue"]}


@pytest.mark.full
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


def test_an_erasure_by_a_filter_beside_other_changes(tmp_path: Path) -> None:
    async def erase() -> None:
        async with serving_with(tmp_path, {}) as (service, _):
            index = service.index
            for number in range(100):
                index.push("c", "b", f"o{number}", "text", tags=["old"])
            erasing = asyncio.create_task(service.flush_passing("c", "b", "old"))
            for _ in range(4):
                await asyncio.sleep(0)
            left = index.count_objects("c", "b")
            assert 20 < left < 100, "it is under way"
            index.upsert("c", "b", "o7", "text", tags=["new"])  # it passes no more
            index.flush_object("c", "b", "o8")
            index.push("c", "b", "o100", "text", tags=["old"])
            assert await erasing == 98
            assert sorted(index.query("c", "b", "text")) == ["o100", "o7"]

    asyncio.run(erase())


@pytest.mark.parametrize("how", ["flush", "restore"])
def test_an_erasure_by_a_filter_ends_with_its_bucket(tmp_path: Path, how: str) -> None:
    names = [f"o{number}" for number in range(100)]

    async def erase() -> None:
        async with serving_with(tmp_path / "store", {}) as (service, _):
            index = service.index
            for name in names:
                index.push("c", "b", name, "text", tags=["old"])
            index.engine.commit()
            index.backup(tmp_path / "backup")
            erasing = asyncio.create_task(service.flush_passing("c", "b", "old"))
            for _ in range(4):
                await asyncio.sleep(0)
            assert 20 < (left := index.count_objects("c", "b")) < 100, "it is under way"
            if how == "restore":
                index.restore(tmp_path / "backup")
            else:
                index.flush("c", "b")
                for name in names:
                    index.push("c", "b", name, "text", tags=["old"])
            assert await erasing == 100 - left
            assert sorted(index.objects("c", "b")) == sorted(names), "the new bucket stays whole"

    asyncio.run(erase())
