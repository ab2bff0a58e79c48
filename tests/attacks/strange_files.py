"""Links, pipes and foreign code at places where a store, a backup or a check makes or reads files, under any umask."""

import contextlib
import os
import random
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import sonicpy
from sonicpy.errors import SonicError
from sonicpy.index.maintenance.verify import verify_store_in_child
from tests.attacks.outcome import Outcome
from tests.support.texts import MANY_WORDS

ATTEMPTS = 600
CHECKS = 20
PRECIOUS = "precious"
MODULES = ("json", "signal", "struct", "threading", "lmdb")
NAMES = ("sonicpy.backup", "sonicpy.backup.new", "sonicpy.boot.new", "sonicpy.checkpoint", "graph/1-1.graph.new")


def a_socket(path: Path, target: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


HARD_LINK = 3
THINGS: list[Callable[[Path, Path], object]] = [
    lambda path, target: path.symlink_to(target),
    lambda path, target: path.symlink_to(target.with_name("nothing")),
    lambda path, target: path.symlink_to(target.parent),
    lambda path, target: os.link(target, path),
    lambda path, target: os.mkfifo(path),
    lambda path, target: path.mkdir(),
    a_socket,
    lambda path, target: path.write_bytes(os.urandom(100)),
]


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Put something strange in the way of a backup, a restore or a start; only files of the store may change. Return
    the outcome.
    """
    chance = random.Random(seed)
    target = folder / "target" / "file"
    target.parent.mkdir()
    target.write_text(PRECIOUS)
    wrong: list[str] = []
    attempts = max(5, round(ATTEMPTS * scale))
    for number in range(attempts):
        place, name = folder / f"place{number}", chance.choice(NAMES)
        thing = chance.randrange(len(THINGS))
        if name == "sonicpy.checkpoint" and thing == HARD_LINK:
            continue  # a snapshot of links to all files is a way to back up a store that is closed
        with umask(chance.choice((0o000, 0o022, 0o077))):
            told = use(place, name, thing, target)
        wrong += [f"{name}, thing {thing}: {fault}" for fault in (*told, *changed(target), *wide(place))]
    checks = max(1, round(CHECKS * scale))
    for _ in range(checks):
        wrong += carried_out(folder)
    return Outcome(attempts + checks, wrong)


@contextlib.contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def use(place: Path, name: str, thing: int, target: Path) -> Iterator[str]:
    """Make an index, put a strange file in its way, and back up, restore and open it again; yield exceptions other than
    SonicError, and lost changes.
    """
    with sonicpy.open(place) as index:
        index.push("c", "b", "o", f"found {MANY_WORDS}")
        index.consolidate()
        if not name.endswith(".new"):
            index.backup(place)
    path = place / name
    with contextlib.suppress(OSError):
        path.unlink()
    THINGS[thing](path, target)
    try:
        with sonicpy.open(place) as index:
            for act in (index.backup, index.restore):
                try:
                    act(place)
                except SonicError:
                    continue
            if index.query("c", "b", "found") != ["o"]:
                yield "the object is gone"
    except SonicError:
        return
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the result
        yield f"raised {error!r}"


def changed(target: Path) -> Iterator[str]:
    """Yield the changes of the file that a link points to."""
    if target.read_text() != PRECIOUS:
        yield "the target of a link was overwritten"
        target.write_text(PRECIOUS)
    for other in target.parent.iterdir():
        if other != target:
            yield f"{other.name} was made through a link"


def wide(place: Path) -> Iterator[str]:
    """Yield files of a store that other users can access."""
    for path in place.rglob("*"):
        status = path.lstat()
        is_ours = path.name not in {Path(name).name for name in NAMES} and stat.S_ISREG(status.st_mode)
        if is_ours and status.st_mode & 0o077:
            yield f"{path.name} has mode {stat.S_IMODE(status.st_mode):o}"


def carried_out(folder: Path) -> Iterator[str]:
    """Yield the traces of foreign code that a check executed from its working folder."""
    hostile, mark, store = folder / "hostile", folder / "mark", folder / "checked"
    hostile.mkdir(exist_ok=True)
    for name in MODULES:
        (hostile / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r})\n")
    sonicpy.open(store).close()
    before = Path.cwd()
    os.chdir(hostile)
    try:
        yield from verify_store_in_child(store)
    finally:
        os.chdir(before)
    if mark.exists():
        yield f"{mark.read_text()} was carried out"
        mark.unlink()
