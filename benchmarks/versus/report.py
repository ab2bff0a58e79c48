"""The printed tables: rates and their ratios, figures, bars."""

from collections.abc import Iterable, Sequence

from benchmarks.measure import Rate
from benchmarks.versus.bars import BARS, NOT_RUN, OURS
from benchmarks.versus.results import Results
from benchmarks.versus.workload import MODES, OPERATIONS, SET

CLIENT_BOUND = 0.9
"""The share of time above which a busy client, instead of the server, may limit the rate."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with a head; all columns but the first are aligned right."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    lines.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    return "\n".join(
        "| " + " | ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) + " |" for line in lines
    )


def rate_table(results: Results) -> str:
    """Return the table of all rates, with the ratio of sonicpy's rate to that of each other server."""
    names = sorted({name for _, _, name in results.rates}, key=lambda name: (name != OURS, name))
    rows = []
    for operation in (*OPERATIONS, SET):
        for mode in MODES:
            for name in names:
                rate = results.rates.get((operation, mode.name, name))
                if rate is not None:
                    ratios = ratio_cells(results, operation, mode.name, name)
                    rows.append([f"{operation}, {mode.name}", name, *rate_cells(rate), *ratios])
    head = ["operation", "server", "ops/s", "mean us", "p50", "p95", "p99", "worst", "CPU us", "client us"]
    return table([*head, "ours: ops/s", "ours: CPU"], rows)


def rate_cells(rate: Rate) -> list[str]:
    busy = rate.client_us * rate.operations_s / 1e6
    times = (rate.mean_us, rate.p50_us, rate.p95_us, rate.p99_us, rate.worst_us)
    client = f"{rate.client_us:.1f}{'!' if busy > CLIENT_BOUND else ''}"
    return [f"{rate.operations_s:,.0f}", *(f"{time:,.0f}" for time in times), f"{rate.cpu_us:,.1f}", client]


def ratio_cells(results: Results, operation: str, mode: str, name: str) -> list[str]:
    if name == OURS:
        return ["", ""]
    ratios = (results.ratio(operation, mode, what, OURS, name) for what in ("operations_s", "cpu_us"))
    return ["" if ratio is None else f"x {ratio:.2f}" for ratio in ratios]


def figure_table(results: Results) -> str:
    """Return a Markdown table of all figures, with one column per server."""
    names = sorted({name for _, name in results.figures}, key=lambda name: (name != OURS, name))
    rows = []
    for figure in dict.fromkeys(figure for figure, _ in results.figures):
        values = [results.figures.get((figure, name)) for name in names]
        rows.append([figure, *("" if value is None else f"{value:,.2f}" for value in values)])
    return table(["figure", *names], rows)


def bar_table(results: Results) -> str:
    """Return a Markdown table of all bars with their limits, values and verdicts."""
    rows = []
    for bar in BARS:
        value = bar.value(results)
        limit = f"{'>=' if bar.is_least else '<='} {bar.limit:.3g}"
        rows.append([bar.name, limit, "" if value is None else f"{value:.3g}", bar.verdict(results)])
    return table(["bar", "limit", "measured", "verdict"], rows)


def summary(results: Results) -> str:
    """Return the number of bars with each verdict."""
    verdicts = [bar.verdict(results) for bar in BARS]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys([*verdicts, NOT_RUN])}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
