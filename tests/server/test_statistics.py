"""The counters of INFO and of histograms."""

import pytest

from sonicpy.channel.commands import CountFacets, FlushPassing, Query, SetSynonyms, Synonyms
from sonicpy.channel.syntax import COMMANDS
from sonicpy.server.watching.server_statistics import BOUNDS_S, QUICK_S, ServerStatistics, Tally


def best_and_worst(statistics: ServerStatistics) -> tuple[int, int]:
    figures = statistics.figures(connections=0, lines_of_open=0, open_collections=0, open_graphs=0, pending_graphs=0)
    return figures.command_latency_best, figures.command_latency_worst


TIMES = [
    ([], (0, 0), "nothing yet"),
    ([0.0001, 0.0005], (0, 0), "half a millisecond rounds to none"),
    ([0.0006], (1, 1), "a millisecond"),
    ([0.0001, 0.004, 0.0021, 0.009, 0.00049], (2, 9), "quick ones are never the best"),
]


@pytest.mark.parametrize(("times", "expected", "why"), TIMES)
def test_best_and_worst_are_whole_milliseconds(times: list[float], expected: tuple[int, int], why: str) -> None:
    statistics = ServerStatistics()
    for seconds in times:
        statistics.note_duration(statistics.tallies[Query], seconds)
    assert best_and_worst(statistics) == expected, why


def test_a_histogram_counts_what_is_at_most_each_bound() -> None:
    times = [0.0, QUICK_S, 6e-5, 1e-4, 2e-4, 0.0005, 0.05, 3.0, 10.0, 11.0]
    tally = Tally("QUERY")
    for seconds in times:
        tally.add(seconds)
    assert tally.count == len(times)
    assert tally.seconds == pytest.approx(sum(times))
    assert tally.up_to_bound() == [sum(seconds <= bound for seconds in times) for bound in BOUNDS_S]


def test_a_command_counts_under_its_verb() -> None:
    statistics, other = ServerStatistics(), ServerStatistics()
    for kind in (CountFacets, FlushPassing, Synonyms, SetSynonyms):
        other.tallies[kind].add(0.001)
    statistics.add(other.take_counts(0))
    counted = {tally.verb: tally.count for tally in statistics.all_tallies() if tally.count}
    assert counted == {"FACETS": 1, "FLUSH": 1, "SYNONYMS": 2}
    verbs = [tally.verb for tally in statistics.all_tallies()]
    assert len(set(verbs)) == len(verbs)
    assert set(verbs) - {"OTHER"} <= {*COMMANDS}


REPLIES = [
    (b"ERR unknown_command\r\n", {"unknown_command": 1}),
    (b"ERR invalid_format(PUSH <collection>)\r\n", {"invalid_format": 1}),
    (b"ENDED authentication_failed\r\n", {"authentication_failed": 1}),
    (b"ENDED quit\r\n", {}),
    (b"STARTED search protocol(1) buffer(20000)\r\n", {}),
    (b"PONG\r\n", {}),
    (b"", {}),
]


@pytest.mark.parametrize(("reply", "expected"), REPLIES)
def test_refusals_are_counted_by_code(reply: bytes, expected: dict[str, int]) -> None:
    statistics = ServerStatistics()
    statistics.note_error(reply)
    assert statistics.errors == expected
