"""Programs that end while their threads use an index or a table.

Each program opens a folder, lets daemon threads change and read it, and ends in one of the ways below at a random
moment. It has to end in time and without a crash, and the folder has to be sound and to hold all acknowledged changes.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

import sonicpy
import sonicpy.keyvalue
from tests.attacks.outcome import Outcome
from tests.processes import environment
from tests.support.patience import WAIT_S

PROGRAMS = 500
KINDS = ("index", "keyvalue", "read_only")
WAYS = ("end of file", "sys.exit", "exception", "del", "close", "os._exit", "SIGINT", "SIGTERM", "SIGKILL")
EXPECTED = {"exception": 1, "SIGINT": -2, "SIGTERM": -15, "SIGKILL": -9}
"""Way to end a program -> its exit status; 0 for all others. A program that SIGINT ends may also return 1."""

DRIVER = r"""
import json, os, random, signal, sys, threading, time
import sonicpy, sonicpy.keyvalue

specs, most_s = json.load(sys.stdin)
spec = None
for one in specs:
    child = os.fork()
    if not child:
        spec = one
        break
    deadline = time.monotonic() + most_s
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            print(json.dumps("hangs"), flush=True)
            break
        time.sleep(.002)
    else:
        print(json.dumps(os.waitstatus_to_exitcode(ended[1])), flush=True)
if spec is None:
    sys.exit()

sys.stdout = sys.stderr = open(os.devnull, "w")
threading.excepthook = lambda _: None  # Python aborts a program that ends while a daemon thread writes to a stream
folder, kind, way, threads, seconds, seed = spec
noted = os.open(folder + ".noted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
opened = sonicpy.keyvalue.open(folder) if kind == "keyvalue" else sonicpy.open(folder, read_only=kind == "read_only")

def use(number):
    pick = random.Random(seed * 100 + number)
    count = 0
    while True:
        name = f"o{number}-{count}"
        count += 1
        if kind == "read_only":
            opened.query("c", "b", f"word{pick.randrange(50)}")
        elif kind == "keyvalue":
            opened.set(name.encode(), b"1")
            os.write(noted, name.encode() + b"\n")
        else:
            opened.push("c", "b", name, f"word{pick.randrange(50)} word{pick.randrange(50)}")
            os.write(noted, name.encode() + b"\n")
            opened.query("c", "b", f"word{pick.randrange(50)}")

for number in range(threads):
    threading.Thread(target=use, args=(number,), daemon=True).start()
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs in the background
time.sleep(seconds)
if way == "sys.exit":
    sys.exit()
elif way == "exception":
    raise RuntimeError("the program fails")
elif way == "del":
    del opened
elif way == "close":
    opened.close()
elif way == "os._exit":
    os._exit(0)
elif way.startswith("SIG"):
    os.kill(os.getpid(), getattr(signal, way))
"""


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """End programs, and check the folders that they leave; return the outcome."""
    pick = random.Random(seed)
    count = max(len(WAYS), round(PROGRAMS * scale))
    specs = [
        (
            str(folder / str(number)),
            pick.choice(KINDS),
            WAYS[number % len(WAYS)],
            pick.randrange(4),
            pick.random() / 20,
            number,
        )
        for number in range(count)
    ]
    for path, kind, *_ in specs:
        if kind == "read_only":
            with sonicpy.open(path) as index:
                index.push_many([("c", "b", f"o{number}", f"word{number}") for number in range(50)])
    done = subprocess.run(
        [sys.executable, "-c", DRIVER], input=json.dumps([specs, WAIT_S]), env=environment({}), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    results = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [f"the driver ended early: {done.stderr[-500:]}"] if len(results) != count else []
    for (path, kind, way, threads, _, _), status in zip(specs, results, strict=False):
        said = f"{kind} with {threads} threads, {way}"
        expected = EXPECTED.get(way, 0)
        if status != expected and not (way == "SIGINT" and status == 1):
            wrong.append(f"{said}: ended with {status}, not with {expected}")
        if fault := left_wrong(Path(path), kind):
            wrong.append(f"{said}: {fault}")
    return Outcome(count, wrong)


def left_wrong(path: Path, kind: str) -> str:
    """Return a sentence about the fault of a folder that a program left; "" if it has none."""
    noted = Path(f"{path}.noted")
    names = noted.read_text().split("\n")[:-1] if noted.exists() else []
    try:
        if kind == "keyvalue":
            with sonicpy.keyvalue.open(path) as table:
                lost = [name for name in names if table.get(name.encode()) != b"1"]
        else:
            with sonicpy.open(path) as index:
                if faults := index.verify():
                    return f"verify finds {faults[:2]}"
                lost = [name for name in names if not index.exists("c", "b", name)]
    except sonicpy.SonicError as error:
        return f"it cannot be opened: {error}"
    return f"{len(lost)} of {len(names)} acknowledged changes are lost" if lost else ""
