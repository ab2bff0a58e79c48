"""The report of a run: text with the lines of Letarette's lrload, a CSV file, and JSON."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sonicpy.load.hub import LoadOutcome
from sonicpy.load.messages import STATUS_TEXTS, SUCCESSES

QUANTILES = {"90%": 0.90, "95%": 0.95, "99%": 0.99}
UNMEASURABLE_S = 5e-6
"""The time in seconds below which PENDING and EVENT count as sent together, so that the processing time is unknown."""


def timings(seconds: Sequence[float]) -> dict[str, float]:
    """Return mean, median and percentiles of `seconds`: the elements at `int(n * q)` of the sorted list of n, for the
    shares q of QUANTILES. Empty if there are none."""
    if not seconds:
        return {}
    ordered = sorted(seconds)
    count = len(ordered)
    figures = {"Mean": sum(ordered) / count, "Median": ordered[count // 2]}
    return figures | {name: ordered[int(count * share)] for name, share in QUANTILES.items()}


def processing_times(outcome: LoadOutcome) -> dict[str, float]:
    """Return the timings between PENDING and EVENT; empty if they cannot be measured."""
    figures = timings([result.processing for _, result in outcome.results if result.processing >= 0])
    return figures if figures and figures["Median"] >= UNMEASURABLE_S else {}


def figures(outcome: LoadOutcome) -> dict[str, Any]:
    """Return the figures of the report, for JSON."""
    results = [result for _, result in outcome.results]
    statuses = Counter(result.status for result in results)
    successes = sum(statuses[status] for status in SUCCESSES)
    return {
        "agents": outcome.agents,
        "missing": outcome.missing,
        "seconds": outcome.seconds,
        "queries": len(results),
        "queries_per_s": len(results) / outcome.seconds if outcome.seconds else 0.0,
        "success_ratio": successes / len(results) if results else 0.0,
        "statuses": {STATUS_TEXTS[status]: count for status, count in sorted(statuses.items())},
        "hits_mean": sum(result.hits for result in results) / len(results) if results else 0.0,
        "processing_s": processing_times(outcome),
        "roundtrip_s": timings([result.roundtrip for result in results]),
    }


def as_text(outcome: LoadOutcome) -> str:
    """Return the report as text for a terminal."""
    held = figures(outcome)
    lines = [
        f"Testset run on {held['agents']} concurrent agents in {held['seconds']:.2f}s",
        "",
        f"Success ratio: {100 * held['success_ratio']:.4f}%",
        "",
        "Query processing times:",
        *_block(held["processing_s"]),
        "",
        "Total roundtrip times:",
        *_block(held["roundtrip_s"]),
        "",
        "Statuses:",
        *(f"{text}: {count}" for text, count in held["statuses"].items()),
        f"Queries per second: {held['queries_per_s']:.1f}",
        f"Hits, mean: {held['hits_mean']:.2f}",
    ]
    if outcome.missing:
        lines.append(f"No whole results from: {', '.join(outcome.missing)}")
    return "\n".join(lines)


def _block(times: dict[str, float]) -> list[str]:
    if not times:
        return ["n/a"]
    return [f"{name + ':':<8}{seconds:.9f}" for name, seconds in times.items()]


def write_csv(outcome: LoadOutcome, path: Path) -> None:
    """Write one line for each query: roundtrip and processing time in seconds, status or error, agent, query, hits."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for agent, result in outcome.results:
            what = result.error or STATUS_TEXTS[result.status]
            writer.writerow([result.roundtrip, result.processing, what, agent, result.query, result.hits])


def write_json(outcome: LoadOutcome, path: Path) -> None:
    """Write the figures of the report as JSON."""
    path.write_text(json.dumps(figures(outcome), indent=2) + "\n", encoding="utf-8")
