"""More idle connections than a server may open, together with changes, checks and kills."""

import random
import sys
import urllib.request
from pathlib import Path

import sonicpy
from tests.attacks.outcome import Outcome
from tests.processes import HOST, free_port
from tests.server.limited import Limited, crowd, opened
from tests.server.peer import Peer
from tests.support.patience import WAIT_S

ROUNDS = 20
LIMIT = 200
CROWD = 400
PUSHES = 50
COMMANDS = ("TRIGGER consolidate", "STATS", "VERIFY", "INFO")


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Run the attack and return its outcome; see `tests.attacks.catalogue`."""
    if sys.platform != "linux":
        return Outcome(1, [], "not on this system")
    chance = random.Random(seed)
    wrong: list[str] = []
    acknowledged: list[str] = []
    tried = most = 0
    http, metrics = free_port(HOST), free_port(HOST)
    settings = {"http.inet": f"{HOST}:{http}", "metrics.inet": f"{HOST}:{metrics}", "store.kv.durability": "commit"}
    server = Limited(folder, settings, LIMIT)
    server.start()
    for round_ in range(max(1, round(ROUNDS * scale))):
        with Peer(server, "ingest") as ingest, Peer(server, "control") as control:
            addresses = chance.choice([[(HOST, server.port)], [(HOST, http)], [(HOST, server.port), (HOST, http)]])
            with crowd(CROWD, addresses):
                most = max(most, opened(server))
                for number in range(PUSHES):
                    name = f"o{round_}.{number}"
                    if ingest.ask(f'PUSH c b {name} "found"') == "OK":
                        acknowledged.append(name)
                    else:
                        wrong.append(f"{name} is refused in a crowd")
                backup = f"TRIGGER backup {folder / 'backup'}"
                for command in chance.sample((*COMMANDS, backup), 3):
                    answer = control.ask(command)
                    if answer.startswith(("ERR", "ENDED")):
                        wrong.append(f"round {round_}: {command}: {answer}")
                with urllib.request.urlopen(f"http://{HOST}:{metrics}/healthz", timeout=WAIT_S) as health:
                    if health.status != 200:
                        wrong.append(f"round {round_}: /healthz says {health.status}")
                tried += CROWD + PUSHES + 4
        log = server.log()
        wrong += [f"round {round_}: the log has {log.count(word)} x {word}" for word in ("cannot sync", "Traceback")
                  if word in log]  # fmt: skip
        if log.count("new connections are refused") != 1:
            wrong.append(f"round {round_}: the log tells of it {log.count('new connections are refused')} times")
        server.kill()
        server.start()
    with Peer(server, "control") as control:
        if (faults := control.ask("VERIFY")) != "RESULT []":
            wrong.append(faults)
    server.stop()
    with sonicpy.open(folder / "store", read_only=True) as index:
        if (count := index.stats("c", "b")["objects"]) != len(acknowledged):
            wrong.append(f"{len(acknowledged)} objects were acknowledged, there are {count}")
    if most > LIMIT // 2 + 40:
        wrong.append(f"{most} files were open")
    return Outcome(tried, wrong, f"at most {most} of {LIMIT} files open, {len(acknowledged)} changes acknowledged")
