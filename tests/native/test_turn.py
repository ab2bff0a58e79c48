"""Tests of sonicpy._native.turn: the turn is given back, on whichever thread a block ends."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

import pytest

import sonicpy
from sonicpy._native.one_thread import OneThread
from sonicpy._native.turn import Turn
from tests.support.patience import WAIT_S

Found = TypeVar("Found")


def in_thread(work: Callable[[], Found]) -> Found:
    """Return the result of a call on a thread of its own, after that thread has ended."""
    found: SimpleQueue[Found] = SimpleQueue()
    threading.Thread(target=lambda: found.put(work()), daemon=True).start()
    return found.get(timeout=WAIT_S)


def is_free(turn: Turn) -> bool:
    """Return whether another thread can get the turn."""
    return in_thread(lambda: turn.do(list, 0.01))


def suspended(turn: Turn, end: Callable[[BaseException | None], object] | None = None) -> Iterator[None]:
    """Hold a turn for as long as this generator exists."""
    with turn.hold(end=end):
        yield


def begun(block: Iterator[None]) -> list[Iterator[None]]:
    """Begin a block, and return it in a list that holds the only reference to it."""
    next(block)
    return [block]


def test_a_block_that_is_freed_on_another_thread_gives_the_turn_back() -> None:
    turn = Turn()
    told: list[bool] = []
    kept = in_thread(lambda: begun(suspended(turn, lambda error: told.append(turn.is_mine))))
    assert not is_free(turn)
    kept.clear()
    assert told == [True]
    assert is_free(turn)


def test_a_block_that_ends_on_another_thread_waits_for_the_thread_that_has_the_turn() -> None:
    turn = Turn()
    told: list[str] = []
    kept = begun(suspended(turn, lambda error: told.append("end")))
    freeing = threading.Thread(target=kept.clear)
    with turn.hold():
        freeing.start()
        freeing.join(0.05)
        assert not is_free(turn)
        told.append("inside")
    freeing.join(WAIT_S)
    assert told == ["inside", "end"]
    assert is_free(turn)


def test_a_batch_in_a_generator_may_end_on_another_thread(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:

        def batch() -> Iterator[None]:
            with index.batch():
                index.push("c", "b", "inside", "word")
                yield

        kept = in_thread(lambda: begun(batch()))
        kept.clear()
        in_thread(lambda: index.push("c", "b", "behind", "word"))
        assert index.query("c", "b", "word") == ["behind", "inside"]


def test_a_batch_that_is_begun_twice_says_so_and_keeps_no_turn(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        batch = index.batch()
        with pytest.raises(RuntimeError, match="the batch has begun already: call batch\\(\\) again"), batch:
            index.push("c", "b", "inside", "word")
            with batch:
                pass
        in_thread(lambda: index.push("c", "b", "behind", "word"))
        with batch:  # one after the other is no mistake
            index.push("c", "b", "again", "word")
        in_thread(lambda: index.push("c", "b", "last", "word"))
        assert index.query("c", "b", "word") == ["last", "again", "behind", "inside"]


def test_a_batch_that_another_thread_is_in_is_waited_for(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        batch = index.batch()
        done: SimpleQueue[None] = SimpleQueue()

        def push() -> None:
            with batch:
                index.push("c", "b", "second", "word")
            done.put(None)

        with batch:
            thread = threading.Thread(target=push)
            thread.start()
            thread.join(0.05)
            index.push("c", "b", "first", "word")
        done.get(timeout=WAIT_S)
        assert index.query("c", "b", "word") == ["second", "first"]


def test_a_failing_call_gives_the_turn_back() -> None:
    turn = Turn()
    failed = in_thread(lambda: _error(lambda: turn.do(lambda: 1 // 0, 0.01)))
    assert isinstance(failed, ZeroDivisionError)
    assert is_free(turn)


def test_a_thread_that_calls_itself_does_not_wait() -> None:
    one = OneThread()
    assert in_thread(lambda: one.do(lambda: one.do(lambda: "inner"))) == "inner"
    one.end()


def _error(work: Callable[[], object]) -> BaseException | None:
    try:
        work()
    except ArithmeticError as error:
        return error
    return None
