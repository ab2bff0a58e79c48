"""Compare sonicpy with Sonic, Redis, SQLite FTS5 and tantivy, and print the verdict of each bar.

    python -m benchmarks.versus [--profile quick|full] [--only PART ...] [--json FILE] [--checkout NAME=FOLDER]

Sonic is $SONIC_BIN or `sonic` on the PATH (cargo install sonic-server --locked --root FOLDER), Redis is `redis-server`
on the PATH, tantivy is the Python package. The program reports and skips servers that are not installed.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from benchmarks.as_csv import markdown_as_csv
from benchmarks.corpora import chat_messages
from benchmarks.peers import tantivy
from benchmarks.peers.servers import Server, Sonicpy, open_redis, open_sonic
from benchmarks.versus import libraries, report, scenes
from benchmarks.versus.bars import BARS, OURS, THEIRS
from benchmarks.versus.checks import right_share
from benchmarks.versus.profiles import PROFILES, Profile
from benchmarks.versus.rates import floor_rates, push_rates, read_rates
from benchmarks.versus.results import Results
from benchmarks.versus.workload import MODES, Commands

RATES, DURABILITY, GROWTH, CHURN, LIBRARIES = "rates", "durability", "growth", "churn", "libraries"
PARTS = (RATES, DURABILITY, GROWTH, CHURN, LIBRARIES)


def main() -> None:
    """Measure, print the tables, and write the JSON and the CSV."""
    arguments = parse()
    profile = PROFILES[arguments.profile]
    began = time.monotonic()
    results = Results()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        versions = measure(Path(folder), results, profile, arguments.only, dict(arguments.checkout))
    took_s = time.monotonic() - began
    if arguments.json:
        about = {"profile": asdict(profile), "seconds": took_s, "machine": machine(), "versions": versions}
        bars = {"bars": [bar.judged(results) for bar in BARS]}
        arguments.json.write_text(json.dumps({**about, **results.as_json(), **bars}, indent=1) + "\n")
    print(f"{machine()}; profile {profile.name}: {profile.messages} messages, {took_s:.0f} s")
    print("; ".join(f"{name} is {version}" for name, version in versions.items()), end="\n\n")
    tables = {
        "rates": report.rate_table(results), "figures": report.figure_table(results), "bars": report.bar_table(results)
    }  # fmt: skip
    print(*tables.values(), sep="\n\n")
    print(f"\n{report.summary(results)}")
    if arguments.tables:
        arguments.tables.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            (arguments.tables / f"versus-{name}.csv").write_text(markdown_as_csv(table))


def parse() -> argparse.Namespace:
    """Return the parsed arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versus", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", choices=list(PROFILES), default="quick", help="sizes and durations")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="measure these parts only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE")
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help="also write the tables to FOLDER as CSV")
    parser.add_argument("--folder", type=Path, help="create the temporary folder of all stores here")
    parser.add_argument(
        "--checkout",
        action="append",
        default=[],
        type=named_folder,
        metavar="NAME=FOLDER",
        help="also compare with another checkout of this project, built in place",
    )
    return parser.parse_args()


def named_folder(text: str) -> tuple[str, Path]:
    """Return the two parts of NAME=FOLDER. Raises ArgumentTypeError if the text has another form."""
    name, _, folder = text.partition("=")
    if name in ("", OURS) or not Path(folder, "sonicpy").is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not NAME=FOLDER with a new name and a checkout")
    return name, Path(folder).resolve()


def machine() -> str:
    """Return a description of the machine."""
    return f"{os.cpu_count()} CPUs, {platform.machine()}, Python {platform.python_version()}"


def measure(
    folder: Path, results: Results, profile: Profile, parts: tuple[str, ...], checkouts: dict[str, Path]
) -> dict[str, str]:
    """Run the selected parts; return the versions of the servers by name."""
    versions = {}
    pushed = chat_messages(profile.messages)
    commands = Commands(pushed)
    if RATES in parts:
        servers = find_servers(folder, checkouts)
        versions = measure_servers(servers, results, profile, pushed, commands)
        measure_floor(folder, results, profile)
    if DURABILITY in parts:
        say("durability")
        scenes.durability(folder / "durability", results, profile, pushed, OURS)
    if GROWTH in parts:
        say("growth")
        with Sonicpy(OURS, folder / "growth") as server:
            scenes.growth(server, results, profile, chat_messages(profile.grown[1]))
    if CHURN in parts:
        say("churn")
        with Sonicpy(OURS, folder / "churn") as server:
            scenes.churn(server, results, profile, pushed)
    if LIBRARIES in parts:
        say("libraries" if tantivy.is_installed() else "libraries; skipped: tantivy, which is not installed")
        (folder / "libraries").mkdir()
        some = pushed[: profile.library]
        libraries.compare(folder / "libraries", results, some, Commands(some))
    return versions


def find_servers(folder: Path, checkouts: dict[str, Path]) -> list[Server]:
    """Return the sonicpy server, and the servers to compare it with."""
    servers: list[Server] = [Sonicpy(OURS, folder / OURS)]
    servers += [Sonicpy(name, folder / name, checkout=checkout) for name, checkout in checkouts.items()]
    if THEIRS in checkouts:
        say(f"skipped: Sonic, because a checkout is named {THEIRS}")
    else:
        sonic = open_sonic(THEIRS, folder / THEIRS)
        if not sonic:
            say("skipped: Sonic, which is not installed ($SONIC_BIN, or `sonic` on the PATH)")
        servers += sonic
    return servers


def measure_servers(
    servers: list[Server], results: Results, profile: Profile, pushed: list[str], commands: Commands
) -> dict[str, str]:
    """Fill the servers, query them and restart them, each step side by side; return their versions by name."""
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server)
        versions = {server.name: server.version() for server in servers}
        for server in servers:
            scenes.idle(server, results, profile)
        say("PUSH")
        results.rates.update(push_rates(servers, pushed, profile))
        done = profile.rounds * len(MODES) * profile.pushes
        for server in servers:
            say(f"{server.name}: {len(pushed) - done} more texts, consolidation")
            scenes.load(server, results, profile, pushed, done)
        for operation, asked in commands.by_operation.items():
            for server in servers:
                share = right_share(server, operation, asked[: profile.checked], pushed)
                results.figures[f"share of right answers, {operation}", server.name] = share
        say("PING, QUERY, SUGGEST")
        results.rates.update(read_rates(servers, commands, profile.rounds, profile.read_s))
        for server in servers:
            results.figures[scenes.ASKED_MB, server.name] = server.memory_bytes() / scenes.MB
        say("restart and rest")
        scenes.rest(servers, results, profile)
        say("QUERY beside PUSH, and starts")
        for server in servers:
            scenes.queries_beside_pushes(server, results, profile, commands, pushed)
        for server in servers:
            scenes.restart(server, results, commands)
    return versions


def measure_floor(folder: Path, results: Results, profile: Profile) -> None:
    """Measure Redis if it is installed."""
    servers = open_redis("redis", folder / "redis")
    say("Redis" if servers else "skipped: Redis, which is not installed (`redis-server` on the PATH)")
    for server in servers:
        with server:
            results.rates.update(floor_rates(server, profile.rounds, profile.read_s))


def say(what: str) -> None:
    """Print a line about the progress to stderr."""
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
