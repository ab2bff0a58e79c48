"""Measurements: peers take turns in rounds, and every figure includes its place and its durability promise."""

import json
import os
import platform
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from benchmarks.measure import Run, Taken, in_turns, share
from benchmarks.peers.kinds import SYSTEM_CACHE, Peer
from benchmarks.peers.servers import Server, open_sonic

Kind = TypeVar("Kind", bound=Peer)

IN_PROCESS, NETWORK, CLIENT = "in process", "over a socket", "over a socket, through a client in Python"
HEAD = "| case | peer | median | lowest to highest | CPU us | in flight | after a crash | note |"
RULE = "|---|---|---:|---|---:|---|---|---|"


@dataclass(slots=True)
class Figure:
    """The figures of a peer in a case: one line of a table."""

    row: str
    case: str
    peer: str
    place: str
    """IN_PROCESS, NETWORK or CLIENT; figures of different places are in different tables."""
    unit: str = "/s"
    rounds: list[float] = field(default_factory=list)
    """One value for each round."""
    cpu_us: float | None = None
    """The CPU time per operation of all processes, the load generator included, in microseconds."""
    durability: str = SYSTEM_CACHE
    in_flight: str = "1"
    note: str = ""
    """The error in the answers, or the limitation of the figure."""
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def middle(self) -> float | None:
        """The median of the rounds; None if the peer gave wrong answers or lacks the function."""
        return median(self.rounds) if self.rounds else None

    def take(self, runs: Sequence[Run]) -> "Figure":
        """Take the rate of each run, and the mean CPU time of an operation; return the figure."""
        self.rounds = [run.per_s for run in runs]
        self.cpu_us = sum(run.cpu_s for run in runs) / max(1, sum(len(run.latencies_s) for run in runs)) * 1e6
        return self


@dataclass
class Table:
    """The figures of one call of the runner."""

    profile: str
    say: Callable[[str], None] = print
    figures: list[Figure] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """The missing peers, each with the reason."""
    versions: Mapping[str, str] = field(default_factory=dict)
    _kept: list[dict[str, Any]] = field(default_factory=list)

    def add(self, figure: Figure) -> Figure:
        """Add a figure, print it and return it."""
        self.figures.append(figure)
        self.say(as_line(figure))
        return figure

    def skip(self, row: str, peer: str, reason: str) -> None:
        """Note that a peer is missing in a row, with the reason."""
        self.missing.append(f"{row} {peer}: {reason}")
        self.say(f"{row:3} {peer}: {reason}")

    def found(self, row: str, kinds: Iterable[type[Kind]]) -> list[type[Kind]]:
        """Return the kinds of peers that can be measured here, and note the reasons for the others."""
        reasons = {kind: kind.missing() for kind in kinds}
        for kind, reason in reasons.items():
            if reason:
                self.skip(row, kind.name, reason)
        return [kind for kind, reason in reasons.items() if not reason]

    def sonic(self, row: str, *folders: Path) -> list[Server]:
        """Return the original Sonic in each folder, not started yet; an empty list if it is not installed."""
        servers = [server for folder in folders for server in open_sonic("Sonic", folder)]
        if not servers:
            self.skip(row, "Sonic", "not installed ($SONIC_BIN)")
        return servers

    def keep(self, folder: Path, except_rows: Collection[str]) -> None:
        """Take over the results of other rows from a folder, if its profile, machine and versions are equal."""
        path = folder / "results.json"
        held = json.loads(path.read_text()) if path.exists() else None
        if held is None or (held["profile"], held["versions"]) != (self.profile, dict(self.versions)):
            return
        now = machine()
        if all(held["machine"][what] == now[what] for what in ("python", "system", "cores")):
            self._kept = [figure for figure in held["figures"] if figure["row"] not in except_rows]
            self.missing += [reason for reason in held["missing"] if reason.split()[0] not in except_rows]

    def write(self, folder: Path) -> None:
        """Write results.json and results.md."""
        folder.mkdir(parents=True, exist_ok=True)
        held = {
            "profile": self.profile,
            "machine": machine(),
            "versions": self.versions,
            "figures": self._kept + [asdict(figure) | {"median": figure.middle} for figure in self.figures],
            "missing": list(dict.fromkeys(self.missing)),
        }
        (folder / "results.json").write_text(json.dumps(held, indent=1) + "\n")
        (folder / "results.md").write_text(as_markdown(held))


def machine() -> dict[str, Any]:
    """Return the machine to which the figures belong: the versions of Python and the system, the number of cores, the
    load and today's date."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def in_rounds(
    table: Table,
    figures: Mapping[str, Figure],
    acts: Mapping[str, Callable[[Sequence[Any]], object]],
    operations: Sequence[Any],
    rounds: int,
    cpu_s: Mapping[str, Callable[[], float]] | None = None,
) -> None:
    """Measure peers in turn: each peer does the operations of each round.

    Args:
        figures: the figure of each peer, which gets a rate for each round and is added to the table.
        acts: functions that run operations, one after the other.
        operations: the operations, which are divided among the rounds.
        cpu_s: the CPU seconds that a peer has used; by default those of this process.
    """

    def measured(name: str, number: int) -> Taken:
        some = share(operations, number, rounds)
        with Taken((cpu_s or {}).get(name, time.process_time)) as taken:
            acts[name](some)
        figures[name].rounds.append(len(some) / taken.seconds)
        return taken

    taken = in_turns({name: partial(measured, name) for name in acts}, rounds)
    for name, figure in figures.items():
        figure.cpu_us = sum(one.cpu_s for one in taken[name]) / max(1, len(operations)) * 1e6
        table.add(figure)


def rounded(value: float) -> str:
    """Return a value as text with at least three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def as_line(figure: Figure) -> str:
    """Return a figure as one line, its row first."""
    value = "-" if figure.middle is None else f"{rounded(figure.middle)}{figure.unit}"
    spread = f" [{rounded(min(figure.rounds))} to {rounded(max(figure.rounds))}]" if len(figure.rounds) > 1 else ""
    cpu = f", CPU {figure.cpu_us:,.1f} us" if figure.cpu_us is not None else ""
    note = f"  ({figure.note})" if figure.note else ""
    return f"{figure.row:3} {figure.case}, {figure.peer}: {value}{spread}{cpu}{note}"


def as_markdown(held: Mapping[str, Any]) -> str:
    """Return results.json as tables in Markdown, one for each row and place."""
    lines = [about(held), ""]
    for row in sorted({figure["row"] for figure in held["figures"]}, key=lambda row: ("SRYKL".index(row[0]), row)):
        lines += tables(held, row)
    if held["missing"]:
        lines += ["Not measured:", "", *(f"- {reason}" for reason in held["missing"]), ""]
    return "\n".join(lines)


def about(held: Mapping[str, Any]) -> str:
    """Return the machine, the date and the versions of results as a sentence."""
    machine, named = held["machine"], held.get("versions", {})
    told = [f"Profile {held['profile']}", f"{machine['cores']} cores", machine["system"], f"Python {machine['python']}"]
    return ", ".join([*told, machine["date"], *(f"{name} {version}" for name, version in named.items())]) + "."


def tables(held: Mapping[str, Any], row: str) -> list[str]:
    """Return the lines of the tables of one row: one table for each place."""
    lines: list[str] = []
    own = [figure for figure in held["figures"] if figure["row"] == row]
    for place in dict.fromkeys(figure["place"] for figure in own):
        lines += [f"### {row}, {place}", "", HEAD, RULE]
        lines += [cells(figure) for figure in own if figure["place"] == place]
        lines.append("")
    return lines


def cells(figure: Mapping[str, Any]) -> str:
    """Return a figure as a row of a table."""
    rates = figure["rounds"]
    spread = f"{rounded(min(rates))} to {rounded(max(rates))}" if len(rates) > 1 else ""
    middle = "" if figure["median"] is None else f"{rounded(figure['median'])}{figure['unit']}"
    cpu = "" if figure["cpu_us"] is None else f"{figure['cpu_us']:,.1f}"
    return (
        f"| {figure['case']} | {figure['peer']} | {middle} | {spread} | {cpu} | {figure['in_flight']} "
        f"| {figure['durability']} | {note_of(figure)} |"
    )


def note_of(figure: Mapping[str, Any]) -> str:
    """Return the note of a figure, with the memory and the disk space of the server if they were measured."""
    more = figure["more"]
    sizes = f"at most {more['peak MB']:.0f} MB of memory, {more['disk MB']:.0f} MB on disk" if "peak MB" in more else ""
    return "; ".join(filter(None, (figure["note"], sizes)))
