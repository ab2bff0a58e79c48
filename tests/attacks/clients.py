"""Interrupts and cancellations of clients, cut connections, killed servers, batches of 2,000 rows.

A signal handler raises at random moments of calls of the blocking client, twice in a row at times, and tasks of the
asyncio client are cancelled. A proxy cuts connections meanwhile, and the server is killed and started again. After each
of these, the next call has to work. A model holds the acknowledged changes; at the end it is compared with the server.
"""

import asyncio
import contextlib
import gc
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import sonicpy
from sonicpy.errors import ConnectionLost, SonicError
from tests.attacks.outcome import Outcome
from tests.processes import HOST, Server
from tests.support.other_tasks import close_listener, end_other_tasks
from tests.support.patience import SLOWNESS

INTERRUPTS, CANCELLATIONS, BATCHES, KILLS = 4_000, 4_000, 20, 10
ROWS = 2_000
"""The number of pushes in a batch."""
HANGS_S = 40.0 * SLOWNESS
"""A time in seconds that is longer than any call may take, with all time limits and retries of the client."""
COLLECTION = "attacked"
SIGNAL = signal.SIGUSR2


class Interrupted(BaseException):
    """The exception that the signal handler raises."""


class Hangs(BaseException):
    """The exception that the signal handler raises if a call hangs."""


class Signals:
    """Interrupts the main thread, inside a `with` block, at random moments of the calls that ask for it."""

    def __init__(self, dice: random.Random) -> None:
        self.given = 0
        self._dice = dice
        self._left = 0
        self._since: float | None = None
        self._is_over = threading.Event()
        self._main = threading.get_ident()
        self._thread = threading.Thread(target=self._send, args=(random.Random(dice.random()),), daemon=True)

    def __enter__(self) -> "Signals":
        # What an interrupt raises in a weak reference or a finalizer goes nowhere but here.
        self._hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
        self._before = signal.signal(SIGNAL, self._handle)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        signal.signal(SIGNAL, self._before)
        gc.collect()
        sys.unraisablehook = self._hook

    def call(self, work: Callable[[], Any], times: int = 1) -> bool:
        """Call `work` with at most `times` interrupts; return whether it returned without an exception."""
        try:
            self._since, self._left = time.monotonic(), times
            work()
            self._left = 0
        except Interrupted:
            return False
        finally:
            self._left, self._since = 0, None
        return True

    def whole(self, work: Callable[[], Any]) -> None:
        """Call `work` without interrupts. Raises Hangs if it does not return."""
        self.call(work, 0)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._left:
            self._left -= 1
            self.given += 1
            raise Interrupted
        if self._since is not None and time.monotonic() - self._since > HANGS_S:
            self._since = None
            raise Hangs

    def _send(self, dice: random.Random) -> None:
        while not self._is_over.wait(dice.random() ** 3 * 0.002):
            signal.pthread_kill(self._main, SIGNAL)


class Proxy:
    """Passes connections on to a server, and cuts them; it runs in a thread inside a `with` block."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self.is_away = False
        """Whether the proxy closes new connections at once."""
        self._target = port
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "Proxy":
        self._thread.start()
        listening = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._pass, HOST, 0), self._loop)
        self._listener = listening.result()
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """Cut all connections."""
        self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _end(self) -> None:
        self.is_away = True
        await close_listener(self._listener)
        await end_other_tasks(self._cut)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there: asyncio.StreamWriter | None = None
        self._open.add(writer)
        try:
            if self.is_away:
                return
            back, there = await asyncio.open_connection(HOST, self._target)
            self._open.add(there)
            await asyncio.gather(self._copy(reader, there), self._copy(back, writer))
        except OSError:
            pass  # cut, or the server is not there
        finally:
            for each in (writer, there):
                if each is not None:
                    self._open.discard(each)
                    each.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.transport.abort()


class Model:
    """The expected content of the server: objects whose push was acknowledged.

    An object holds the word of its own name; one whose last change was interrupted may be there or not.
    """

    def __init__(self) -> None:
        self.is_there: dict[str, bool] = {}
        self.wrong: list[str] = []

    def check(self, client: sonicpy.Client) -> None:
        """Compare the model with the server."""
        found = set(client.objects(COLLECTION, "b", limit=None))
        self.wrong += [
            f"{name} is {'not ' if wanted else ''}there, its {'push' if wanted else 'flush'} was acknowledged"
            for name, wanted in self.is_there.items()
            if wanted != (name in found)
        ]


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Run the attack and return its outcome; see `tests.attacks.catalogue`."""
    dice, model = random.Random(seed), Model()
    with Server(folder) as server, Proxy(server.port) as proxy, Signals(dice) as signals:
        kills = max(1, round(KILLS * scale))
        url = f"sonic://{HOST}:{proxy.port}"
        interrupted = _interrupts(url, server, proxy, signals, model, round(INTERRUPTS * scale), kills, dice)
        cancelled = asyncio.run(_cancellations(url, proxy, model, round(CANCELLATIONS * scale), dice))
        rows = _batches(url, proxy, signals, model, max(1, round(BATCHES * scale)), dice)
        with sonicpy.connect(f"sonic://{HOST}:{server.port}") as client:
            model.check(client)
    note = f"{signals.given} interrupts, {cancelled} cancellations, {kills} kills, {rows} rows of batches"
    return Outcome(interrupted + cancelled + rows, model.wrong, note)


def _interrupts(
    url: str, server: Server, proxy: Proxy, signals: Signals, model: Model, count: int, kills: int, dice: random.Random
) -> int:
    """Interrupt calls of the blocking client until `count` interrupts came; return the number of calls."""
    kept: list[BaseException] = []  # tracebacks hold what an interrupt left in variables
    calls = 0
    next_kill = 0
    with sonicpy.connect(url, pool_size=1) as client:
        while signals.given < count and calls < 20 * count:
            calls += 1
            name = f"o:{dice.randrange(200)}"
            if signals.given >= next_kill * count // kills:
                next_kill += 1
                server.kill()
                server.start()
            elif not dice.randrange(20):
                proxy.cut()
            change, is_there = _change(client, name, dice)
            model.is_there.pop(name, None)
            try:
                if signals.call(change, dice.choice((1, 1, 2))):
                    model.is_there[name] = is_there
            except ConnectionLost:
                pass  # of a change that is not repeated
            except SonicError as error:
                kept.append(error)
                model.wrong.append(f"call {calls}: {error!r}")
            _next_call(client, signals, model, f"behind call {calls}")
    return calls


def _change(client: sonicpy.Client, name: str, dice: random.Random) -> tuple[Callable[[], Any], bool]:
    """Return a function that changes an object, and whether the object exists afterwards."""
    other = [("more", f"w{number}") for number in range(30)]
    changes: list[tuple[Callable[[], Any], bool]] = [
        (lambda: client.push(COLLECTION, "b", name, name, lang="none"), True),
        (lambda: client.push(COLLECTION, "b", name, f"{name} " * 4_000, lang="none"), True),
        (lambda: client.push_many([*other, (name, name)], collection=COLLECTION, bucket="b", lang="none"), True),
        (lambda: _push_by_batch(client, name), True),
        (lambda: client.flush_object(COLLECTION, "b", name), False),
    ]
    return dice.choice(changes)


def _push_by_batch(client: sonicpy.Client, name: str) -> None:
    with client.batch() as batch:
        for number in range(30):
            batch.push(COLLECTION, "b", "more", f"w{number}", lang="none")
        batch.push(COLLECTION, "b", name, name, lang="none")


def _next_call(client: sonicpy.Client, signals: Signals, model: Model, where: str) -> None:
    """Check that the next call in each mode works."""

    def ask() -> None:
        client.push(COLLECTION, "b", "probe", "probe", lang="none")
        if not client.exists(COLLECTION, "b", "probe") or client.count_object_words(COLLECTION, "b", "probe") != 1:
            model.wrong.append(f"{where}: a wrong answer")

    try:
        signals.whole(ask)
    except (SonicError, Hangs) as error:
        model.wrong.append(f"{where}: {error!r}")


async def _cancellations(url: str, proxy: Proxy, model: Model, count: int, dice: random.Random) -> int:
    """Cancel tasks until `count` of them were cancelled; return the number of all tasks."""
    cancelled = 0
    async with sonicpy.connect_async(url, pool_size=2) as client:
        for calls in range(20 * count):
            if cancelled >= count:
                break
            if not dice.randrange(20):
                proxy.cut()
            names = [f"o:{number}" for number in dice.sample(range(200), 4)]
            tasks = {name: asyncio.create_task(_async_change(client, name, dice.randrange(4))) for name in names}
            await asyncio.sleep(dice.random() ** 2 * 0.003)
            for name in names[: dice.randrange(5)]:
                tasks[name].cancel()
            await asyncio.wait(tasks.values())
            for name, task in tasks.items():
                model.is_there.pop(name, None)
                if task.cancelled():
                    cancelled += 1
                elif (error := task.exception()) is None:
                    model.is_there[name] = task.result()
                elif not isinstance(error, ConnectionLost):
                    model.wrong.append(f"task {calls}: {error!r}")
            try:
                async with asyncio.timeout(HANGS_S):
                    await client.push(COLLECTION, "b", "probe", "probe", lang="none")
                    if await client.count_object_words(COLLECTION, "b", "probe") != 1:
                        model.wrong.append(f"behind task {calls}: a wrong answer")
            except (SonicError, TimeoutError) as error:
                model.wrong.append(f"behind task {calls}: {error!r}")
    return cancelled


async def _async_change(client: sonicpy.AsyncClient, name: str, kind: int) -> bool:
    """Change an object; return whether it exists afterwards."""
    if kind == 0:
        await client.flush_object(COLLECTION, "b", name)
        return False
    if kind == 1:
        await client.push(COLLECTION, "b", name, name, lang="none")
    elif kind == 2:
        rows = [*(("more", f"w{number}") for number in range(30)), (name, name)]
        await client.push_many(rows, collection=COLLECTION, bucket="b", lang="none")
    else:
        async with client.batch() as batch:
            await batch.push(COLLECTION, "b", name, name, lang="none")
    return True


def _batches(url: str, proxy: Proxy, signals: Signals, model: Model, count: int, dice: random.Random) -> int:
    """Push batches of ROWS rows, while the server is away at times; each error and interrupt is handled once. Return
    the number of pushes.
    """
    with sonicpy.connect(url, pool_size=1, retry_s=0) as client:
        for number in range(count):
            names = [f"batch{number}:{row}" for row in range(ROWS)]
            cuts = set(dice.sample(range(ROWS), 3))
            with client.batch() as batch:
                for row, name in enumerate(names):
                    if row in cuts:
                        proxy.is_away = True
                        proxy.cut()
                    push = partial(batch.push, COLLECTION, "b", name, name, lang="none")
                    is_in = False
                    try:
                        is_in = signals.call(push, row % 16 == 0)
                    except ConnectionLost:  # handled once: the push that met it is in the batch, as all before it
                        proxy.is_away = False
                        is_in = name in {each.object for each in batch.waiting}
                    if is_in:
                        model.is_there[name] = True
                proxy.is_away = False
                signals.whole(partial(_send, batch))
            if batch.waiting:
                model.wrong.append(f"batch {number} ended with {len(batch.waiting)} pushes left")
    return count * ROWS


def _send(batch: Any) -> None:
    """Send the rows of a batch over a connection that the proxy may have cut a moment ago."""
    for _ in range(3):
        with contextlib.suppress(ConnectionLost):
            batch.send()
