"""Second writers beside a writer whose lock files are deleted or replaced, with kills and restarts in between."""

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import sonicpy
import sonicpy.keyvalue
from sonicpy.errors import StoreLocked
from tests.attacks.outcome import Outcome

ROUNDS = 100
PUSHES = 20
NOTICED_S = 0.3
"""The time in seconds within which a writer notices that the file with the name is no longer its own."""
WRITER = """
import sys, sonicpy
with sonicpy.open(sys.argv[1]) as index:
    print("open", flush=True)
    for line in sys.stdin:
        try:
            index.push("c", "b", line.strip(), "found")
        except sonicpy.SonicError as error:
            print(error, flush=True)
        else:
            print("OK", flush=True)
"""


class Writer:
    """A process that has the store open for writing, and pushes an object for each line that it reads."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-c", WRITER, str(folder)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.began = self._line() == "open"

    def push(self, name: str) -> bool:
        """Push an object; return whether it was acknowledged."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return self._line() == "OK"

    def end(self, *, kill: bool) -> None:
        if kill:
            self.process.kill()
        self.process.communicate()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


def delete(path: Path) -> None:
    path.unlink(missing_ok=True)


def replace(path: Path) -> None:
    if path.exists():
        other = path.with_name("other")
        shutil.copy(path, other)
        other.replace(path)


def overwrite(path: Path) -> None:
    path.write_text("1\n")


def delete_both(folder: Path) -> None:
    delete(folder / "sonicpy.lock")
    delete(folder / "lock.mdb")


TAMPERS: list[Callable[[Path], None]] = [
    lambda folder: delete(folder / "sonicpy.lock"),
    lambda folder: replace(folder / "sonicpy.lock"),
    lambda folder: overwrite(folder / "sonicpy.lock"),
    lambda folder: delete(folder / "lock.mdb"),
    lambda folder: replace(folder / "lock.mdb"),
    lambda folder: delete_both(folder),
    lambda folder: None,
]


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Open a store beside its writer after the lock files were changed; count second writers and lost changes. Return
    the outcome.
    """
    chance = random.Random(seed)
    store = folder / "store"
    sonicpy.open(store).close()
    wrong: list[str] = []
    acknowledged: set[str] = set()
    tried = stopped = 0
    for round_ in range(max(2, round(ROUNDS * scale))):
        writer = Writer(store)
        if not writer.began:
            wrong.append(f"round {round_}: no writer could begin")
        names = [f"o{round_}.{number}" for number in range(PUSHES)]
        for number, name in enumerate(names):
            if number == PUSHES // 2:
                tamper = chance.randrange(len(TAMPERS))
                TAMPERS[tamper](store)
                for open_it in (sonicpy.open, sonicpy.keyvalue.open, sonicpy.open):
                    tried += 1
                    if gets_in(open_it, store):
                        wrong.append(f"round {round_}: a second writer got in after change {tamper}")
                time.sleep(NOTICED_S * chance.randrange(2))
            tried += 1
            if writer.push(name):
                acknowledged.add(name)
            else:
                stopped += 1
        writer.end(kill=chance.random() < 0.6)
        with sonicpy.open(store, read_only=True) as index:
            lost = len(acknowledged) - index.stats("c", "b")["objects"]
        if lost > 0 and round_ % 10 == 0:  # the log has them: the next open for writing applies them
            sonicpy.open(store).close()
    with sonicpy.open(store) as index:
        held = set(index.objects("c", "b", limit=len(acknowledged) + 1000))
        wrong += [f"{name} was acknowledged and is gone" for name in sorted(acknowledged - held)]
        wrong += index.verify()
    return Outcome(tried, wrong, f"{len(acknowledged)} acknowledged, {stopped} refused by a writer that noticed")


def gets_in(open_it: Callable[[Path], object], store: Path) -> bool:
    """Return whether a folder can be opened for writing."""
    try:
        opened = open_it(store)
    except StoreLocked:
        return False
    opened.close()  # type: ignore[attr-defined]
    return True
