"""R1 to R6, Reindexer's benchmarks: 100,000 documents of 50 words, by number, by field, by words; and updates."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median

from benchmarks import corpora
from benchmarks.accounting import cpu_s
from benchmarks.measure import Run, in_turns, load
from benchmarks.peers import postgres
from benchmarks.peers.kinds import BOTH, EITHER, PREFIX, TYPO, WORD, Item, TextPeer
from benchmarks.peers.ours import AS_TYPED, OurTexts, ServedTexts, SonicTexts
from benchmarks.peers.reindexer import Reindexer
from benchmarks.peers.servers import Redis, Server, Sonicpy, open_redis
from benchmarks.peers.sqlite import Fts5Texts
from benchmarks.peers.tantivy import TantivyTexts
from benchmarks.published.oracle import Oracle
from benchmarks.published.profiles import Profile
from benchmarks.published.table import CLIENT, IN_PROCESS, NETWORK, Figure, Table, in_rounds

PEERS: tuple[type[TextPeer], ...] = (OurTexts, Fts5Texts, TantivyTexts, Reindexer)
CHECKED = 200
CONNECTIONS = 50
KINDS = {"R3": (WORD, BOTH, EITHER), "R4": (PREFIX,), "R5": (TYPO,)}
CONDITIONS = (("one condition", None), ("two conditions", 2010))
"""The cases of R2: a name alone, and a name with years after this one."""
LISTED = {PREFIX, TYPO}
"""Kinds of queries whose share of correct answers is shown, because peers offer different expansions."""

Query = tuple[str, list[str], list[str]]
"""The kind of a query, its words, and the correct words."""


def queries(items: Sequence[Item], oracle: Oracle, kind: str, count: int) -> list[Query]:
    """Return `count` queries of the kind `kind`, made of words of random documents."""
    chance = random.Random(f"{kind}")
    found = []
    while len(found) < count:
        words = chance.choice(items)[3].split()
        long = [word for word in words if len(word) > 5]
        if kind in (BOTH, EITHER):
            chosen = chance.sample(words, 2)
            found.append((kind, chosen, chosen))
        elif kind == TYPO and long:
            word = chance.choice(long)
            found.append((kind, [corpora.misspelt(word, chance, oracle.objects)], [word]))
        elif kind == PREFIX and long:
            prefix = chance.choice(long)[:4]
            found.append((kind, [prefix], [prefix]))
        elif kind == WORD:
            word = chance.choice(words)
            found.append((kind, [word], [word]))
    return found


def run(table: Table, profile: Profile, folder: Path, wanted: Callable[[str], bool]) -> None:
    """Measure the selected rows of R.

    Args:
        wanted: returns whether a row is selected.
    """
    items = corpora.described(f"items of {profile.name}", corpora.items(profile.items), table.say)
    oracle = Oracle((item[0], item[3]) for item in items)
    in_process(table, profile, folder / "in process", items, oracle, wanted)
    over_sockets(table, profile, folder / "sockets", items, oracle, wanted)


def in_process(
    table: Table, profile: Profile, folder: Path, items: Sequence[Item], oracle: Oracle, wanted: Callable[[str], bool]
) -> None:
    peers = [kind(folder / kind.__name__) for kind in table.found("R", PEERS)]  # type: ignore[call-arg]
    for peer in peers:
        peer.load(items)
    if wanted("R2"):
        conditions(table, profile, items, peers)
    one_after_the_other(table, profile, peers, items, oracle, wanted, IN_PROCESS)
    for peer in peers:
        peer.close()


def one_after_the_other(
    table: Table,
    profile: Profile,
    peers: Sequence[TextPeer],
    items: Sequence[Item],
    oracle: Oracle,
    wanted: Callable[[str], bool],
    place: str,
) -> None:
    """Measure calls of one thread: by number, by words, and updates that the next query has to show.

    Args:
        wanted: returns whether a row is selected.
        place: as in `Figure`.
    """
    chance = random.Random(7)
    spent = {peer.name: partial(spent_s, peer.pids) for peer in peers}
    if wanted("R1"):
        numbers = [chance.randrange(len(items)) for _ in range(profile.queries)]
        acts = {peer.name: each(peer.point) for peer in peers}
        in_rounds(table, figures("R1", "by number", acts, place), acts, numbers, profile.rounds, spent)
    for row, kinds in KINDS.items():
        for kind in kinds if wanted(row) else ():
            asked = queries(items, oracle, kind, profile.queries)
            searching(table, profile, row, peers, asked, oracle, place, spent)
    if wanted("R6"):
        count = max(profile.rounds, profile.queries // 20)
        changes = [(chance.randrange(len(items)), f"{chance.choice(items)[3]} fresh{at}") for at in range(count)]
        acts = {peer.name: updating(peer) for peer in peers}
        made = figures("R6", "update, then a query that finds it", acts, place)
        for peer in peers:
            made[peer.name].durability = peer.durability
        in_rounds(table, made, acts, changes, profile.rounds, spent)


def spent_s(pids: Sequence[int]) -> float:
    """Return the CPU seconds of this process and of its servers."""
    return time.process_time() + sum(map(cpu_s, pids))


def figures(row: str, case: str, acts: dict[str, Callable[..., object]], place: str, **more: str) -> dict[str, Figure]:
    """Return an empty figure for each peer.

    Args:
        acts: name of the peer -> its operation.
        place: as in `Figure`.
    """
    return {name: Figure(row, case, name, place, **more) for name in acts}  # type: ignore[arg-type]


def each(act: Callable[..., object]) -> Callable[[Sequence[object]], None]:
    """Return a function that calls `act` with each operation."""

    def every(operations: Sequence[object]) -> None:
        for operation in operations:
            act(operation)

    return every


def searching(
    table: Table,
    profile: Profile,
    row: str,
    peers: Sequence[TextPeer],
    asked: Sequence[Query],
    oracle: Oracle,
    place: str,
    spent: dict[str, Callable[[], float]],
) -> None:
    kind = asked[0][0]
    acts, made = {}, {}
    for peer in peers:
        figure = made[peer.name] = Figure(row, kind, peer.name, place)
        checked = asked[:CHECKED]
        answers = [peer.find(kind, words) for _, words, _ in checked]
        if any(answer is None for answer in answers):
            figure.note = "not offered"
            table.add(made.pop(peer.name))
            continue
        faults = [
            oracle.fault(kind, meant, answer)
            for (_, _, meant), answer in zip(checked, answers, strict=True)
            if answer is not None
        ]
        wrong = [fault for fault in faults if fault]
        if kind in LISTED:
            figure.note = f"right in {1 - len(wrong) / len(checked):.1%}"
        elif wrong:
            figure.note = f"wrong: {len(wrong)} of {len(checked)}, such as: {wrong[0]}"
            table.add(made.pop(peer.name))
            continue
        acts[peer.name] = each(lambda query, peer=peer: peer.find(kind, query[1]))
    in_rounds(table, made, acts, asked, profile.rounds, spent)


def updating(peer: TextPeer) -> Callable[[Sequence[tuple[int, str]]], None]:
    """Return a function that replaces documents and finds each by a word that no other has."""

    def change(operations: Sequence[tuple[int, str]]) -> None:
        for number, text in operations:
            peer.update(number, text)
            if peer.find(WORD, [text.rsplit(" ", 1)[1]]) != [number]:
                raise AssertionError(f"{peer.name} does not see its update of {number}")

    return change


def conditions(table: Table, profile: Profile, items: Sequence[Item], peers: Sequence[TextPeer]) -> None:
    """Measure one and two conditions on fields."""
    names = some_names(items, profile.queries)
    with_fields = [peer for peer in peers if peer.filtered(items[0][1], None) is not None]
    for case, year in CONDITIONS:
        acts = {peer.name: each(lambda name, peer=peer, year=year: peer.filtered(name, year)) for peer in with_fields}
        in_rounds(table, figures("R2", case, acts, IN_PROCESS), acts, names, profile.rounds)


def some_names(items: Sequence[Item], count: int) -> list[str]:
    """Return `count` names of random documents."""
    chance = random.Random(8)
    return [chance.choice(items)[1] for _ in range(count)]


def conditions_over_sockets(table: Table, profile: Profile, folder: Path, items: Sequence[Item]) -> None:
    """Measure one and two conditions on fields over 50 connections."""
    servers = [
        Sonicpy("sonicpy serve", folder / "one"),
        Sonicpy("sonicpy serve, a search process", folder / "two", {"server.search_processes": 1}),
    ]
    lines = [
        f'PUSH items default {number} "{name}" LANG(none) TAGS("{name}") SET(year={year})\n'.encode()
        for number, name, year, _ in items
    ]
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server)
            load(server, "ingest", lines, in_flight=64)
        for case, year in CONDITIONS:
            more = "" if year is None else f" AND year > {year}"
            names = some_names(items, profile.queries)
            asked = [f'QUERY items default "" FILTER("\\"{name}\\"{more}") LIMIT(10)\n' for name in names]
            tries(table, profile, "R2", case, servers, {"search": asked}, 2)
    if reason := postgres.missing():
        table.skip("R2", postgres.NAME, reason)
    else:
        conditions_in_postgres(table, profile, folder / "postgres", items)


def conditions_in_postgres(table: Table, profile: Profile, folder: Path, items: Sequence[Item]) -> None:
    """Measure one and two conditions on fields of a table of PostgreSQL over 50 connections of pgbench."""
    with postgres.open_postgres() as connection:
        postgres.PostgresTexts(connection).load(items)
        for case, year in CONDITIONS:
            more = "" if year is None else f" AND year > {year}"
            statements = [
                f"SELECT id FROM items WHERE name = '{name}'{more} LIMIT 10"
                for name in some_names(items, postgres.SCRIPTS_MAX)
            ]
            figure = Figure("R2", case, postgres.NAME, NETWORK, in_flight=f"1 on each of {CONNECTIONS}")
            spent = []
            for number in range(profile.tries):
                scripts = folder / f"{case} {number}"
                rate, each_s = postgres.asked_by_pgbench(connection, scripts, statements, CONNECTIONS, profile.seconds)
                figure.rounds.append(rate)
                spent.append(each_s)
            figure.cpu_us, figure.more["best"] = median(spent) * 1e6, max(figure.rounds)
            table.add(figure)


def over_sockets(
    table: Table, profile: Profile, folder: Path, items: Sequence[Item], oracle: Oracle, wanted: Callable[[str], bool]
) -> None:
    """Measure servers over 50 connections; Redis only by number."""
    if wanted("R2"):
        conditions_over_sockets(table, profile, folder / "fields", items)
    if not any(map(wanted, ("R1", *KINDS, "R6"))):
        return
    exact = {f"search.{key}": value for key, value in AS_TYPED["search"].items()}
    servers: list[Server] = [
        Sonicpy("sonicpy serve", folder / "default"),
        Sonicpy("sonicpy serve, words as typed", folder / "exact", exact),
        *table.sonic("R", folder / "sonic"),
    ]
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server)
            fill(server, items)
        through_clients(table, profile, servers, items, oracle, wanted)
        if wanted("R1"):
            redis = [stack.enter_context(server) for server in open_redis("Redis", folder / "redis")]
            for server in redis:
                load(server, "", [f"SET item:{item[0]} x\n".encode() for item in items], in_flight=64)
            tries(table, profile, "R1", "by number", [*servers, *redis], number_lines(items), 1)
        for row, kinds in KINDS.items():
            for kind in kinds if wanted(row) else ():
                asked = queries(items, oracle, kind, profile.queries)
                lines = [f'QUERY items default "{" ".join(words)}" LIMIT(10) LANG(none)\n' for _, words, _ in asked]
                tries(table, profile, row, kind, servers, {"search": lines}, 2)
        if wanted("R6"):
            updates = [
                f'FLUSHO items default {number}\nPUSH items default {number} "{text}" LANG(none)\n'
                for number, _, _, text in items[: profile.queries]
            ]
            tries(table, profile, "R6", "update (FLUSHO, PUSH)", servers, {"ingest": updates}, 2)


def through_clients(
    table: Table,
    profile: Profile,
    servers: Sequence[Server],
    items: Sequence[Item],
    oracle: Oracle,
    wanted: Callable[[str], bool],
) -> None:
    """Measure one connection with one call at a time, as in a program in Python, beside PostgreSQL."""
    default, exact, *others = servers
    with ExitStack() as stack:
        peers: list[TextPeer] = [ServedTexts(exact, default), *map(SonicTexts, others)]
        if reason := postgres.missing():
            table.skip("R", postgres.NAME, reason)
        else:
            peers.append(postgres.PostgresTexts(stack.enter_context(postgres.open_postgres())))
            peers[-1].load(items)
        for peer in peers:
            stack.callback(peer.close)
        one_after_the_other(table, profile, peers, items, oracle, wanted, CLIENT)


def number_lines(items: Sequence[Item]) -> dict[str, list[str]]:
    """Return the commands that look up documents, by the mode of the channel; "" is for Redis."""
    chance = random.Random(9)
    numbers = [chance.randrange(len(items)) for _ in range(10_000)]
    return {
        "ingest": [f"COUNT items default {number}\n" for number in numbers],
        "": [f"EXISTS item:{number}\n" for number in numbers],
    }


def fill(server: Server, items: Sequence[Item]) -> None:
    """Push all documents and consolidate."""
    lines = [f'PUSH items default {number} "{text}" LANG(none)\n'.encode() for number, _, _, text in items]
    load(server, "ingest", lines, in_flight=64)
    server.consolidate()


def tries(
    table: Table,
    profile: Profile,
    row: str,
    case: str,
    servers: Sequence[Server],
    lines: Mapping[str, list[str]],
    reply: int,
) -> None:
    """Measure each server over 50 connections, `profile.tries` times in turn; the figure shows the median.

    Args:
        lines: mode of the channel -> lines; "" is for Redis.
    """

    def attempt(server: Server, _: int) -> Run:
        mode = "" if isinstance(server, Redis) else next(iter(lines))
        encoded = cycle([line.encode() for line in lines[mode]])
        return load(server, mode, encoded, connections=CONNECTIONS, reply_lines=reply, seconds=profile.seconds)

    for name, runs in in_turns({server.name: partial(attempt, server) for server in servers}, profile.tries).items():
        figure = Figure(row, case, name, NETWORK, in_flight=f"1 on each of {CONNECTIONS}").take(runs)
        figure.more["best"] = max(figure.rounds)
        table.add(figure)
