"""Tests of the rates, percentiles, bars and tables of the side-by-side harness, with invented numbers."""

from array import array

import pytest

from benchmarks.as_csv import markdown_as_csv
from benchmarks.measure import Rate, Run, percentile
from benchmarks.versus import scenes
from benchmarks.versus.bars import BARS, MET, MISSED, NOT_RUN, OURS, THEIRS, Bar, cpu, figure, share, speed
from benchmarks.versus.report import bar_table, figure_table, rate_table, summary, table
from benchmarks.versus.results import Results
from benchmarks.versus.workload import MODES, ONE, PING, PUSH, QUERIES, SUGGEST


@pytest.mark.parametrize(
    ("count", "percent", "expected"),
    [(1, 50, 1), (1, 99, 1), (2, 50, 1), (3, 50, 2), (100, 99, 99), (101, 99, 100), (1000, 99, 990), (20, 95, 19)],
)
def test_percentile_is_the_smallest_that_enough_do_not_exceed(count: int, percent: int, expected: int) -> None:
    assert percentile(range(1, count + 1), percent) == expected


def a_run(latencies_us: list[float], seconds: float, cpu_s: float) -> Run:
    return Run(seconds, cpu_s, 0.002, array("d", [latency / 1e6 for latency in latencies_us]))


def test_a_rate_pools_latencies_and_cpu_and_takes_the_speed_of_the_middle_round() -> None:
    rate = Rate.of([a_run([10, 20], 1, 0.002), a_run([30, 40], 0.5, 0.004), a_run([50, 1000], 10, 0.006)])
    assert rate.operations == 6
    assert rate.operations_s == 2
    assert (rate.p50_us, rate.p99_us, rate.worst_us) == pytest.approx((30, 1000, 1000))
    assert rate.mean_us == pytest.approx(1150 / 6)
    assert rate.cpu_us == pytest.approx(2000)
    assert rate.client_us == pytest.approx(1000)


def a_rate(operations_s: float, cpu_us: float, p99_us: float = 100.0) -> Rate:
    return Rate(1000, operations_s, 50, 40, 90, p99_us, 500, cpu_us, 5)


@pytest.mark.parametrize(
    ("ours", "verdict"), [(5.1, MET), (5.0, MET), (4.9, MISSED)], ids=["above", "exactly", "below"]
)
def test_speed_is_ours_over_theirs(ours: float, verdict: str) -> None:
    results = Results({(PUSH, ONE.name, OURS): a_rate(ours * 100, 1), (PUSH, ONE.name, THEIRS): a_rate(100, 1)})
    assert speed(PUSH, ONE.name, 5.0).verdict(results) == verdict


def test_cpu_is_judged_where_it_is_worst() -> None:
    results = Results()
    for mode, ours in zip(MODES, (10, 30, 20), strict=True):
        results.rates[PUSH, mode.name, OURS] = a_rate(1, ours)
        results.rates[PUSH, mode.name, THEIRS] = a_rate(1, 100)
    bar = cpu(PUSH, 0.25)
    assert bar.value(results) == pytest.approx(0.3)
    assert bar.verdict(results) == MISSED


def test_figures_and_shares() -> None:
    results = Results(figures={("a", OURS): 3.0, ("a", THEIRS): 4.0})
    assert figure("a", 3.0).verdict(results) == MET
    assert share("a", 0.7, ("a", OURS), ("a", THEIRS)).verdict(results) == MISSED
    assert share("a", 0.7, ("a", OURS), ("a", THEIRS), is_least=True).verdict(results) == MET
    assert share("a", 0.7, ("a", OURS), ("b", THEIRS)).verdict(results) == NOT_RUN


def test_nothing_measured_is_nothing_met() -> None:
    assert {bar.verdict(Results()) for bar in BARS} == {NOT_RUN}
    assert summary(Results()) == f"{len(BARS)} not run"


def test_the_bars_are_those_of_the_project() -> None:
    assert len({bar.name for bar in BARS}) == len(BARS)
    limits = {bar.name: bar.limit for bar in BARS}
    pushes = [limits[f"PUSH, {mode.name}: ops/s against Sonic"] for mode in MODES]
    assert pushes == [1.4, 1.5, 3.0]
    for operation in QUERIES:
        assert [limits[f"{operation}, {mode.name}: ops/s against Sonic"] for mode in MODES] == [5, 5, 8]
    assert [limits[name] for name in (scenes.BESIDE_P99_MS, scenes.IDLE_MB, scenes.LOADED_MB)] == [3, 45, 80]


def test_our_ping_is_the_measure_of_suggest() -> None:
    bar = next(bar for bar in BARS if bar.name.startswith("SUGGEST, 1 connection"))
    results = Results({(SUGGEST, ONE.name, OURS): a_rate(79, 1), (PING, ONE.name, OURS): a_rate(100, 1)})
    assert bar.value(results) == pytest.approx(0.79)
    assert bar.verdict(results) == MISSED


def test_table() -> None:
    assert table(["a", "long"], [["first", "1"], ["x", "10,000"]]) == (
        "| a     |   long |\n| ----- | -----: |\n| first |      1 |\n| x     | 10,000 |"
    )


def test_tables_as_csv() -> None:
    text = table(
        ["bar", "limit", "ours"],
        [["PUSH, 1 connection", ">= 1.4", "x 1.75"], ["SET", "", "10,000.5"], ["", "9!", "-"]],
    )
    assert markdown_as_csv(text) == 'bar,limit,ours\n"PUSH, 1 connection",>= 1.4,1.75\nSET,,10000.5\nSET,9!,-\n'


def test_tables_show_ratios_and_a_client_at_its_limit() -> None:
    results = Results(figures={(scenes.IDLE_MB, OURS): 12.345, (scenes.IDLE_MB, THEIRS): 1e6})
    results.rates[PING, ONE.name, OURS] = a_rate(190_000, 4)
    results.rates[PING, ONE.name, THEIRS] = a_rate(95_000, 8)
    ours, theirs = rate_table(results).splitlines()[2:]
    assert "190,000" in ours and "5.0!" in ours
    assert "x 2.00" in theirs and "x 0.50" in theirs and "!" not in theirs
    assert "12.35" in figure_table(results) and "1,000,000.00" in figure_table(results)
    row = next(line for line in bar_table(results).splitlines() if scenes.IDLE_MB in line)
    assert [cell.strip() for cell in row.strip("|").split("|")] == [scenes.IDLE_MB, "<= 45", "12.3", MET]


def test_a_bar_is_a_limit_from_one_side() -> None:
    assert Bar("b", 2, True, lambda _: 2.0).verdict(Results()) == MET
    assert Bar("b", 2, False, lambda _: 2.1).verdict(Results()) == MISSED
