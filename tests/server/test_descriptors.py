"""Processes that may not open more files: messages arrive without their descriptors, and connections are refused."""

import asyncio
import contextlib
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sonicpy.server.connections.descriptors import most_descriptors, open_descriptors, reserve, room_for_connections
from sonicpy.server.searching.handover import CAN_HAND_OVER, NONE, Link
from sonicpy.server.searching.search_messages import Handover
from sonicpy.server.searching.search_process import SearchProcess
from tests.processes import Server
from tests.server.peer import Peer
from tests.server.search_tree import moved, search_processes, wait_for
from tests.support import proc
from tests.support.patience import WAIT_S, until_in_loop

pytestmark = pytest.mark.skipif(
    not CAN_HAND_OVER or sys.platform != "linux", reason="passes descriptors, and looks at processes in /proc"
)

LOST = "this process may not open more files"


@contextmanager
def no_more_files() -> Iterator[None]:
    """Keep this process from opening files inside a `with` block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    first_free = os.dup(0)
    os.close(first_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Ends:
    """Both ends of a link in this process, and a pipe whose descriptor is passed on."""

    def __init__(self, on_message: Callable[[object, int], None] | None = None) -> None:
        self.got = asyncio.Queue[tuple[object, int]]()
        ours, theirs = socket.socketpair()
        self.left = Link(ours, lambda *_: None, lambda: None)
        self.right = Link(theirs, on_message or (lambda *message: self.got.put_nowait(message)), lambda: None)
        self.read, self.write = os.pipe()

    async def message(self) -> tuple[object, int]:
        return await asyncio.wait_for(self.got.get(), WAIT_S)

    def close(self) -> None:
        self.left.close()
        self.right.close()
        os.close(self.read)
        os.close(self.write)


class TestLink:
    @pytest.mark.parametrize("size", [1, 3_000_000], ids=["in one read", "in many reads"])
    def test_a_message_without_its_descriptor(self, size: int) -> None:
        async def run() -> None:
            ends = Ends()
            with no_more_files():
                assert ends.left.pass_on("x" * size, ends.write)
                ends.left.send("behind it")
                assert await ends.message() == ("x" * size, NONE)
                assert await ends.message() == ("behind it", NONE)
            assert ends.left.pass_on("later", ends.write)
            message, passed = await ends.message()
            assert message == "later"
            assert os.path.sameopenfile(passed, ends.write)
            os.close(passed)
            ends.close()

        asyncio.run(run())

    def test_no_message_gets_the_descriptor_of_another_one(self) -> None:
        async def run() -> None:
            ends = Ends()
            with no_more_files():
                assert ends.left.pass_on("x" * 3_000_000, ends.write)
                await asyncio.sleep(0.05)  # the first reads, of which one lacks the descriptor
            await ends.left.drain()
            assert ends.left.pass_on("later", ends.read)
            assert (await ends.message())[1] == NONE
            message, passed = await ends.message()
            assert message == "later"
            assert os.path.sameopenfile(passed, ends.read)
            os.close(passed)
            ends.close()

        asyncio.run(run())

    def test_an_unexpected_error_holds_up_nothing(self) -> None:
        async def run() -> None:
            taken = []

            def take(message: object, _: int) -> None:
                taken.append(message)
                if message == "bad":
                    raise RuntimeError("unforeseen")

            errors: list[object] = []
            asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
            ends = Ends(take)
            for message in ("bad", "good", "bad", "last"):
                ends.left.send(message)
            await until_in_loop(lambda: len(taken) >= 4)
            assert taken == ["bad", "good", "bad", "last"], "each once"
            assert len(errors) == 2
            ends.close()

        asyncio.run(run())


def test_what_is_left_for_connections() -> None:
    before = open_descriptors()
    read, write = os.pipe()
    assert open_descriptors() == before + 2
    assert room_for_connections() == most_descriptors() - reserve() - before - 2
    os.close(read)
    os.close(write)
    with no_more_files():
        assert most_descriptors() < resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def test_a_main_process_without_a_descriptor(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        none: Any = None
        process = SearchProcess(none, none, none, lambda: None, none)
        process._receive(Handover(b"", b"", None), NONE)
        [opening] = process._opening
        assert not await opening

    asyncio.run(run())
    assert LOST in caplog.text


@pytest.mark.full
def test_one_process_is_at_its_limit(tmp_path: Path) -> None:
    with Server(tmp_path, {"server.search_processes": 1}) as running, contextlib.ExitStack() as peers:
        [process] = wait_for(running)
        served = peers.enter_context(moved(running, process))
        with Peer(running, "ingest") as ingest:
            assert ingest.ask('PUSH c b o "found"') == "OK"
        time.sleep(1.2)  # until it is idle and does not report
        soft, hard = resource.prlimit(process, resource.RLIMIT_NOFILE)
        taken = max(proc.descriptors(process)) + 1
        resource.prlimit(process, resource.RLIMIT_NOFILE, (taken, hard))
        lost = 0
        for _ in range(60):
            peer = peers.enter_context(Peer(running))
            peer.line()
            peer.send(b"START search\n")
            try:
                peer.line()
            except ConnectionError:
                lost += 1
        assert lost == running.log().count(LOST)
        assert 0 < lost < 10, "it has told that there is no room, and connections may have come before that was heard"
        assert served.results('QUERY c b "found"') == ["o"], "others go on"
        assert search_processes(running) == [process]
        resource.prlimit(process, resource.RLIMIT_NOFILE, (soft, hard))
        served.ask("PING")
        assert peers.enter_context(moved(running, process)).ask("PING") == "PONG"
