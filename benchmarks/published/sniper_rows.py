"""K1 to K4, sniper's benchmarks: keys and values, and the shape of redis-benchmark on the channel.

In contrast to the published benchmarks, only existing keys are deleted, every value that is read is verified, and times
are measured, not computed from rates.
"""

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from benchmarks import corpora
from benchmarks.measure import Taken, load, percentile
from benchmarks.peers.dictionaries import DictKeys, SortedKeys
from benchmarks.peers.kinds import KeyValuePeer
from benchmarks.peers.lmdb import LmdbKeys
from benchmarks.peers.lsm import LevelDb, RocksDb
from benchmarks.peers.ours import OurKeys, OurKeysInMemory
from benchmarks.peers.servers import Redis, Server, Sonicpy, open_redis
from benchmarks.peers.sqlite import SqliteKeys
from benchmarks.published.profiles import Profile
from benchmarks.published.table import IN_PROCESS, NETWORK, Figure, Table
from sonicpy import keyvalue

PEERS: tuple[type[KeyValuePeer], ...] = (
    OurKeys, OurKeysInMemory, LmdbKeys, DictKeys, SortedKeys, LevelDb, RocksDb, SqliteKeys,
)  # fmt: skip
BATCH = 1000
THREADS, COUNTERS, COUNTS = 8, 100, 1000
CONNECTIONS = 50
CASE_S = 20.0
"""K4: the longest time of one case in seconds."""
VALUE = bytes(256)

Row = TypeVar("Row")


def run(table: Table, profile: Profile, folder: Path, wanted: Callable[[str], bool]) -> None:
    """Measure the selected rows of K.

    Args:
        wanted: returns whether a row is selected.
    """
    kinds = table.found("K", PEERS)
    if wanted("K1"):
        set_get_delete(table, profile, folder / "K1", kinds)
    if wanted("K2"):
        phases(table, profile, folder / "K2", kinds)
    if wanted("K3"):
        counters_and_space(table, profile, folder / "K3")
    if wanted("K4"):
        channel(table, profile, folder / "K4")


def set_get_delete(table: Table, profile: Profile, folder: Path, kinds: Sequence[type[KeyValuePeer]]) -> None:
    """K1: set all keys, 1,000 per commit; get and verify all inside one open transaction; delete all. Raises
    AssertionError if a deleted key is still there."""
    keys = corpora.described("keys", corpora.keys(profile.keys), table.say)
    values = [number.to_bytes(8) for number in range(len(keys))]
    order = list(range(len(keys)))
    random.Random(1).shuffle(order)
    made = {(kind.name, case): Figure("K1", case, kind.name, IN_PROCESS, durability=kind.durability)
            for case in ("set", "get", "delete") for kind in kinds}  # fmt: skip
    for number in range(min(3, profile.rounds)):
        for kind in kinds:
            peer = kind(folder / f"{kind.__name__} {number}")
            timed(made[kind.name, "set"], len(keys), lambda peer=peer: fill(peer, keys, values))
            timed(made[kind.name, "get"], len(keys), lambda peer=peer: verify(peer, keys, values, order))
            made[kind.name, "get"].more["file bytes"] = peer.size()
            timed(made[kind.name, "delete"], len(keys), lambda peer=peer: empty(peer, keys, order))
            if any(peer.get(key) is not None for key in keys[:100]):
                raise AssertionError(f"{kind.name} kept a key that was deleted")
            peer.close()
    for figure in made.values():
        table.add(figure)


def timed(figure: Figure, count: int, act: Callable[[], None]) -> None:
    """Add the rate of an act of `count` operations to a figure."""
    with Taken() as taken:
        act()
    figure.rounds.append(count / taken.seconds)
    figure.cpu_us = taken.cpu_s / count * 1e6


def fill(peer: KeyValuePeer, keys: Sequence[bytes], values: Sequence[bytes]) -> None:
    for some in batches(zip(keys, values, strict=True)):
        with peer.writing() as (put, _):
            for key, value in some:
                put(key, value)


def verify(peer: KeyValuePeer, keys: Sequence[bytes], values: Sequence[bytes], order: Sequence[int]) -> None:
    with peer.reading() as get:
        for number in order:
            if get(keys[number]) != values[number]:
                raise AssertionError(f"{peer.name} has another value under {keys[number]!r}")


def empty(peer: KeyValuePeer, keys: Sequence[bytes], order: Sequence[int]) -> None:
    for some in batches(order):
        with peer.writing() as (_, delete):
            for number in some:
                delete(keys[number])


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in lists of BATCH."""
    left = iter(rows)
    while some := list(islice(left, BATCH)):
        yield some


def phases(table: Table, profile: Profile, folder: Path, kinds: Sequence[type[KeyValuePeer]]) -> None:
    """K2: the phases of kvbench, with one commit per change and values of 256 bytes: set, get, one writer beside a
    reader, delete.
    """
    for kind in kinds:
        peer = kind(folder / kind.__name__)
        count = phase(table, "set", peer, profile.phase_s, lambda number, peer=peer: peer.set(b"k%08d" % number, VALUE))
        get = partial(check_value, peer, count)
        phase(table, "get", peer, profile.phase_s, get)
        mixed(table, peer, profile.phase_s, count)
        phase(table, "delete", peer, profile.phase_s, lambda number, peer=peer: peer.delete(b"k%08d" % number), count)
        peer.close()


def check_value(peer: KeyValuePeer, count: int, number: int) -> None:
    if peer.get(b"k%08d" % (number % count)) != VALUE:
        raise AssertionError(f"{peer.name} lost a value")


def phase(
    table: Table, case: str, peer: KeyValuePeer, seconds: float, act: Callable[[int], object], most: int | None = None
) -> int:
    """Call `act` with 0, 1, ... for some seconds, at most `most` times; return the number of calls."""
    latencies = []
    number = 0
    before_s = time.process_time()
    began = now = time.perf_counter()
    end = began + seconds  # behind the first look at the clock, so that a busy machine carries out one, too
    while now < end and (most is None or number < most):
        act(number)
        number += 1
        later = time.perf_counter()
        latencies.append(later - now)
        now = later
    figure = Figure("K2", case, peer.name, IN_PROCESS, rounds=[number / (now - began)], durability=peer.durability)
    figure.cpu_us = (time.process_time() - before_s) / number * 1e6
    latencies.sort()
    figure.more = {f"p{share}_us": percentile(latencies, share) * 1e6 for share in (50, 99)}
    table.add(figure)
    return number


def mixed(table: Table, peer: KeyValuePeer, seconds: float, count: int) -> None:
    """Measure reads of this thread while another thread writes the first keys again."""
    stopped = threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        while not stopped.is_set():
            peer.set(b"k%08d" % (written % count), VALUE)
            written += 1

    writer = threading.Thread(target=write)
    chance = random.Random(2)
    writer.start()
    began, reads = time.perf_counter(), 0
    try:
        while time.perf_counter() - began < seconds:
            check_value(peer, count, chance.randrange(count))
            reads += 1
    finally:
        stopped.set()
        writer.join()
    took = time.perf_counter() - began
    for case, number in (("get beside a writer", reads), ("set beside a reader", written)):
        figure = Figure("K2", case, peer.name, IN_PROCESS, durability=peer.durability, in_flight="2 threads")
        figure.rounds = [number / took]
        table.add(figure)


def counters_and_space(table: Table, profile: Profile, folder: Path) -> None:
    """K3: exact counters with 8 threads; the growth of the file; a backup that is identical. Raises AssertionError if a
    count or the backup is wrong.
    """
    folder.mkdir(parents=True)
    with keyvalue.open(folder / "counters") as held:
        counts = min(COUNTS, profile.keys // 50)

        def count() -> None:
            for number in range(counts):
                held.incr(b"%d" % (number % COUNTERS))

        threads = [threading.Thread(target=count) for _ in range(THREADS)]
        with Taken() as taken:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        total = sum(held.incr(b"%d" % number, 0) for number in range(COUNTERS))
        if total != THREADS * counts:
            raise AssertionError(f"{THREADS * counts} counts became {total}")
        table.add(Figure("K3", "counters of 8 threads, exact", "sonicpy.keyvalue", IN_PROCESS,
                         rounds=[THREADS * counts / taken.seconds], in_flight="8 threads"))  # fmt: skip
    keys = corpora.keys(profile.keys // 5)
    with keyvalue.open(folder / "space") as held:
        chance = random.Random(3)
        sizes = []
        for _ in range(10):
            for some in batches(keys):
                with held.batch():
                    for key in some:
                        held.set(key, bytes(chance.randrange(20, 2000)))
            sizes.append(held.file_size())
        table.add(Figure("K3", "file after 10 passes of changes / after the first", "sonicpy.keyvalue", IN_PROCESS,
                         unit=" times", rounds=[sizes[-1] / sizes[0]]))  # fmt: skip
        held.backup(folder / "backup")
        before = {key: held.get(key) for key in keys[:1000]}
        with held.batch():
            for key in keys[:500]:
                held.delete(key)
        if held.restore(folder / "backup") != len(keys) or {key: held.get(key) for key in before} != before:
            raise AssertionError("the backup is not identical")
        table.add(
            Figure("K3", "backup restored, identical", "sonicpy.keyvalue", IN_PROCESS, unit=" keys", rounds=[len(keys)])
        )


def channel(table: Table, profile: Profile, folder: Path) -> None:
    """K4: 50 connections, one command and 100 commands in flight on each."""
    redis = open_redis("Redis", folder / "redis")
    if not redis:
        table.skip("K4", "Redis", "not installed")
    for server in (Sonicpy("sonicpy serve", folder / "ours"), *table.sonic("K4", folder / "sonic"), *redis):
        with server:
            for case, lines, mode, reply in cases(server, profile.requests):
                for depth in (1, 100):
                    measure(table, server, case, lines, mode, reply, depth)


def cases(server: Server, requests: int) -> list[tuple[str, list[bytes], str, int]]:
    """Return (case, lines, mode of the channel, lines of a reply); there are as many different objects as requests."""
    if isinstance(server, Redis):
        chance = random.Random(4)
        gets = [f"EXISTS key:{chance.randrange(requests)}\n".encode() for _ in range(requests)]
        sets = [f"SET key:{number} abc\n".encode() for number in range(requests)]
        return [("PING", [b"PING\n"] * requests, "", 1), ("SET", sets, "", 1), ("EXISTS", gets, "", 1)]
    chance = random.Random(4)
    words = corpora.made_up_words(5000, 4)
    chosen = [f"{chance.choice(words)} {chance.choice(words)}" for _ in range(requests)]
    pushes = [f'PUSH k default key:{number} "{text}"\n'.encode() for number, text in enumerate(chosen)]
    counts = [f"COUNT k default key:{chance.randrange(requests)}\n".encode() for _ in range(requests)]
    queries = [f'QUERY k default "{text.split()[0]}"\n'.encode() for text in chosen]
    return [
        ("PING", [b"PING\n"] * requests, "search", 1),
        ("PUSH", pushes, "ingest", 1),
        ("COUNT", counts, "ingest", 1),
        ("QUERY", queries, "search", 2),
    ]


def measure(table: Table, server: Server, case: str, lines: Sequence[bytes], mode: str, reply: int, depth: int) -> None:
    run = load(server, mode, lines, connections=CONNECTIONS, in_flight=depth, reply_lines=reply, seconds=CASE_S)
    done = len(run.latencies_s)
    if done != len(lines) and run.seconds < CASE_S:
        raise AssertionError(f"{server.name} answered {done} of {len(lines)} commands")
    figure = Figure("K4", case, server.name, NETWORK, in_flight=f"{depth} on each of {CONNECTIONS}").take([run])
    figure.note = "" if done == len(lines) else f"stopped after {CASE_S:.0f} s"
    latencies = sorted(run.latencies_s)
    figure.more = {f"p{share}_ms": percentile(latencies, share) * 1e3 for share in (50, 95, 99)}
    table.add(figure)
