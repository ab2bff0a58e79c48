"""The differential runner: scenarios that repeat, a shrinker that shrinks, rules that excuse only listed differences.

In the full set, a few hundred scenarios are played on Sonic, too.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.differential.__main__ import UNEXPLAINED, search
from tests.differential.deliberate import DELIBERATE, explained, stemmed_language, without_lone_marks
from tests.differential.held import text_of
from tests.differential.judge import Difference, Judge
from tests.differential.scenario import (
    INFO,
    LIMITED_PROFILE,
    PROFILES,
    RESTART,
    STEMMING_PROFILE,
    TEXT,
    TOGETHER,
    Scenario,
    Step,
    make,
)
from tests.differential.servers import Player, comparable
from tests.differential.shrink import shrink
from tests.support.paths import ROOT
from tests.support.server_process import find_sonic

SEEDS = range(1_000_000, 1_000_300)


def test_a_seed_always_gives_the_same_scenario() -> None:
    made = [make(seed) for seed in range(400)]
    assert made == [make(seed) for seed in range(400)]
    assert len({scenario.profile for scenario in made}) == len(PROFILES)
    commands = {step.line.split(b" ")[0] for scenario in made for step in scenario.steps}
    assert {b"PUSH", b"POP", b"QUERY", b"SUGGEST", b"LIST", b"COUNTO", b"FLUSHO", b"FLUSHB", b"FLUSHC"} <= commands
    assert any(RESTART in scenario.steps for scenario in made)
    assert any(step.connection == TOGETHER for scenario in made for step in scenario.steps)
    assert any(INFO in scenario.steps and scenario.is_fresh for scenario in made)
    limited = [scenario for scenario in made if scenario.profile == LIMITED_PROFILE]
    assert not any(b"PUSH {c} other" in step.line for scenario in limited for step in scenario.steps)


def test_what_no_two_runs_share_is_not_compared() -> None:
    query = b"PENDING %s\r\nEVENT QUERY %s a b\r\nPONG\r\n"
    assert comparable(query % (b"Kq3ZfY8c", b"Kq3ZfY8c")) == comparable(query % (b"00000000", b"00000000"))
    assert comparable(b"EVENT QUERY Kq3ZfY8c a b\r\n") != comparable(b"EVENT QUERY Kq3ZfY8c b a\r\n")
    info = b"RESULT uptime(%d) commands_total(4) command_latency_best(%d)\r\n"
    assert comparable(info % (1, 2)) == comparable(info % (3, 4)) == info.replace(b"%d", b"")


def test_lines_sent_together_are_all_answered(tmp_path: Path) -> None:
    lines = b"\n".join(b'PUSH {c} b o%d "hello" LANG(none)' % number for number in range(20))
    steps = (
        Step(TOGETHER, lines),
        Step("search 1", b'QUERY {c} b "hello" LIMIT(100)', is_set=True),
        RESTART,
        Step("ingest 1", b" ping "),
        Step("ingest 1", b"COUNTB {c} b"),
    )
    with Player("ours", tmp_path, "default", None) as player:
        written, found, _, ping, count = player.play(Scenario(1, "default", steps))
    assert written == 20 * b"OK\r\n"
    assert found.split()[3:] == sorted(b"o%d" % number for number in range(20))
    assert ping == b"PONG\r\n"
    assert count == b"RESULT 20\r\n"


class Answers:
    """A judge that finds a difference in the first step for which `differs` returns true."""

    def __init__(self, differs: Callable[[Scenario, Step], bool], sonic: bytes, ours: bytes) -> None:
        self._differs, self._sonic, self._ours = differs, sonic, ours

    def difference(self, scenario: Scenario) -> Difference | None:
        for at, step in enumerate(scenario.steps):
            if self._differs(scenario, step):
                return Difference(at, step, self._sonic, self._ours)
        return None


COUNT = Step("ingest 1", b"COUNTO {c} b o")


def pushed(line: bytes) -> Scenario:
    return Scenario(1, "default", (Step("ingest 1", line), COUNT))


def row_of(scenario: Scenario, differs: Callable[[bytes], bool], sonic: bytes, ours: bytes) -> str | None:
    """Return the row that explains a difference in the last step, in a judge that finds it if `differs` accepts the
    first line. None: no row does.
    """
    judge = Answers(lambda played, step: step is played.steps[-1] and differs(played.steps[0].line), sonic, ours)
    difference = judge.difference(scenario)
    assert difference is not None
    meant = explained(judge, scenario, difference)
    return None if meant is None else meant[0]


def test_a_rule_excuses_what_goes_with_its_cause() -> None:
    guessed = pushed(b'PUSH {c} b o "hello wonderful world of words"')
    row = row_of(guessed, lambda line: b"LANG" not in line, b"RESULT 1\r\n", b"RESULT 2\r\n")
    assert row == "the language of a few texts"
    assert row_of(guessed, lambda line: b"hello" in line, b"RESULT 1\r\n", b"RESULT 2\r\n") is None
    certain = pushed(
        'PUSH {c} b o "\u03bb\u03cc\u03b3\u03bf\u03c2 \u03ba\u03b1\u03b9 \u03c3\u03bf\u03c6\u03cc\u03c2"'.encode()
    )
    assert row_of(certain, lambda line: b"LANG" not in line, b"RESULT 1\r\n", b"RESULT 2\r\n") is None


@pytest.mark.parametrize(
    ("profile", "meta", "is_meant"),
    [
        ("stemming", b" LANG(none)", True),
        ("stemming", b"", True),
        ("stemming", b" LANG(eng)", False),
        ("default", b" LANG(none)", False),
    ],
)
def test_words_are_stemmed_by_a_guess_without_a_language(profile: str, meta: bytes, is_meant: bool) -> None:
    stored = Step("ingest 1", b'PUSH {c} b o "foo_bar-baz SNAKE_CASE FOO_BAR-BAZ"' + meta)
    counts = (b"RESULT 2\r\n", b"RESULT 3\r\n")

    def guesses(played: Scenario) -> bool:
        return re.search(rb"LANG\((?!none)", played.steps[0].line) is None or meta == b" LANG(eng)"

    row = explained_if(Scenario(1, profile, (stored, COUNT)), guesses, *counts)
    assert row == ("the language of a few texts" if is_meant else None)


def test_no_other_argument_changes_where_a_language_is_named() -> None:
    line = TEXT.match(b'QUERY {c} b "foo_bar-baz SNAKE_CASE FOO_BAR-BAZ" LIMIT(1) LANG(none) OFFSET(1)')
    assert line is not None
    named = stemmed_language(line)
    assert re.fullmatch(rb'QUERY {c} b "[^"]+" LIMIT\(1\) LANG\(\w{3}\) OFFSET\(1\)', named), named


POP_CHINESE = Step("ingest 1", 'POP {c} b o "\u4eca\u5929\u5929\u6c14"'.encode())
STORED_CHINESE = 'PUSH {c} b o "\u4eca\u5929\u5929\u6c14 \u5929" LANG(cmn)'.encode()


@pytest.mark.parametrize(
    ("line", "text", "meta"),
    [
        (rb'POP {c} b o "one \"two\" three"', rb"one \"two\" three", b""),
        (rb'POP {c} b o "one" LANG(none)', b"one", b" LANG(none)"),
        (rb'POP {c} b o "one \"', b"one \\", b""),
        (rb'POP {c} b o "one \\"', rb"one \\", b""),
    ],
)
def test_the_text_of_a_line(line: bytes, text: bytes, meta: bytes) -> None:
    found = TEXT.match(line)
    assert found is not None and (found["text"], found["meta"]) == (text, meta)


@pytest.mark.parametrize(
    ("sonic", "ours", "is_meant"), [(1, 2, True), (0, 2, False), (1, 3, False), (2, 1, False), (2, 2, False)]
)
def test_pop_removes_as_many_as_the_rule_says(sonic: int, ours: int, is_meant: bool) -> None:
    scenario = Scenario(1, "default", (Step("ingest 1", STORED_CHINESE), POP_CHINESE))
    counts = (b"RESULT %d\r\n" % sonic, b"RESULT %d\r\n" % ours)
    row = explained_if(scenario, lambda played: POP_CHINESE in played.steps, *counts)
    assert row == ("POP removes the words of a text whatever its language was" if is_meant else None)


@pytest.mark.parametrize(("sonic", "is_meant"), [(0, True), (1, True), (2, False)])
def test_pop_may_stem_by_another_guess(sonic: int, is_meant: bool) -> None:
    """No language has exactly two of the stems of the text."""
    stored = Step("ingest 1", b'PUSH {c} b o "run engin wonder" LANG(tha)')
    popped = Step("ingest 1", b'POP {c} b o "running engines wonderful"')
    scenario = Scenario(1, STEMMING_PROFILE, (stored, popped))
    row = explained_if(scenario, lambda played: popped in played.steps, b"RESULT %d\r\n" % sonic, b"RESULT 3\r\n")
    assert row == ("POP removes the words of a text whatever its language was" if is_meant else None)


def explained_if(
    scenario: Scenario,
    differs: Callable[[Scenario], bool],
    sonic: bytes = b"EVENT QUERY A B\r\n",
    ours: bytes = b"EVENT QUERY B A\r\n",
) -> str | None:
    """Return the row that explains the last step of a scenario, in a judge that finds a difference there if `differs`
    accepts the scenario. None: no row does.
    """
    judge = Answers(lambda played, step: step is played.steps[-1] and differs(played), sonic, ours)
    difference = Difference(len(scenario.steps) - 1, scenario.steps[-1], sonic, ours)
    meant = explained(judge, scenario, difference)
    return None if meant is None else meant[0]


def test_two_causes_may_meet_in_one_step() -> None:
    """Sonic stores the mark, and its POP removes the mark, too; sonicpy's POP removes the word and the blank, which
    Sonic's does not.
    """
    stored = Step("ingest 1", 'PUSH {c} b o "\u4eca\u5929\u5929\u6c14 \u0301 \u5929" LANG(cmn)'.encode())
    popped = Step("ingest 1", 'POP {c} b o "\u4eca\u5929\u5929\u6c14 \u0301"'.encode())

    class Both:
        def difference(self, scenario: Scenario) -> Difference | None:
            at = len(scenario.steps) - 1
            if not scenario.steps[at].line.startswith(b"POP"):
                return None
            marks = any("\u0301".encode() in step.line for step in scenario.steps)
            return Difference(at, scenario.steps[at], b"RESULT %d\r\n" % (1 + marks), b"RESULT 3\r\n")

    scenario = Scenario(1, "folding", (stored, popped))
    difference = Difference(1, popped, b"RESULT 2\r\n", b"RESULT 3\r\n")
    row, rest = explained(Both(), scenario, difference)  # type: ignore[misc]
    assert row == "with `diacritic_folding_enabled`, marks alone are no word"
    assert [step.line for step in rest.steps] != [step.line for step in scenario.steps]
    unchanged = Answers(lambda _, step: step.line.startswith(b"POP"), b"RESULT 2\r\n", b"RESULT 3\r\n")
    assert explained(unchanged, scenario, difference) is None


def test_words_that_came_back_wait_again() -> None:
    row = "`fst_consolidate_count` of INFO counts buckets"
    scenario = Scenario(1, "default", (BEE[0], Step("ingest 1", b"FLUSHO {c} b A"), BEE[0], INFO))
    figures = (b"RESULT fst_consolidate_count(0)\r\n", b"RESULT fst_consolidate_count(1)\r\n")

    def flushed(played: Scenario) -> bool:
        return any(step.line.startswith(b"FLUSHO") for step in played.steps)

    assert explained_if(scenario, flushed, *figures) == row
    assert explained_if(scenario, lambda _: True, *figures) is None
    assert explained_if(scenario, flushed, *reversed(figures)) is None, "Sonic counts more"


def test_a_mark_behind_a_line_break_stands_alone() -> None:
    line = TEXT.match('PUSH {c} b o "\\n\u093f e\u0301 \u0301"'.encode())
    assert line is not None
    assert without_lone_marks(line) == 'PUSH {c} b o "\\n e\u0301 "'.encode()


def test_the_dictionary_leaves_every_mark_alone() -> None:
    line = TEXT.match('PUSH {c} b o "e\u0301 \u4eca\u5929" LANG(cmn)'.encode())
    assert line is not None
    assert without_lone_marks(line) == 'PUSH {c} b o "e \u4eca\u5929" LANG(cmn)'.encode()


def test_white_space_of_a_text_is_one_blank() -> None:
    line = TEXT.match('PUSH {c} b o "a\u00a0 b\\nc\t\\"d"'.encode())
    assert line is not None
    assert text_of(line) == 'a b\nc "d'


BEE = [Step("ingest 1", b'PUSH {c} b %s "bee" LANG(none)' % oid) for oid in (b"A", b"B", b"C")]
ASKED = Step("search 1", b'QUERY {c} b "bee" LANG(none)')


def test_an_order_is_excused_where_an_object_is_pushed_again() -> None:
    again = Scenario(1, "default", (*BEE, Step("ingest 1", b"FLUSHO {c} b A"), BEE[1], ASKED))
    assert explained_if(again, lambda played: BEE[1] in played.steps[3:]) == (
        "an object that is pushed again with the same word keeps its place"
    )
    assert explained_if(again, lambda _: True) is None
    flushed = Scenario(1, "default", (*BEE, Step("ingest 1", b"FLUSHO {c} b B"), BEE[1], ASKED))
    assert explained_if(flushed, lambda played: BEE[1] in played.steps[3:]) is None, "the word was gone"


@pytest.mark.parametrize("profile", ["default", "window of 3"])
def test_an_order_is_excused_behind_a_restart(profile: str) -> None:
    row = "equal scores are in the same order after a restart"
    restarted = Scenario(1, profile, (*BEE, RESTART, ASKED))
    assert explained_if(restarted, lambda played: RESTART in played.steps) == row
    assert explained_if(restarted, lambda _: True) is None
    as_set = restarted.with_steps((*BEE, RESTART, replace(ASKED, is_set=True)))
    others = explained_if(as_set, lambda played: RESTART in played.steps)
    assert others == (None if profile == "default" else row), "a window that is not full holds the same objects"


def test_a_step_of_several_lines_is_excused_by_its_line() -> None:
    sent = replace(ASKED, line=b"x\n" + ASKED.line)
    restarted = Scenario(1, "default", (*BEE, RESTART, sent))
    row = "equal scores are in the same order after a restart"
    assert explained_if(restarted, lambda played: RESTART in played.steps) == row
    assert explained_if(restarted, lambda _: True) is None
    assert explained_if(restarted, lambda played: sent in played.steps) is None, "its lines alone are answered alike"


def test_expansions_behind_a_restart() -> None:
    row = "equal scores are in the same order after a restart"
    asked = Step("search 1", b'QUERY {c} b "be" LANG(none)', is_set=True)
    restarted = Scenario(1, "default", (*BEE, RESTART, asked))
    answers = (b"EVENT QUERY B C\r\n", b"EVENT QUERY A B C\r\n")
    assert explained_if(restarted, lambda played: RESTART in played.steps, *answers) == row
    assert explained_if(restarted, lambda _: True, *answers) is None
    exact = restarted.with_steps((*BEE, RESTART, replace(ASKED, is_set=True)))
    assert explained_if(exact, lambda played: RESTART in played.steps, *answers) is None, "A holds the word"


def test_what_a_limited_graph_leaves_out() -> None:
    row = "where more than `max_words` words wait for a consolidation"
    limited = Scenario(1, "small graph", (*BEE, ASKED))
    assert explained_if(limited, lambda played: played.profile == "small graph") == row
    assert explained_if(limited, lambda _: True) is None
    same_words = explained_if(limited, lambda played: played.profile == "small graph" and ASKED in played.steps)
    assert same_words is None, "both graphs hold the same words"


@pytest.mark.parametrize(
    ("line", "sonic", "ours"),
    [
        (b'QUERY {c} b "hello"', b"EVENT QUERY A B\r\n", b"EVENT QUERY B A\r\n"),
        (b'SUGGEST {c} b "hello"', b"EVENT SUGGEST \r\n", b"EVENT SUGGEST hellos\r\n"),
        (b'SUGGEST {c} b "\xd0\xbf"', b"EVENT SUGGEST \xd0\xbf\r\n", b"EVENT SUGGEST \r\n"),
        (b'POP {c} b o "hello"', b"RESULT 2\r\n", b"RESULT 1\r\n"),
        (b"COUNTO {c} b o", b"RESULT 2\r\n", b"RESULT 1\r\n"),
        (b"INFO", b"RESULT fst_open_count(1) commands_total(4)\r\n", b"RESULT fst_open_count(1) commands_total(3)\r\n"),
        (b"PING", b"PONG\r\n", b"ERR invalid_format(line is not UTF-8)\r\n"),
    ],
)
def test_no_rule_excuses(line: bytes, sonic: bytes, ours: bytes) -> None:
    scenario = Scenario(1, "default", (Step("ingest 1", b'PUSH {c} b o "hello" LANG(eng)'), Step("search 1", line)))
    assert row_of(scenario, lambda _: True, sonic, ours) is None


def test_every_rule_is_of_a_row_of_the_documentation() -> None:
    differences = (ROOT / "docs" / "protocol.md").read_text().partition("## What differs from Sonic in either mode")[2]
    differences = differences.replace("\n  ", " ")
    rows = re.findall(r"^- (.+) \(`(tests/.+?)`\)$", differences, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^- ", differences, re.MULTILINE)) > 30
    for meant in DELIBERATE:
        assert any(row.startswith(meant.row) for row, _ in rows), meant.row
    for _, test in rows:
        path, name = re.fullmatch(r"(tests/[\w/]+\.py)::(?:\w+::)?(test_\w+)", test).groups()  # type: ignore[union-attr]
        assert f"def {name}(" in (ROOT / path).read_text(), test


def test_what_differs_shrinks_to_what_matters() -> None:
    steps = tuple(Step("ingest 1", b'PUSH {c} b A "one two three %d"' % number) for number in range(40))

    def differs(scenario: Scenario) -> bool:
        return any(b"two" in step.line and b"7" in step.line for step in scenario.steps)

    smallest = shrink(Scenario(1, "default", steps), differs)
    assert differs(smallest)
    assert len(smallest.steps) == 1
    assert len(smallest.steps[0].line) <= len(b'PUSH {c} two 37"')


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_compat_mode_answers_as_sonic_does(tmp_path: Path) -> None:
    sonic = find_sonic()
    if sonic is None:
        pytest.skip("no Sonic: neither SONIC_BIN nor sonic on the PATH")
    with Judge(tmp_path, sonic) as judge:
        counts = search(judge, SEEDS, tmp_path / "differences")
    found = sorted(path.read_text() for path in (tmp_path / "differences").glob("*.txt"))
    assert not counts[UNEXPLAINED], "\n\n".join(found)
