"""Tests of the package as programs see it: its names, tab completion, and both ways to connect."""

import asyncio
import errno
import warnings

import pytest

import sonicpy
from sonicpy import errors
from tests.processes import Server
from tests.support.patience import WAIT_S


def test_errors_that_programs_catch_are_top_level_names() -> None:
    for name in ("ConfigError", "IndexClosed", "InvalidArgument", "StoreError", "StoreLocked"):
        assert getattr(sonicpy, name) is getattr(errors, name)
        assert name in sonicpy.__all__


def test_completion_shows_what_programs_use() -> None:
    assert dir(sonicpy) == sorted(sonicpy.__all__)
    with sonicpy.open(":memory:") as index:
        shown = dir(index)
        assert {"push", "query", "objects", "collections", "bucket", "stats", "config"} <= set(shown)
        assert not {"engine", "maintainer", "query_ids", "objects_from", "position_after"} & set(shown)
        assert not any(name.startswith("_") for name in shown)
        assert all(hasattr(index, name) for name in shown)
        bucket = dir(index.bucket("c", "b"))
        assert {"push", "query", "objects", "exists"} <= set(bucket) and "_index" not in bucket


def test_an_asyncio_client_connects_with_and_without_await(shared_server: Server) -> None:
    url = f"sonic://{shared_server.host}:{shared_server.port}"

    async def main() -> None:
        async with sonicpy.connect_async(url) as client:
            await client.push("both", "b", 1, "hello")
        with pytest.raises(sonicpy.ClientError, match="closed"):
            await client.ping()
        async with await sonicpy.connect_async(url) as client:
            assert await client.query("both", "b", "hello") == ["1"]
            assert [name async for name in client.bucket("both", "b")] == ["1"]
            assert {"query", "collections"} <= set(dir(client)) and "_pool" not in dir(client)
        task = asyncio.create_task(sonicpy.connect_async(url))
        first, second = await asyncio.gather(task, sonicpy.connect_async(url))
        await asyncio.wait_for(first.ping(), WAIT_S)
        await first.close()
        await second.close()
        third = await asyncio.wait_for(sonicpy.connect_async(url), WAIT_S)
        await third.close()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())


def test_errors_of_connecting_are_the_same_either_way() -> None:
    async def enter() -> None:
        async with sonicpy.connect_async("sonic://127.0.0.1:1", retry_s=0):
            raise AssertionError("nobody listens there")

    async def wait() -> None:
        await sonicpy.connect_async("sonic://127.0.0.1:1", retry_s=0)

    for connect in (enter, wait):
        with pytest.raises(sonicpy.ConnectionLost) as caught:
            asyncio.run(connect())
        assert isinstance(caught.value.__cause__, OSError) and caught.value.__cause__.errno == errno.ECONNREFUSED
    with pytest.raises(sonicpy.ConfigError):
        sonicpy.connect_async("http://localhost")
