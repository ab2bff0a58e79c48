"""Draw results.json as SVG: rates by the number of connections, latencies, and costs by size.

python -m benchmarks.published.plots [RESULTS.json] [FOLDER]
"""

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.published.__main__ import IN_DOCS

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 720, 380, 80, 40, 50, 220
COLOURS = ("#0b6e99", "#d9730d", "#448361", "#9065b0", "#c14c8a", "#787774", "#cb912f", "#337ea9")
CONNECTIONS = re.compile(r"(.*), (\d+) (?:connections|agents)$")
SIZE = re.compile(r"(PUSH|QUERY).* (?:at|up to) (\d+) texts$")
COMMON_CASE = re.compile(r"QUERY(?!.* typo).*|pair")
MARKED_MAX = 16
"""The most values on the horizontal axis for which the points have marks; with more, the axis has round numbers."""
QUANTILES = {"p50 us": 50, "p95 us": 95, "p99 us": 99}

Lines = Mapping[str, Sequence[tuple[float, float]]]
"""Name of a line -> its points."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines over one axis. Both axes begin at 0, except a logarithmic horizontal axis."""

    title: str
    across: str
    up: str
    lines: Lines
    is_logarithmic: bool = False


def draw(results: Path, folder: Path) -> list[Path]:
    """Write every plot whose figures were measured; return the files.

    Args:
        results: the file of the runner.
        folder: the folder for the plots.
    """
    figures = json.loads(results.read_text())["figures"]
    plots = {
        "rate-by-connections": Plot(
            "QUERY per second, by connections", "connections", "per second", by_connections(figures, "S1")
        ),
        "latency": Plot("QUERY over one connection: latency", "percentile", "microseconds", latencies(figures)),
        "query-cost-by-size": Plot(
            "CPU of a QUERY, by texts", "texts", "microseconds", by_size(figures, "QUERY"), True
        ),
        "push-cost-by-size": Plot("CPU of a PUSH, by texts", "texts", "microseconds", by_size(figures, "PUSH"), True),
        "rate-by-agents": Plot("Queries per second, by agents", "agents", "per second", by_connections(figures, "L2")),
    }
    written = []
    for name, plot in plots.items():
        if any(len(points) > 1 for points in plot.lines.values()):
            path = folder / f"{name}.svg"
            path.write_text(svg(plot), encoding="utf-8")
            written.append(path)
    return written


def by_connections(figures: Iterable[dict[str, Any]], row: str) -> Lines:
    """Return the median rates of the commonest case of a row by the number of connections."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for figure in figures:
        found = CONNECTIONS.match(figure["case"])
        if figure["row"] == row and found and figure["median"] and COMMON_CASE.fullmatch(found[1]):
            lines.setdefault(figure["peer"], []).append((float(found[2]), figure["median"]))
    return lines


def by_size(figures: Iterable[dict[str, Any]], command: str) -> Lines:
    """Return the CPU microseconds of a command by the number of texts in the index."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for figure in figures:
        found = SIZE.match(figure["case"])
        if found and found[1] == command and figure["cpu_us"]:
            lines.setdefault(figure["peer"], []).append((float(found[2]), figure["cpu_us"]))
    return lines


def latencies(figures: Iterable[dict[str, Any]]) -> Lines:
    """Return the percentiles of queries over one connection."""
    return {
        figure["peer"]: [(percent, figure["more"][key]) for key, percent in QUANTILES.items()]
        for figure in figures
        if figure["case"] == "QUERY of one to three words, 1 connections" and "p50 us" in figure["more"]
    }


def svg(plot: Plot) -> str:
    """Return a plot of lines as SVG."""
    points = [point for some in plot.lines.values() for point in some]
    least, widest = min(x for x, _ in points), max(x for x, _ in points)
    highest = nice(max(y for _, y in points))

    def place(x: float, y: float) -> tuple[float, float]:
        share = math.log(x / least) / math.log(widest / least) if plot.is_logarithmic else x / widest
        return (
            LEFT + share * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - y / highest * (HEIGHT - TOP - BOTTOM),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(plot.title)}</text>',
    ]
    for step in range(5):
        y = highest * step / 4
        _, at = place(least, y)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{y:,.0f}</text>')
    marked = sorted({x for x, _ in points})
    are_marked = len(marked) <= MARKED_MAX
    for x in marked if are_marked else round_steps(widest):
        at, _ = place(x, 0)
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{x:,g}</text>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 10}">{escape(plot.across)} (across), {escape(plot.up)} (up)</text>')
    for number, (name, some) in enumerate(plot.lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        placed = [place(x, y) for x, y in sorted(some)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if are_marked:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in placed]
        row = TOP + 18 * number
        parts.append(f'<rect x="{WIDTH - RIGHT + 14}" y="{row}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 30}" y="{row + 9}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def round_steps(widest: float) -> list[float]:
    """Return round numbers from 0 to `widest`."""
    step = nice(widest / 8)
    return [number * step for number in range(int(widest / step) + 1)]


def nice(value: float) -> float:
    """Return the smallest of 1, 2, 4, 5, 10, 20, ... that is not less than a value."""
    power = 10 ** math.floor(math.log10(value)) if value > 0 else 1
    return next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= value)


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:3]]
    source = given[0] if given else IN_DOCS
    for path in draw(source, given[1] if len(given) > 1 else source.parent):
        print(path)
