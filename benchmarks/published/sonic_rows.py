"""S1 to S4, Sonic's benchmarks: PUSH and QUERY over one connection and several, articles, recall, and functions.

`search.ranking = "newest"` gives the answers of the Sonic that its README measured: all words, newest first.
"""

import json
import math
import os
import random
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import mean

from benchmarks import corpora
from benchmarks.accounting import MemoryWatch
from benchmarks.client import Lane, drive
from benchmarks.measure import Run, Taken, in_turns, load, percentile
from benchmarks.peers.kinds import EITHER, Item, TextPeer
from benchmarks.peers.ours import OurTexts
from benchmarks.peers.servers import Server, Sonicpy, ask
from benchmarks.peers.sqlite import Fts5Texts
from benchmarks.peers.tantivy import TantivyTexts
from benchmarks.published.oracle import Oracle
from benchmarks.published.profiles import Profile
from benchmarks.published.table import IN_PROCESS, NETWORK, Figure, Table
from tests.support.paths import ROOT

PEERS: tuple[type[TextPeer], ...] = (OurTexts, Fts5Texts, TantivyTexts)
EVERY = 1000
"""The number of operations in one mean, as in the published table."""
REPORTED = 8
CHECKED = 200
PIECE = 18_000
"""The most characters of a line."""
KINDS = {1: 0.5, 2: 0.35, 3: 0.15}
"""Number of words of a query -> share of such queries."""
ARTICLE_QUERIES = 6
GROUP = 5
"""The number of questions in a group, which are equal in meaning and different in words."""
FUNCTION_BENCHES = ("bench_channel.py", "bench_lexer.py", "bench_language.py", "bench_postings.py", "bench_graph.py")


def run(table: Table, profile: Profile, folder: Path, wanted: Callable[[str], bool]) -> None:
    """Measure the selected rows of S.

    Args:
        wanted: returns whether a row is selected.
    """
    if wanted("S1"):
        push_and_ask(table, profile, folder / "S1")
    if wanted("S2"):
        push_articles(table, profile, folder / "S2")
    if wanted("S3"):
        recall(table, profile, folder / "S3")
    if wanted("S4"):
        functions(table, profile, folder / "S4")


def servers_in(table: Table, row: str, folder: Path) -> list[Server]:
    """Return a sonicpy server in each of its modes, and Sonic if it is installed."""
    newest = {"search.ranking": "newest", "search.query_alternates_try": 0, "search.stemming": "off"}
    return [
        Sonicpy("sonicpy", folder / "default"),
        Sonicpy("sonicpy, newest first", folder / "newest", newest),
        Sonicpy("sonicpy, compat", folder / "compat", {"server.compat": "sonic"}),
        *table.sonic(row, folder / "sonic"),
    ]


def push_and_ask(table: Table, profile: Profile, folder: Path) -> None:
    """S1: measure the servers in turn, first at growing sizes, then in rounds over growing numbers of connections."""
    folder.mkdir(parents=True)
    made = corpora.described("messages", corpora.messages(profile.messages), table.say)
    oracle = Oracle((number, text) for number, text in enumerate(made))
    asked = queries(made, profile.queries)
    wrong = misspelt(made, oracle, profile.queries // 10)
    lines = [query_line(" ".join(words)) for words in asked]
    typed = [query_line(word) for word, _ in wrong]
    with ExitStack() as stack:
        servers = [stack.enter_context(server) for server in servers_in(table, "S1", folder)]
        push_in_steps(table, profile, servers, made, lines)
        notes = {server.name: check(server, asked, oracle) for server in servers if "newest" in server.name}
        ask_over(table, profile, ("S1", "QUERY of one to three words"), servers, lines, (1, 2, 4, 8), notes)
        notes = {server.name: found_share(server, wrong, oracle) for server in servers}
        ask_over(table, profile, ("S1", "QUERY with a typo"), servers, typed, (1,), notes)


def push_in_steps(
    table: Table, profile: Profile, servers: Sequence[Server], made: Sequence[str], lines: Sequence[bytes]
) -> None:
    """Push the messages in steps; after each step, consolidate, run queries, and record the cost of an operation."""
    pushed: dict[str, list[Figure]] = {server.name: [] for server in servers}
    peaks: dict[str, int] = dict.fromkeys(pushed, 0)
    latencies = {name: array("d") for name in pushed}
    done = 0
    for share in profile.steps:
        count = max(1, round(share * len(made)))
        pushes = [line for number in range(done, count) for line in push_lines(number, made[number])]
        done = count
        for server in servers:
            with MemoryWatch(server.pid) as watch:
                run = load(server, "ingest", pushes)
            peaks[server.name] = max(peaks[server.name], watch.peak_bytes)
            latencies[server.name].extend(run.latencies_s)
            figure = Figure("S1", f"PUSH up to {count} texts", server.name, NETWORK).take([run])
            figure.more["one core"] = run.cpu_s / run.seconds
            pushed[server.name].append(table.add(figure))
            consolidate(table, "S1", f"consolidate at {count} texts", server)
            asked = ask_for(server, lines, 1, profile.seconds)
            table.add(mean_figure("S1", f"QUERY of one to three words at {count} texts", server.name, [asked]))
    for server in servers:
        steps = pushed[server.name]
        whole = mean_figure("S1", "PUSH, 1 connection", server.name, [Run(1.0, 0.0, 0.0, latencies[server.name])])
        whole.rounds = [figure.rounds[0] for figure in steps]
        whole.cpu_us = mean(figure.cpu_us for figure in steps if figure.cpu_us is not None)
        whole.more |= {"peak MB": peaks[server.name] / 1e6, "disk MB": server.disk_bytes() / 1e6}
        table.add(whole)


def consolidate(table: Table, row: str, case: str, server: Server) -> None:
    with server.connect("control") as control, Taken() as taken:
        ask(control, b"TRIGGER consolidate\n")
    table.add(Figure(row, case, server.name, NETWORK, unit=" ms", rounds=[taken.seconds * 1e3]))


def push_lines(number: int, text: str) -> list[bytes]:
    """Return the lines that push message `number`; an e-mail may need several."""
    pieces = []
    while text:
        cut = len(text) if len(text) <= PIECE else text.rindex(" ", 0, PIECE)
        pieces.append(text[:cut])
        text = text[cut:].strip()
    return [f'PUSH messages default conversation:{number:08x} "{piece}"\n'.encode() for piece in pieces]


def query_line(text: str) -> bytes:
    return f'QUERY messages default "{text}" LIMIT(10)\n'.encode()


def queries(made: Sequence[str], count: int) -> list[list[str]]:
    """Return `count` queries of one to three words, each from one random message of those `made`."""
    chance = random.Random(11)
    found = []
    while len(found) < count:
        words = list(dict.fromkeys(chance.choice(made).split()))
        wanted = chance.choices(list(KINDS), list(KINDS.values()))[0]
        if len(words) >= wanted:
            found.append(chance.sample(words, wanted))
    return found


def misspelt(made: Sequence[str], oracle: Oracle, count: int) -> list[tuple[str, str]]:
    """Return `count` (misspelt, meant) words of the messages `made`."""
    chance = random.Random(12)
    found = []
    while len(found) < max(1, count):
        words = [word for word in chance.choice(made).split() if len(word) > 6]
        if words:
            meant = chance.choice(words)
            found.append((corpora.misspelt(meant, chance, oracle.objects), meant))
    return found


def mean_figure(row: str, case: str, name: str, runs: Sequence[Run]) -> Figure:
    """Return a figure as in the published table: eight means of 1,000 operations, and the best and the worst of all
    means.
    """
    latencies_s = [latency for run in runs for latency in run.latencies_s]
    means = [mean(latencies_s[start : start + EVERY]) * 1e6 for start in range(0, len(latencies_s), EVERY)]
    ordered = sorted(latencies_s)
    figure = Figure(row, case, name, NETWORK).take(runs)
    figure.more = {
        "mean us": mean(means), "best mean us": min(means), "worst mean us": max(means),
        "eight means us": [means[at * len(means) // REPORTED] for at in range(REPORTED)],
        **{f"p{share} us": percentile(ordered, share) * 1e6 for share in (50, 95, 99)},
    }  # fmt: skip
    figure.note = f"mean of 1,000: {mean(means):.0f} us, best {min(means):.0f}, worst {max(means):.0f}"
    return figure


def ask_for(server: Server, lines: Sequence[bytes], connections: int, seconds: float, _: int = 0) -> Run:
    """Send lines to a server over `connections` connections for `seconds`; return the measurement."""
    return load(server, "search", cycle(lines), connections=connections, reply_lines=2, seconds=seconds)


def ask_over(
    table: Table,
    profile: Profile,
    named: tuple[str, str],
    servers: Sequence[Server],
    lines: Sequence[bytes],
    counts: Sequence[int],
    notes: Mapping[str, str],
) -> None:
    """Query the servers in turn in each round, over several numbers of connections; `named`: the row and the case."""
    seconds = profile.seconds / profile.rounds
    for count in counts:
        acts = {server.name: partial(ask_for, server, lines, count, seconds) for server in servers}
        for name, runs in in_turns(acts, profile.rounds).items():
            figure = mean_figure(named[0], f"{named[1]}, {count} connections", name, runs)
            figure.in_flight = f"1 on each of {count}"
            figure.note = notes.get(name) or figure.note
            table.add(figure)


def answers(server: Server, texts_asked: Sequence[str]) -> Iterator[list[int]]:
    """Yield the numbers of the messages that the server finds for each text."""
    with server.connect("search") as connection:
        for text in texts_asked:
            event = ask(connection, query_line(text), 2).splitlines()[1]
            yield [int(name.partition(":")[2], 16) for name in event.split(" ")[3:] if name]


def check(server: Server, asked: Sequence[list[str]], oracle: Oracle) -> str:
    """Return the first difference between the answers of the server and of the oracle, order included; "": there is
    none.
    """
    some = asked[:CHECKED]
    found = answers(server, [" ".join(words) for words in some])
    wrong = sum(answer != oracle.newest(words) for words, answer in zip(some, found, strict=True))
    return f"wrong: {wrong} of {len(some)}" if wrong else ""


def found_share(server: Server, wrong: Sequence[tuple[str, str]], oracle: Oracle) -> str:
    """Return the share of misspelt words that find an object of the correct word."""
    some = wrong[:CHECKED]
    found = answers(server, [typed for typed, _ in some])
    right = sum(bool(oracle.holders(meant) & set(answer)) for (_, meant), answer in zip(some, found, strict=True))
    return f"finds the word that was meant in {right / len(some):.0%}"


def push_articles(table: Table, profile: Profile, folder: Path) -> None:
    """S2: articles pushed and consolidated, consolidation alone at growing sizes, and six queries."""
    folder.mkdir(parents=True)
    made = corpora.articles(profile.articles, seed=6)
    words = corpora.made_up_words(30_000, 5)
    asked = [f"{words[300 + 7 * number]} {words[900 + 11 * number]}" for number in range(ARTICLE_QUERIES)]
    lines = [line for number, text in enumerate(made) for line in push_lines(number, text)]
    size = sum(map(len, made))
    with ExitStack() as stack:
        servers = [stack.enter_context(server) for server in servers_in(table, "S2", folder)]
        done = 0
        for count in (10, 100, 1000):
            if count > len(lines):
                break
            for server in servers:
                push_share(server, lines[done:count])
                consolidate(table, "S2", f"consolidate {count} articles", server)
            done = count
        shares = [lines[done + at :: profile.rounds] for at in range(profile.rounds)]
        a_line = size / len(lines) / 1e6

        def push(server: Server, number: int) -> Taken:
            return push_share(server, shares[number], consolidates=True)

        acts = {server.name: partial(push, server) for server in servers}
        for name, taken in in_turns(acts, profile.rounds).items():
            figure = Figure("S2", "push and consolidate", name, NETWORK, unit=" MB/s", in_flight="16")
            figure.rounds = [a_line * len(some) / one.seconds for some, one in zip(shares, taken, strict=True)]
            figure.more["CPU s"] = sum(one.cpu_s for one in taken)
            table.add(figure)
        for limit in (10, 100):
            given = [f'QUERY messages default "{text}" LIMIT({limit})\n'.encode() for text in asked]
            ask_over(table, profile, ("S2", f"QUERY of articles, LIMIT {limit}"), servers, given, (1,), {})


def push_share(server: Server, lines: Sequence[bytes], *, consolidates: bool = False) -> Taken:
    """Push lines, 16 in flight, and consolidate if `consolidates`; return wall-clock and CPU seconds."""
    with server.connect("ingest") as ingest, server.connect("control") as control, Taken(server.cpu_s) as taken:
        drive([Lane(ingest, lines, in_flight=16)])
        if consolidates:
            ask(control, b"TRIGGER consolidate\n")
    return taken


def recall(table: Table, profile: Profile, folder: Path) -> None:
    """S3: short questions in groups of equal meaning; each question should find its group."""
    chance = random.Random(13)
    words = corpora.made_up_words(8_000, 13)
    rows: list[Item] = []
    for group in range(profile.questions // GROUP):
        first = chance.sample(words, 8)
        for number in range(GROUP):
            other = list(first)
            other[chance.randrange(8)] = chance.choice(words)
            del other[chance.randrange(8)]
            chance.shuffle(other)
            rows.append((group * GROUP + number, "", 0, " ".join(other)))
    asked = chance.sample(rows, min(len(rows), 1000))
    for kind in table.found("S3", PEERS):
        peer = kind(folder / kind.__name__)  # type: ignore[call-arg]
        peer.load(rows)
        gains, found = [], []
        with Taken() as taken:
            for number, _, _, text in asked:
                group = {number - number % GROUP + at for at in range(GROUP)}
                answer = peer.find(EITHER, text.split()) or []
                gains.append(sum(1 / math.log2(at + 2) for at, name in enumerate(answer) if name in group))
                found.append(len(group & set(answer)) / GROUP)
        peer.close()
        best = sum(1 / math.log2(at + 2) for at in range(GROUP))
        figure = Figure("S3", "questions found again", kind.name, IN_PROCESS, rounds=[len(asked) / taken.seconds])
        figure.more = {"nDCG@10": mean(gains) / best, "recall@10": mean(found)}
        figure.note = f"nDCG@10 {mean(gains) / best:.3f}, recall@10 {mean(found):.3f}"
        table.add(figure)


def functions(table: Table, profile: Profile, folder: Path) -> None:
    """S4: the functions that Sonic's own benchmarks measure, by pytest-benchmark. Raises RuntimeError if they fail."""
    folder.mkdir(parents=True)
    report = folder / "report.json"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--benchmark-only", f"--benchmark-json={report}",
               f"--benchmark-max-time={min(0.2, profile.seconds)}", "--benchmark-min-rounds=2",
               *(str(ROOT / "benchmarks" / name) for name in FUNCTION_BENCHES[: profile.benches])]  # fmt: skip
    # A process of pytest-xdist, which would switch the measuring off, may have started this one.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the benches of functions failed:\n{(done.stdout + done.stderr)[-2000:]}")
    for bench in json.loads(report.read_text())["benchmarks"]:
        figure = Figure("S4", bench["name"].removeprefix("test_"), "sonicpy", IN_PROCESS, unit="/s")
        figure.rounds = [bench["stats"]["ops"]]
        table.add(figure)
