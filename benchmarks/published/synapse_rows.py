"""Y1 to Y4, Synapse's benchmarks: adding objects with and without a check for existing ones, and looking them up.

Y1 adds each domain name and its parent domains, and then all of them again; Y2 adds objects without duplicates.
"""

import os
import random
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks import corpora
from benchmarks.client import Lane, drive
from benchmarks.measure import Taken
from benchmarks.peers import cluster, postgres
from benchmarks.peers.dictionaries import DictNames
from benchmarks.peers.kinds import NamePeer, Rows
from benchmarks.peers.lmdb import LmdbNames
from benchmarks.peers.ours import MEMORY, OurNames, ServedNames, connect
from benchmarks.peers.servers import Server, Sonicpy
from benchmarks.peers.sqlite import SqliteNames
from benchmarks.published.profiles import Profile
from benchmarks.published.table import CLIENT, IN_PROCESS, NETWORK, Figure, Table, in_rounds

COMMIT = 1000
"""The number of rows in a commit."""
WRITERS = 8
SHARDS = 3
CORES_NEEDED = 4


def run(table: Table, profile: Profile, folder: Path, wanted: Callable[[str], bool]) -> None:
    """Measure the selected rows of Y.

    Args:
        wanted: returns whether a row is selected.
    """
    if wanted("Y1") or wanted("Y2") or wanted("Y3"):
        gate(table, profile, folder / "gate")
        with ExitStack() as stack:
            server = stack.enter_context(Sonicpy("sonicpy serve", folder / "server"))
            peers: list[NamePeer] = [
                OurNames(folder / "index"),
                OurNames(MEMORY),
                DictNames(),
                LmdbNames(folder / "lmdb"),
                SqliteNames(folder / "sqlite"),
                ServedNames(server),
            ]
            if reason := postgres.missing():
                table.skip("Y", postgres.NAME, reason)
            else:
                connection = stack.enter_context(postgres.open_postgres())
                peers.append(postgres.PostgresNames(connection))
            for peer in peers:
                stack.callback(peer.close)
            adding(table, profile, peers, wanted)
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
        acts = {peer.name: partial(look_up, peer) for peer in peers}
        in_rounds(table, empty("Y3", "look up", peers), acts, asked, profile.rounds)
    if wanted("Y2"):
        events = corpora.described("events", corpora.events(profile.names), table.say)
        measure(table, profile, "Y2", f"add, known to be new, {COMMIT} a commit", peers, events, "add_new")


def empty(row: str, case: str, peers: Sequence[NamePeer]) -> dict[str, Figure]:
    """Return an empty figure for each peer."""
    places = {True: CLIENT, False: IN_PROCESS}
    return {
        peer.name: Figure(row, case, peer.name, places[peer.is_remote], durability=peer.durability) for peer in peers
    }


def look_up(peer: NamePeer, names: Sequence[str]) -> None:
    for name in names:
        if not peer.has(name):
            raise AssertionError(f"{peer.name} does not find {name}")


def measure(
    table: Table, profile: Profile, row: str, case: str, peers: Sequence[NamePeer], rows: Rows, how: str
) -> None:
    acts = {peer.name: partial(commits, getattr(peer, how)) for peer in peers}
    in_rounds(table, empty(row, case, peers), acts, rows, profile.rounds)


def commits(add: Callable[[Rows], object], rows: Rows) -> None:
    for start in range(0, len(rows), COMMIT):
        add(rows[start : start + COMMIT])


def gate(table: Table, profile: Profile, folder: Path) -> None:
    """Push equal objects over 8 connections at once. Raises AssertionError if not every object exists exactly once
    afterwards: no rate of Y counts then.
    """
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
        with connect(server) as client:
            counts = {client.count("gate", "b", f"object:{number}") for number in range(profile.gate)}
            found = [name for word in range(7) for name in client.query("gate", "b", f"same{word}", limit=profile.gate)]
    exact = len(found) == len(set(found)) == profile.gate and counts == {1}
    if not exact:
        raise AssertionError(f"{profile.gate} objects became {len(found)}, {len(set(found))} of them different")
    table.add(Figure("Y1", f"the same {profile.gate} objects over 8 connections: each is there once", "sonicpy serve",
                     NETWORK, rounds=[WRITERS * profile.gate / took_s], in_flight="4 on each of 8"))  # fmt: skip


def shard_of(name: str, shards: int) -> int:
    """Return the number, below `shards`, of the server of an object: FNV-1a of 32 bits, as in Letarette."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value % shards


def three_servers(table: Table, profile: Profile, folder: Path) -> None:
    """Y4: push the objects of Y2 to one server, then to three; the name of an object decides its server. Raises
    AssertionError if a server holds none of them."""
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
            # A generator a server: one thread would be the limit.
            threads = [
                threading.Thread(target=drive, args=([Lane(connection, own, in_flight=16)],))
                for connection, own in zip(connections, lines, strict=True)
            ]
            with Taken(partial(cluster.cpu_of, servers)) as taken:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            counts = [int(server.say("ingest", b"COUNT e b\n").split()[1]) > 0 for server in servers]
        if name == "sonicpy serve":
            rates[shards] = len(events) / taken.seconds
        figure = Figure("Y4", f"add over {shards} servers", name, NETWORK, in_flight="16 on each")
        figure.rounds = [len(events) / taken.seconds]
        figure.cpu_us = taken.cpu_s / len(events) * 1e6
        if not all(counts):
            raise AssertionError("a server has nothing")
        table.add(figure)
    figure = Figure("Y4", "rate of three servers / of one, of 3.0", "sonicpy serve", NETWORK, unit=" times")
    if enough:
        figure.rounds = [rates[SHARDS] / rates[1]]
    else:
        figure.note = f"not measurable: it needs {CORES_NEEDED} cores, and there are {len(os.sched_getaffinity(0))}"
    table.add(figure)
