"""Rows whose connection breaks are sent again whole and in order, and the time limit of retries begins anew with each
answer.
"""

import random
import time
from collections.abc import Iterator

import pytest

from sonicpy.api.rows import Refused, Row
from sonicpy.client.conversation import Answer, ServerInfo
from sonicpy.client.exchange import LINES_IN_FLIGHT_MAX
from sonicpy.client.pushes import BATCH_ROWS, GROUP_BYTES_MAX, Pushes, ReportBuilder, WaitingPushes
from sonicpy.errors import CommandError, ConnectionLost, ShuttingDown, SonicError
from tests.client.fake import Caller, Fake
from tests.client.ways import ALL_WAYS, EVERY_WAY

WORDS = 62
"""The number of words of a long row, which needs five lines to a server with a small buffer, so that a group ends in
the middle of a row.
"""


def server(buffer_bytes: int = 100) -> ServerInfo:
    info = ServerInfo()
    info.buffer_bytes = buffer_bytes
    return info


def long_rows(count: int) -> Iterator[Row]:
    for number in range(count):
        yield Row("c", "b", f"o{number}", " ".join(f"w{number}x{word}" for word in range(WORDS)), "none")


def words_of(lines: list[str]) -> dict[str, list[str]]:
    """Return the words that lines push, in order, by object."""
    found: dict[str, list[str]] = {}
    for line in lines:
        found.setdefault(line.split()[3], []).extend(line.split('"')[1].split())
    return found


class Ends:
    """The outcomes of the rows."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self.refusals: dict[int, str] = {}

    def note(self, place: int, row: Row | Refused, refusal: SonicError | None) -> None:
        self.places.append(place)
        if refusal is not None:
            self.refusals[place] = str(refusal)


OK: Answer = ""
NO = CommandError("internal_error")


@pytest.mark.parametrize("answered", [0, 1, 5, LINES_IN_FLIGHT_MAX])
def test_rows_are_sent_again_from_their_first_line_and_in_order(answered: int) -> None:
    ends = Ends()
    pushes = Pushes(long_rows(20), ends.note)
    first = pushes.take(server())
    assert len(first) == LINES_IN_FLIGHT_MAX
    assert len(words_of(first)["o12"]) < WORDS
    pushes.take(server())
    pushes.take_answers([OK] * answered)
    done = len(ends.places)
    for _ in range(2):  # and the next connection breaks at once
        pushes.start_over()
        again = pushes.take(server())
    pushes.start_over()
    sent: list[str] = []
    while lines := pushes.take(server()):
        sent += lines
        pushes.take_answers([OK] * len(lines))
    assert again == sent[: len(again)]
    assert words_of(sent) == words_of_rows(range(done, 20)), "no line of a row is missing, none is twice"
    assert list(words_of(sent)) == [f"o{number}" for number in range(done, 20)]
    assert ends.places == list(range(20))


def words_of_rows(numbers: range) -> dict[str, list[str]]:
    return {row.object: row.text.split() for place, row in enumerate(long_rows(numbers.stop)) if place in numbers}


def test_answers_go_to_the_rows_whose_lines_they_answer_whatever_breaks() -> None:
    """A server refuses the lines of odd objects, and connections break anywhere, even in the middle of rows."""
    dice = random.Random(5)
    for _ in range(50):
        ends = Ends()
        pushes = Pushes(long_rows(12), ends.note)
        groups: list[list[str]] = []
        while True:
            lines = pushes.take(server(dice.choice([100, 150, 20_000])))
            if lines:
                groups.append(lines)
            elif not groups:
                break
            if dice.random() < 0.1:
                pushes.start_over()
                groups.clear()
            elif len(groups) > 2 or not lines:
                pushes.take_answers([NO if int(line.split()[3][1:]) % 2 else OK for line in groups.pop(0)])
        assert sorted(ends.places) == list(range(12))
        assert sorted(ends.refusals) == [1, 3, 5, 7, 9, 11]


def test_the_first_refusal_of_a_row_counts_and_does_not_end_it() -> None:
    ends = Ends()
    pushes = Pushes(long_rows(2), ends.note)
    lines = pushes.take(server())
    per_row = len(lines) // 2
    assert per_row == 5
    answers = [CommandError(f"code{number}") if number in (2, 4) else OK for number in range(per_row)]
    pushes.take_answers(answers[:-1])
    assert ends.places == [], "one of its lines is not answered"
    pushes.take_answers([answers[-1], *[OK] * per_row])
    assert ends.places == [0, 1]
    assert ends.refusals == {0: "code2"}


def test_rows_behind_an_error_of_their_iterator_are_not_read() -> None:
    class Rows(Iterator[Row]):
        """An iterator of rows that would continue after an error."""

        def __init__(self) -> None:
            self.number = 0

        def __iter__(self) -> Iterator[Row]:
            return self

        def __next__(self) -> Row:
            self.number += 1
            if self.number == 3:
                raise LookupError("the source has gone")
            return Row("c", "b", f"o{self.number}", "text", "none")

    ends = Ends()
    pushes = Pushes(Rows(), ends.note)
    assert len(pushes.take(server())) == 2
    assert pushes.take(server()) == []
    pushes.take_answers([OK, OK])
    with pytest.raises(LookupError, match="has gone"):
        pushes.finish()
    assert ends.places == [0, 1]


def test_a_group_ends_when_it_is_long_enough() -> None:
    rows = (Row("c", "b", f"o{number}", "x" * 10_000, "none") for number in range(20))
    pushes = Pushes(rows, Ends().note)
    sizes = []
    while lines := pushes.take(server(20_000)):
        sizes.append(sum(map(len, lines)))
        longest = max(map(len, lines))
        assert sizes[-1] - longest < GROUP_BYTES_MAX
    assert min(sizes[:-1]) >= GROUP_BYTES_MAX
    assert len(sizes) == 3


def test_what_a_stopping_server_refused_is_sent_again() -> None:
    ends = Ends()
    pushes = Pushes(long_rows(3), ends.note)
    lines = pushes.take(server(20_000))
    with pytest.raises(ConnectionLost, match="going"):
        pushes.take_answers([OK, ShuttingDown("going"), ShuttingDown("going")])
    pushes.start_over()
    assert pushes.take(server(20_000)) == lines[1:]
    assert ends.places == [0]


@pytest.mark.parametrize("way", EVERY_WAY)
@pytest.mark.full
def test_patience_begins_anew_with_every_answer(way: str) -> None:
    """The server delays each connection, and breaks it after one group: in total for longer than retry_s."""
    pause_s, retry_s = 0.1, 0.35

    def script(caller: Caller) -> None:
        caller.greet()
        if caller.mode != "ingest":
            caller.line()
            return
        time.sleep(pause_s)
        for _ in range(LINES_IN_FLIGHT_MAX):
            if caller.line():
                caller.say("OK")

    began = time.monotonic()
    with Fake(script) as fake, ALL_WAYS[way](fake.url, retry_s=retry_s) as client:
        rows = [(f"o:{number}", "text") for number in range(8 * LINES_IN_FLIGHT_MAX)]
        assert client.push_many(rows, collection="c", bucket="b").indexed == len(rows)
    assert time.monotonic() - began > 2 * retry_s


def test_progress_is_told_after_each_batch_and_at_the_end() -> None:
    for count, expected in ((2 * BATCH_ROWS + 3, [BATCH_ROWS, 2 * BATCH_ROWS, 2 * BATCH_ROWS + 3]), (1, [1]), (0, [])):
        told: list[int] = []
        report = ReportBuilder(told.append)
        for number in reversed(range(count)):
            row = Refused(number, None, "no text") if number % 2 else Row("c", "b", f"o{number}", "text", None)
            report.note(number, row, NO if number == 4 else None)
        done = report.finish()
        assert told == expected
        refused = [*range(1, count, 2), *([4] if count > 4 else [])]
        assert (done.indexed, done.refused_count) == (count - len(refused), len(refused))
        assert [one.row for one in done.refused] == sorted(refused)[: len(done.refused)]
    whole = ReportBuilder(told.append)
    for number in range(BATCH_ROWS):
        whole.note(number, Row("c", "b", "o", "text", None), None)
    told.clear()
    whole.finish()
    assert told == [], "it was told already"


def test_a_batch_is_sent_when_it_has_so_many_rows() -> None:
    waiting = WaitingPushes()
    assert [waiting.add("c", "b", "o", "text", None) for _ in range(BATCH_ROWS)] == [False] * (BATCH_ROWS - 1) + [True]
    assert len(waiting) == BATCH_ROWS
    pushes = waiting.pushes()
    lines = pushes.take(server())
    assert len(waiting) == BATCH_ROWS
    pushes.take_answers([NO, *[OK] * (len(lines) - 1)])
    assert len(waiting) == BATCH_ROWS - len(lines)
    with pytest.raises(CommandError, match="internal_error"):
        waiting.end_try()
    waiting.end_try()
