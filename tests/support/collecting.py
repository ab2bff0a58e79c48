"""A garbage collection at a chosen moment: finalizers let other threads run in the middle of native code."""

import gc
from collections.abc import Callable

SPARE = 3_000
"""The number of lists, tuples and dicts that exceeds those which Python keeps for reuse without asking for memory."""
OBJECTS = 200


class Collecting:
    """A context in which memory is collected once, when there are more than `behind` new lists, tuples and dicts;
    `meanwhile` is called at that time.
    """

    __slots__ = ("_before", "_behind", "_is_armed", "_meanwhile", "_used")

    def __init__(self, behind: int, meanwhile: Callable[[], object]) -> None:
        self._behind = behind
        self._meanwhile = meanwhile
        self._is_armed = False
        self._before = gc.get_threshold()
        self._used: list[object] = []

    def __enter__(self) -> None:
        gc.collect()
        gc.callbacks.append(self._called)
        for number in range(SPARE):
            self._used.append(((number, number), {number: [number]}))
        gc.collect(0)
        self._is_armed = True
        gc.set_threshold(OBJECTS)
        for number in range(OBJECTS - self._behind):
            self._used.append([number])

    def __exit__(self, *_: object) -> None:
        gc.set_threshold(*self._before)
        gc.callbacks.remove(self._called)

    def _called(self, phase: str, _: object) -> None:
        if phase == "stop" and self._is_armed:
            self._is_armed = False
            self._meanwhile()
