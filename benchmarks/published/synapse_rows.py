"""Y1 to Y4, Synapse's benchmarks: adding objects with and without a check whether they are there, and looking them up.

Y1 adds each domain name and the domains it lies in, and then all of them again; Y2 adds objects that are new for sure.
"""

import os
import random
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import lmdb

import sonicpy
from benchmarks import corpora
from benchmarks.client import Lane, drive
from benchmarks.peers import cluster, postgres
from benchmarks.peers.servers import Server, Sonicpy, ask
from benchmarks.published.profiles import Profile
from benchmarks.published.served import address
from benchmarks.published.table import CLIENT, IN_PROCESS, NETWORK, NOTHING, SYSTEM_CACHE, Figure, Table, in_rounds

COLLECTION, BUCKET = "intel", "fqdn"
COMMIT = 1000
"""Rows in a commit."""
WRITERS = 8
SHARDS = 3
CORES_NEEDED = 4

Rows = Sequence[tuple[str, str]]


class NamePeer(ABC):
    """A store of objects with names. `add` keeps what is there; `add_new` may rely on the names being new."""

    name: str
    durability = SYSTEM_CACHE
    place = IN_PROCESS

    @abstractmethod
    def add(self, rows: Rows) -> None:
        """Add rows in one commit."""

    def add_new(self, rows: Rows) -> None:
        """Add rows that are known to be new."""
        self.add(rows)

    @abstractmethod
    def has(self, name: str) -> bool:
        """Return whether a name is there."""

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Close it."""


class Ours(NamePeer):
    def __init__(self, path: Path | str) -> None:
        self.name = "sonicpy in memory" if path == ":memory:" else "sonicpy"
        self.durability = NOTHING if path == ":memory:" else SYSTEM_CACHE
        self.index = sonicpy.open(path)

    def add(self, rows: Rows) -> None:
        self.index.push_many(rows, collection=COLLECTION, bucket=BUCKET, lang="none")

    def add_new(self, rows: Rows) -> None:
        self.index.push_many(rows, collection=COLLECTION, bucket=BUCKET, lang="none", new=True)

    def has(self, name: str) -> bool:
        return self.index.count(COLLECTION, BUCKET, name) > 0

    def close(self) -> None:
        self.index.close()


class Dict(NamePeer):
    name, durability = "dict", NOTHING

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def add(self, rows: Rows) -> None:
        for name, text in rows:
            self._held.setdefault(name, text)

    def has(self, name: str) -> bool:
        return name in self._held


class Lmdb(NamePeer):
    name = "lmdb"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._environment = lmdb.open(str(folder), map_size=16 << 30, sync=False)

    def add(self, rows: Rows) -> None:
        with self._environment.begin(write=True) as transaction:
            for name, text in rows:
                transaction.put(name.encode(), text.encode(), overwrite=False)

    def has(self, name: str) -> bool:
        with self._environment.begin() as transaction:
            return transaction.get(name.encode()) is not None

    def close(self) -> None:
        self._environment.close()


class Sqlite(NamePeer):
    name = "sqlite3"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._database = sqlite3.connect(folder / "names.db", isolation_level=None)
        self._database.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; CREATE TABLE names(name TEXT PRIMARY KEY, text TEXT)"
        )

    def add(self, rows: Rows) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", rows)
        self._database.execute("COMMIT")

    def has(self, name: str) -> bool:
        return self._database.execute("SELECT 1 FROM names WHERE name = ?", (name,)).fetchone() is not None

    def close(self) -> None:
        self._database.close()


class Served(NamePeer):
    """Our server, through its client."""

    name, place = "sonicpy serve", CLIENT

    def __init__(self, server: Sonicpy) -> None:
        self._client = sonicpy.connect(address(server))

    def add(self, rows: Rows) -> None:
        self._client.push_many(rows, collection=COLLECTION, bucket=BUCKET, lang="none")

    def has(self, name: str) -> bool:
        return self._client.count(COLLECTION, BUCKET, name) > 0

    def close(self) -> None:
        self._client.close()


class Postgres(NamePeer):
    name, place = postgres.NAME, CLIENT

    def __init__(self, names: postgres.Names) -> None:
        self._names = names

    def add(self, rows: Rows) -> None:
        self._names.add(rows)

    def has(self, name: str) -> bool:
        return self._names.has(name)


def run(table: Table, profile: Profile, folder: Path, wanted: Callable[[str], bool]) -> None:
    """Measure the rows of Y that are wanted."""
    if wanted("Y1") or wanted("Y2") or wanted("Y3"):
        gate(table, profile, folder / "gate")
        with ExitStack() as stack:
            server = stack.enter_context(Sonicpy("sonicpy serve", folder / "server"))
            peers: list[NamePeer] = [Ours(folder / "index"), Ours(":memory:"), Dict(), Lmdb(folder / "lmdb"),
                                     Sqlite(folder / "sqlite"), Served(server)]  # fmt: skip
            if reason := postgres.missing():
                table.skip("Y", postgres.NAME, reason)
            else:
                connection = stack.enter_context(postgres.open_postgres(folder / "postgres"))
                peers.append(Postgres(postgres.Names(connection)))
            try:
                adding(table, profile, peers, wanted)
            finally:
                for peer in peers:
                    peer.close()
    if wanted("Y4"):
        three_servers(table, profile, folder / "Y4")


def adding(table: Table, profile: Profile, peers: Sequence[NamePeer], wanted: Callable[[str], bool]) -> None:
    names = corpora.described("domain names", corpora.domain_names(profile.names), table.say)
    random.Random(5).shuffle(names)
    rows = [(part, part.replace(".", " ")) for name in names for part in corpora.suffixes(name)]
    if wanted("Y1") or wanted("Y3"):
        for case in ("add, checked", "the same again"):
            measure(table, profile, "Y1", f"{case}, {COMMIT} a commit", peers, rows, "add")
            faults = [name for name in names[:200] for peer in peers if not peer.has(name)]
            if faults:
                raise AssertionError(f"{faults[0]} was added and is not there")
    if wanted("Y3"):
        chance = random.Random(6)
        asked = [chance.choice(names) for _ in range(profile.names)]
        acts = {peer.name: each_name(peer) for peer in peers}
        in_rounds(table, empty("Y3", "look up", peers), acts, asked, profile.rounds)
    if wanted("Y2"):
        events = corpora.described("events", corpora.events(profile.names), table.say)
        measure(table, profile, "Y2", f"add, known to be new, {COMMIT} a commit", peers, events, "add_new")


def empty(row: str, case: str, peers: Sequence[NamePeer]) -> dict[str, Figure]:
    return {peer.name: Figure(row, case, peer.name, peer.place, durability=peer.durability) for peer in peers}


def each_name(peer: NamePeer) -> Callable[[Sequence[str]], None]:
    def look_up(names: Sequence[str]) -> None:
        for name in names:
            if not peer.has(name):
                raise AssertionError(f"{peer.name} does not find {name}")

    return look_up


def measure(
    table: Table, profile: Profile, row: str, case: str, peers: Sequence[NamePeer], rows: Rows, how: str
) -> None:
    def act(peer: NamePeer) -> Callable[[Rows], None]:
        add = getattr(peer, how)

        def commits(some: Rows) -> None:
            for start in range(0, len(some), COMMIT):
                add(some[start : start + COMMIT])

        return commits

    in_rounds(table, empty(row, case, peers), {peer.name: act(peer) for peer in peers}, rows, profile.rounds)


def gate(table: Table, profile: Profile, folder: Path) -> None:
    """8 connections push the same objects at once: each is there once, or no rate of Y counts."""
    folder.mkdir(parents=True)
    with Sonicpy("sonicpy serve", folder / "server") as server:
        lines = [f'PUSH gate b object:{number} "same{number % 7}"\n'.encode() for number in range(profile.gate)]
        with ExitStack() as stack:
            lanes = []
            for number in range(WRITERS):
                start = number * profile.gate // WRITERS
                connection = stack.enter_context(server.connect("ingest"))
                lanes.append(Lane(connection, lines[start:] + lines[:start], in_flight=4))
            took_s, _ = drive(lanes)
        with server.connect("ingest") as connection:
            counts = [ask(connection, f"COUNT gate b object:{number}\n".encode()) for number in range(profile.gate)]
        with sonicpy.connect(address(server)) as client:
            found = [name for word in range(7) for name in client.query("gate", "b", f"same{word}", limit=profile.gate)]
    exact = len(found) == len(set(found)) == profile.gate and set(counts) == {"RESULT 1\r\n"}
    if not exact:
        raise AssertionError(f"{profile.gate} objects became {len(found)}, {len(set(found))} of them different")
    table.add(Figure("Y1", f"the same {profile.gate} objects over 8 connections: each is there once", "sonicpy serve",
                     NETWORK, rounds=[WRITERS * profile.gate / took_s], in_flight="4 on each of 8"))  # fmt: skip


def shard_of(name: str, shards: int) -> int:
    """Return the server of an object: FNV-1a of 32 bits, as Letarette's."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value % shards


def three_servers(table: Table, profile: Profile, folder: Path) -> None:
    """Y4: the objects of Y2 over one server, then over three, each object on the server that its name says."""
    folder.mkdir(parents=True)
    events = corpora.events(profile.names)
    enough = len(os.sched_getaffinity(0)) >= CORES_NEEDED
    rates = {}
    systems: list[tuple[str, Sequence[Server]]] = [
        ("sonicpy serve", [Sonicpy(f"server {number}", folder / f"{shards} {number}") for number in range(shards)])
        for shards in (1, SHARDS)
    ]
    if reason := cluster.missing():
        table.skip("Y4", cluster.NAME, reason)
    elif profile.has_cluster:
        systems.append((cluster.NAME, cluster.Cluster(folder / "cluster", "e").nodes))
    for name, started in systems:
        shards = len(started)
        with ExitStack() as stack:
            servers = [stack.enter_context(server) for server in started]
            lines: list[list[bytes]] = [[] for _ in servers]
            for event, text in events:
                lines[shard_of(event, shards)].append(f'PUSH e b {event} "{text}" LANG(none)\n'.encode())
            connections = [stack.enter_context(server.connect("ingest")) for server in servers]
            before_s = cluster.cpu_of(servers)
            # A generator a server: one thread would be the limit.
            threads = [
                threading.Thread(target=drive, args=([Lane(connection, own, in_flight=16)],))
                for connection, own in zip(connections, lines, strict=True)
            ]
            took_s = drive_all(threads)
            spent_s = cluster.cpu_of(servers) - before_s
            counts = [int(ask(connection, b"COUNT e b\n").split()[1]) > 0 for connection in connections]
        if name == "sonicpy serve":
            rates[shards] = len(events) / took_s
        figure = Figure("Y4", f"add over {shards} servers", name, NETWORK, in_flight="16 on each")
        figure.rounds = [len(events) / took_s]
        figure.cpu_us = spent_s / len(events) * 1e6
        if not all(counts):
            raise AssertionError("a server has nothing")
        table.add(figure)
    figure = Figure("Y4", "rate of three servers / of one, of 3.0", "sonicpy serve", NETWORK, unit=" times")
    if enough:
        figure.rounds = [rates[SHARDS] / rates[1]]
    else:
        figure.note = f"not measurable: it needs {CORES_NEEDED} cores, and there are {len(os.sched_getaffinity(0))}"
    table.add(figure)


def drive_all(threads: Sequence[threading.Thread]) -> float:
    """Run threads to their end and return the seconds that it took."""
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began
