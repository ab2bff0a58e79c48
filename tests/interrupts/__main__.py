"""Interrupt every public method at many moments, in this process; print each wrong result.

    python -m tests.interrupts FOLDER ATTEMPTS SEED

The last line has the number of exceptions. The parent process ends this process if it hangs.
"""

import random
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

from sonicpy import PushReport
from sonicpy.errors import SonicError, StoreError
from tests.interrupts.model import CHUNK, Call, CommittingScene, IndexScene, Model, TableScene, index_calls, table_calls
from tests.interrupts.moments import Moments, alarm


class Soft(Exception):
    """An exception like that of a soft time limit."""


ERRORS: tuple[type[BaseException], ...] = (KeyboardInterrupt, Soft, TimeoutError)
IN_THREADS = 0.15
BY_CLOCK = 0.15
TWICE = 0.4
ALARM_MAX_S = 0.004
COPIED = 0.01
Scene = IndexScene | TableScene


class Attempts:
    """Attempts on one scene.

    Args:
        scene: the index or table whose calls are interrupted.
        calls: calls of its methods.
        chance: chooses the moments.
    """

    def __init__(self, scene: Scene, calls: list[Call], chance: random.Random) -> None:
        self._scene = scene
        self._calls = calls
        self._chance = chance
        self._lengths: dict[int, int] = {}  # moments that a call had last, by its place
        self.raised = 0
        self.wrong: list[str] = []

    def run(self, count: int) -> None:
        """Make `count` interrupts, in every call in turn."""
        for number, call in enumerate(self._calls):  # an interrupted import may leave its lock held: Python's part
            states = call.states(self._scene.model, number)
            call.run(self._scene, number)
            self._judge(call, number, states, None)
        for number in range(count):
            self.attempt(number % len(self._calls), number)
        try:
            faults = self._scene.faults()
            if faults:
                self.wrong.append(f"verify: {faults[:3]}")
        except SonicError as error:
            self.wrong.append(f"it cannot be verified: {error}")

    def attempt(self, place: int, number: int) -> None:
        """Interrupt a call once, and check the state that it leaves."""
        call = self._calls[place]
        states = call.states(self._scene.model, number)
        if isinstance(self._scene, IndexScene):
            self._scene.report = PushReport()
        how = self._chance.random()
        error = self._chance.choice(ERRORS)
        if how < BY_CLOCK:
            said, raised = self._by_clock(call, number, error)
        elif how < BY_CLOCK + IN_THREADS:
            said, raised = _in_thread(lambda: self._at_moments(call, place, number, error))
        else:
            said, raised = self._at_moments(call, place, number, error)
        self.raised += raised is not None
        try:
            self._judge(call, number, states, raised)
        except BaseException as fault:  # noqa: BLE001 - printed, and the attempts go on
            self.wrong.append(f"{'/'.join(call.names)}, {said}, attempt {number}: {type(fault).__name__}: {fault}")
            if "-v" in sys.argv:
                traceback.print_exception(fault)
                if raised is not None:
                    traceback.print_exception(raised)
            self._recover()

    def _at_moments(
        self, call: Call, place: int, number: int, error: type[BaseException]
    ) -> tuple[str, BaseException | None]:
        moments = Moments(error)
        first = self._chance.randrange(self._lengths.get(place, 40) + 3)
        at = [first]
        if self._chance.random() < TWICE:
            at.append(first + 1 + int(self._chance.random() ** 2 * 40))
        raised = moments.run(lambda: call.run(self._scene, number), at)
        if raised is None or place not in self._lengths:
            self._lengths[place] = max(moments.passed, self._lengths.get(place, 0))
        return f"{error.__name__} at {at} of {self._lengths[place]} in {threading.current_thread().name}", raised

    def _by_clock(self, call: Call, number: int, error: type[BaseException]) -> tuple[str, BaseException | None]:
        seconds = 1e-5 + self._chance.random() ** 3 * ALARM_MAX_S
        try:
            with alarm(seconds, error):
                call.run(self._scene, number)
        except BaseException as raised:  # noqa: BLE001 - judged below
            return f"{error.__name__} after {seconds:.6f} s", raised
        return f"{error.__name__} after {seconds:.6f} s", None

    def _judge(self, call: Call, number: int, states: list[Model], raised: BaseException | None) -> None:
        scene = self._scene
        if "close" in call.names:
            scene.close()
            scene.open()
        _, failure = _in_thread(lambda: ("", _failure(lambda: scene.use(number))))
        if failure is not None:
            raise failure
        held = scene.contents()
        allowed = [*states] if raised is None else [scene.model, *states]
        if raised is None:
            allowed = states[-1:]
        if held not in allowed:
            raise AssertionError(f"raised {raised!r}, it holds {_difference(held, allowed[-1])}")
        told_exactly = not isinstance(raised, TimeoutError | StoreError)  # these may come from a disk that fails, too
        if "push_many" in call.names and isinstance(scene, IndexScene) and raised is not None and told_exactly:
            told = [scene.model, *states][-(-scene.report.rows // CHUNK)]
            if told != held:
                raise AssertionError(f"the report says {scene.report.rows} rows, it holds {_difference(held, told)}")
        scene.model = held
        if self._chance.random() < COPIED:
            copied = scene.copy(number)
            if copied != held:
                raise AssertionError(f"after a kill it holds {_difference(copied, held)}")

    def _recover(self) -> None:
        """Open the scene again in its present state."""
        try:
            self._scene.close()
            self._scene.open()
            self._scene.model = self._scene.contents()
        except BaseException as fault:  # noqa: BLE001 - printed
            self.wrong.append(f"it cannot be opened again: {fault!r}")


def _failure(work: Callable[[], object]) -> BaseException | None:
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - the caller raises it
        return error
    return None


def _in_thread(work: Callable[[], tuple[str, BaseException | None]]) -> tuple[str, BaseException | None]:
    """Return the result of `work` in a thread of its own; wait for ever if that thread hangs."""
    found: list[tuple[str, BaseException | None]] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001 - an exception that came late
            found.append(("", error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def _difference(held: Model, expected: Model) -> str:
    more = {key: held[key] for key in held if held[key] != expected.get(key)}
    less = {key: expected[key] for key in expected if expected[key] != held.get(key)}
    return f"{more} instead of {less}"


def main(folder: str, attempts: str, seed: str) -> int:
    """Run the attempts; return the exit status."""
    chance = random.Random(int(seed))
    index, table = IndexScene(Path(folder)), TableScene(Path(folder))
    committing = CommittingScene(Path(folder, "committing"))
    runs: list[tuple[Scene, list[Call], int]] = [
        (index, index_calls(index), 2),
        (committing, index_calls(committing), 1),
        (table, table_calls(table), 1),
    ]
    raised = 0
    for scene, calls, share in runs:
        tried = Attempts(scene, calls, chance)
        tried.run(int(attempts) * share // 4)
        for sentence in tried.wrong:
            print("wrong:", sentence, flush=True)
        raised += tried.raised
        scene.close()
    print("raised:", raised)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
