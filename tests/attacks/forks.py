"""Forks beside threads that use an index or a table.

While threads of a program change and read a folder, its main thread forks. In the child, every call raises the error
for forked processes, and the child ends; the parent continues, and the folder holds all acknowledged changes.
"""

import json
import subprocess
import sys
from pathlib import Path

from tests.attacks.ends import left_wrong
from tests.attacks.outcome import Outcome
from tests.processes import environment
from tests.support.patience import WAIT_S

FORKS = 400
FORKS_AT_ONCE = 50
"""The number of forks of one program."""

PROGRAM = r"""
import json, os, random, signal, sys, threading, time
import sonicpy, sonicpy.keyvalue

folder, kind, forks, most_s, seed = json.load(sys.stdin)
pick = random.Random(seed)
noted = os.open(folder + ".noted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
opened = sonicpy.keyvalue.open(folder) if kind == "keyvalue" else sonicpy.open(folder)
is_over = False
USES = {
    "index": [
        lambda: opened.push("c", "b", "child", "word"), lambda: opened.query("c", "b", "word"),
        lambda: opened.suggest("c", "b", "wo"), lambda: opened.flush("c"),
        lambda: opened.push_many([("c", "b", "x", "y")]),
        lambda: opened.consolidate(), lambda: opened.stats(), lambda: opened.objects("c", "b"),
    ],
    "keyvalue": [
        lambda: opened.set(b"child", b"1"), lambda: opened.get(b"a"), lambda: opened.delete(b"a"),
        lambda: opened.batch().__enter__(), lambda: opened.count(), lambda: opened.sync(),
    ],
}[kind]

def use(number):
    count = 0
    while not is_over:
        name = f"o{number}-{count}"
        count += 1
        if kind == "keyvalue":
            opened.set(name.encode(), b"1")
        else:
            opened.push("c", "b", name, f"word{count % 50}")
            opened.query("c", "b", "word7")
        os.write(noted, name.encode() + b"\n")

def in_child():
    for use in USES:
        try:
            use()
        except sonicpy.errors.IndexClosed as error:
            if "belongs to process" not in str(error):
                os._exit(3)
        else:
            os._exit(4)
        if len(os.listdir("/proc/self/task")) > 1:
            os._exit(5)
    opened.close()
    os._exit(0)

threads = [threading.Thread(target=use, args=(number,), daemon=True) for number in range(3)]
for thread in threads:
    thread.start()
results = []
for _ in range(forks):
    time.sleep(pick.random() / 100)
    child = os.fork()
    if not child:
        in_child()
    deadline = time.monotonic() + most_s
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < deadline:
        time.sleep(.001)
    if not ended[0]:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    results.append(os.waitstatus_to_exitcode(ended[1]) if ended[0] else "hangs")
is_over = True
for thread in threads:
    thread.join()
opened.close()
print(json.dumps(results))
"""
SAID = {
    3: "another sentence",
    4: "a call passed in the child",
    5: "a call begins a thread",
    "hangs": "the child hangs",
}


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Fork beside threads, and check the children and the folders that are left; return the outcome."""
    count = max(20, round(FORKS * scale))
    wrong: list[str] = []
    tried = 0
    for number in range(0, count, FORKS_AT_ONCE):
        forks = min(FORKS_AT_ONCE, count - number)
        for kind in ("index", "keyvalue"):
            path = folder / f"{kind}-{number}"
            given = json.dumps([str(path), kind, forks, WAIT_S, seed + number])
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", PROGRAM], input=given, env=environment({}),
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            results = json.loads(done.stdout or "[]")
            tried += len(results)
            wrong += [f"{kind}: {SAID.get(result, result)}" for result in results if result != 0]
            if done.returncode or not results:
                wrong.append(f"{kind}: the program ended with {done.returncode}: {done.stderr[-300:]}")
            if fault := left_wrong(path, kind):
                wrong.append(f"{kind}: {fault}")
    return Outcome(tried, wrong)
