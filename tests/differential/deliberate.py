"""The deliberate differences between Sonic and compat mode, as docs/protocol.md lists them.

Each difference has a rule that recognises it by the scenario and both answers, and removes its cause from the scenario.
The rest is played again, so that a deliberate difference neither excuses nor hides another one.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from sonicpy.lexer.sonic_language import SonicGuesser
from sonicpy.lexer.stopwords import StopWords
from tests.differential.held import NO_STEMS, Held, text_of, with_words, words_of
from tests.differential.judge import Difference
from tests.differential.scenario import (
    CONSOLIDATE,
    LIMITED_PROFILE,
    SEARCH,
    STEMMING_PROFILE,
    TEXT,
    TOGETHER,
    Scenario,
    Step,
)

Rule = Callable[[Scenario, Difference], Scenario | None]
"""Returns the scenario without the cause of the difference; None: the rule is not about this difference."""

LIMITS = re.compile(rb" (LIMIT|OFFSET)\(\d*\)")
OPEN_GRAPHS = re.compile(rb"fst_open_count\(\d+\)")
OPEN_COLLECTIONS = re.compile(rb"kv_open_count\((\d+)\)")
WAITING_GRAPHS = re.compile(rb"fst_consolidate_count\((\d+)\)")
GRAPH_FIGURES = re.compile(rb"fst_(open|consolidate)_count\(\d+\)")
OPEN_FIGURES = re.compile(rb"(kv|fst)_open_count\(\d+\)")
FOUND = re.compile(rb"^EVENT \w+ (.*)\r\n", re.MULTILINE)
REMOVES_WORDS = re.compile(rb"(POP|FLUSHO) ")
COUNTED = re.compile(rb"RESULT (\d+)\r\n")
ALL = b" LIMIT(100)"
CERTAIN = ("short", "script")
"""The kinds of evidence that decide the language of a text without stop words and statistics of letters; see
`SonicGuesser.explain`.
"""
NO_LANG = b"LANG(none)"
LINE_BREAK = "\\n"
"""A line break in a text on the channel."""
GUESSER = SonicGuesser(StopWords())


def not_utf8(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic does not answer a line that is not UTF-8, so its client waits for ever."""
    if difference.sonic == b"" and difference.ours.startswith(b"ERR invalid_format(line is not UTF-8)"):
        return without_step(scenario, difference.at)
    return None


def guessed_language(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic guesses another language if the letters or the stop words decide.

    The difference disappears if the lines of such texts name the language that sonicpy guesses.
    """
    is_stemming = scenario.profile == STEMMING_PROFILE
    return rewritten(scenario, difference, stemmed_language if is_stemming else uncertain_language)


def stemmed_language(line: re.Match[bytes]) -> bytes:
    """Return a line as `uncertain_language` does, also if it has LANG(none), with which both servers stem words by the
    guess.
    """
    text = text_of(line)
    if line["command"] not in (b"PUSH", b"QUERY") or GUESSER.explain(text)[1] in CERTAIN:
        return line[0]
    named = f"LANG({GUESSER.guess(text) or NO_STEMS})".encode()
    if b"LANG" not in line["meta"]:
        return line[0] + b" " + named
    return line[0].removesuffix(line["meta"]) + line["meta"].replace(NO_LANG, named)


def uncertain_language(line: re.Match[bytes]) -> bytes:
    """Return a line with the language of its text, unless the length or the script of the text decides the language."""
    return line[0] if GUESSER.explain(text_of(line))[1] in CERTAIN else named_language(line)


def named_language(line: re.Match[bytes]) -> bytes:
    """Return a PUSH or QUERY with the language of its text."""
    if line["command"] not in (b"PUSH", b"QUERY") or b"LANG" in line["meta"]:
        return line[0]
    return line[0] + f" LANG({GUESSER.guess(text_of(line)) or 'none'})".encode()


def popped_every_way(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic's POP removes the words of its text without a language, with stems those of the language that it guesses;
    that of sonicpy removes those of its text in any language.
    """
    line = TEXT.match(difference.step.line)
    counts = [COUNTED.fullmatch(answer) for answer in (difference.sonic, difference.ours)]
    if line is None or line["command"] != b"POP" or counts[0] is None or counts[1] is None:
        return None
    held = Held(scenario.profile)
    for step in scenario.steps[: difference.at]:
        held.take(step)
    theirs, ours = [int(count[1]) for count in counts if count is not None]
    by_sonic, by_us = held.popped(line)
    likely = [by_sonic]
    if scenario.profile == STEMMING_PROFILE and GUESSER.explain(text_of(line))[1] not in CERTAIN:
        likely += held.popped_if(line)
    if ours != len(by_us) or theirs not in map(len, likely) or theirs == ours:
        return None
    return without_step(scenario, difference.at)


def marks_alone(scenario: Scenario, difference: Difference) -> Scenario | None:
    """If accents are removed, Sonic stores a word without letters for marks that belong to no letter."""
    return rewritten(scenario, difference, without_lone_marks) if scenario.profile == "folding" else None


def without_lone_marks(line: re.Match[bytes]) -> bytes:
    """Return a line without the marks in its text that belong to no letter or number.

    The dictionary of Chinese cuts each mark from its letter.
    """
    is_cut = b"LANG(cmn)" in named_language(line)
    kept = ""
    for char in line["text"].decode("utf-8", "replace").replace(LINE_BREAK, "\n"):
        if not is_mark(char) or (kept and not is_cut and (kept[-1].isalnum() or is_mark(kept[-1]))):
            kept += char
    return line["head"] + f'"{kept}"'.replace("\n", LINE_BREAK).encode() + line["meta"]


def is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def left_out_words(scenario: Scenario, difference: Difference) -> Scenario | None:
    """If too many words are pending, sonicpy keeps the oldest ones that still exist.

    Sonic refuses new words while too many are pending, and accepts them if they are pushed again later. The
    difference disappears without the limit.
    """
    return replace(scenario, profile="default") if scenario.profile == LIMITED_PROFILE else None


def asking_for_all_words(scenario: Scenario, difference: Difference) -> Scenario:
    """Return the steps before a difference, followed by LIST in place of the different step."""
    names = difference.step.line.split(b" ")[1:3]
    asked = Step(f"{SEARCH} 1", b"LIST " + b" ".join(names) + ALL)
    return scenario.with_steps((*scenario.steps[: difference.at], asked))


def order_after_restart(scenario: Scenario, difference: Difference) -> Scenario | None:
    """After a restart, Sonic reverses objects of equal score: both servers find the same objects, in another order."""
    if not difference.step.line.startswith(b"QUERY ") or difference.step.is_set:
        return None
    if not any(step.is_restart for step in scenario.steps[: difference.at]):
        return None
    return with_step(scenario, difference.at, all_objects(difference.step))


def oldest_after_restart(scenario: Scenario, difference: Difference) -> Scenario | None:
    """After a restart, Sonic reads the oldest objects of a full window, and sonicpy the newest."""
    if not difference.step.line.startswith(b"QUERY ") or not scenario.profile.startswith("window"):
        return None
    if not any(step.is_restart for step in scenario.steps[: difference.at]):
        return None
    return without_step(scenario, difference.at)


def expanded_after_restart(scenario: Scenario, difference: Difference) -> Scenario | None:
    """After a restart of Sonic, other objects come first among those that compete for few places in its expansions.

    Objects that only one server finds hold none of the query's own words.
    """
    line = TEXT.match(difference.step.line)
    if line is None or line["command"] != b"QUERY":
        return None
    if not any(step.is_restart for step in scenario.steps[: difference.at]):
        return None
    held = Held(scenario.profile)
    for step in scenario.steps[: difference.at]:
        held.take(step)
    asked = set(words_of(line, scenario.profile))
    bucket = line["head"].split()[2]
    others = set(found(difference.sonic)) ^ set(found(difference.ours))
    if not others or any(asked & held.words(bucket, oid) for oid in others):
        return None
    return without_step(scenario, difference.at)


def without_restarts(scenario: Scenario, difference: Difference) -> Scenario:
    """Return the steps of a difference, with a consolidation, which a restart includes, in place of each restart."""
    steps = scenario.steps[: difference.at + 1]
    return scenario.with_steps([CONSOLIDATE if step.is_restart else step for step in steps])


def pushed_again(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic moves an object to the front when it is pushed again with a word that another object has lost meanwhile.

    The difference disappears if no PUSH repeats a word that its object holds.
    """
    if not difference.step.line.startswith(b"QUERY "):
        return None
    steps = without_repeats(scenario)
    return None if steps == list(scenario.steps) else scenario.with_steps(steps)


def without_repeats(scenario: Scenario) -> list[Step]:
    """Return the steps in which each PUSH has only words that its object does not hold; a PUSH without words becomes a
    PING.
    """
    held = Held(scenario.profile)
    steps: list[Step] = []
    for step in scenario.steps:
        line = TEXT.match(step.line)
        repeated = held.take(step)
        if line is not None and repeated:
            new = [word for word in words_of(line, scenario.profile) if word not in repeated]
            text = with_words(line, new, scenario.profile) if new else b"PING"
            step = step if text is None else replace(step, line=text)
        steps.append(step)
    return steps


def all_objects(step: Step) -> Step:
    """Return a QUERY for all objects, whose order is not compared."""
    return replace(step, line=LIMITS.sub(b"", step.line) + ALL, is_set=True)


def open_graphs(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic counts the word graphs of buckets that do not exist, but not those that a consolidation has closed."""
    return without_step(scenario, difference.at) if differ_only_in(OPEN_GRAPHS, difference) else None


def open_collections(scenario: Scenario, difference: Difference) -> Scenario | None:
    """After a restart, Sonic counts a collection only after its first use."""
    if not any(step.is_restart for step in scenario.steps[: difference.at]):
        return None
    sonic, ours = (OPEN_COLLECTIONS.search(answer) for answer in (difference.sonic, difference.ours))
    if sonic is None or ours is None or int(sonic[1]) >= int(ours[1]):
        return None
    return without_step(scenario, difference.at) if differ_only_in(OPEN_FIGURES, difference) else None


def words_came_back(scenario: Scenario, difference: Difference) -> Scenario | None:
    """sonicpy counts a bucket whose words have come back; Sonic does not, because its graph still holds them.

    The difference disappears if no word is removed.
    """
    if not differ_only_in(GRAPH_FIGURES, difference):
        return None
    sonic, ours = (WAITING_GRAPHS.search(answer) for answer in (difference.sonic, difference.ours))
    if sonic is None or ours is None or int(sonic[1]) >= int(ours[1]):
        return None
    steps = [
        replace(step, line=b"PING") if at < difference.at and REMOVES_WORDS.match(step.line) else step
        for at, step in enumerate(scenario.steps)
    ]
    return None if steps == list(scenario.steps) else scenario.with_steps(steps)


def differ_only_in(figure: re.Pattern[bytes], difference: Difference) -> bool:
    """Return whether both answers have a figure, and are equal without it."""
    sonic, ours = (figure.sub(b"", answer) for answer in (difference.sonic, difference.ours))
    return sonic == ours and figure.search(difference.sonic) is not None


class Judging(Protocol):
    """A judge, which returns the difference between the answers to a scenario."""

    def difference(self, scenario: Scenario) -> Difference | None:
        """Return the first difference, or None."""


@dataclass(frozen=True, slots=True)
class Meant:
    """A deliberate difference.

    Attributes:
        row: the beginning of its row in docs/protocol.md.
        without_it: the rule of the difference.
        proof: returns, for a scenario and its difference, a scenario without the cause that ends with the different
            step; the rule applies only if this scenario has no difference. None: the result of `without_it` must have
            no difference up to that step.
        evidence: returns a scenario that must differ in its last step.
    """

    row: str
    without_it: Rule
    proof: Callable[[Scenario, Difference], Scenario] | None = None
    evidence: Callable[[Scenario, Difference], Scenario] | None = None


DELIBERATE = (
    Meant("the server answers a line that is not UTF-8", not_utf8),
    Meant("`fst_open_count` of INFO counts word graphs that are open", open_graphs),
    Meant("`kv_open_count` of INFO counts collections that exist", open_collections),
    Meant("`fst_consolidate_count` of INFO counts buckets", words_came_back),
    Meant("the language of a few texts", guessed_language),
    Meant("POP removes the words of a text whatever its language was", popped_every_way),
    Meant("with `diacritic_folding_enabled`, marks alone are no word", marks_alone),
    Meant("where more than `max_words` words wait for a consolidation", left_out_words, evidence=asking_for_all_words),
    Meant("an object that is pushed again with the same word keeps its place", pushed_again),
    Meant("equal scores are in the same order after a restart", order_after_restart, without_restarts),
    Meant("equal scores are in the same order after a restart", oldest_after_restart, without_restarts),
    Meant("equal scores are in the same order after a restart", expanded_after_restart, without_restarts),
)


def found(answer: bytes) -> list[bytes]:
    """Return the items of the EVENT of an answer."""
    items = FOUND.search(answer)
    return items[1].split() if items else []


def rewritten(
    scenario: Scenario, difference: Difference, rewrite: Callable[[re.Match[bytes]], bytes]
) -> Scenario | None:
    """Return the scenario with its texts rewritten; None if no text up to the difference changes."""
    steps = tuple(with_line(step, rewrite) for step in scenario.steps)
    before = slice(difference.at + 1)
    return None if steps[before] == scenario.steps[before] else scenario.with_steps(steps)


def with_line(step: Step, rewrite: Callable[[re.Match[bytes]], bytes]) -> Step:
    """Return a step with its text rewritten, if it has one."""
    line = TEXT.match(step.line)
    return step if line is None else replace(step, line=rewrite(line))


def without_step(scenario: Scenario, at: int) -> Scenario:
    """Return the scenario without one step."""
    return scenario.with_steps(scenario.steps[:at] + scenario.steps[at + 1 :])


def with_step(scenario: Scenario, at: int, step: Step) -> Scenario:
    """Return the scenario with the step at `at` replaced."""
    return scenario.with_steps((*scenario.steps[:at], step, *scenario.steps[at + 1 :]))


def with_lines_apart(scenario: Scenario, at: int) -> Scenario:
    """Return the scenario with a step for each line of the step at `at`."""
    steps = [replace(scenario.steps[at], line=line) for line in scenario.steps[at].line.split(b"\n")]
    return scenario.with_steps((*scenario.steps[:at], *steps, *scenario.steps[at + 1 :]))


def explained(judge: Judging, scenario: Scenario, difference: Difference) -> tuple[str, Scenario] | None:
    """Return the row of a deliberate difference, and the scenario without its cause; None: it is not deliberate.

    Rules read one line: of a step of several lines, they get the line that differs as a step of its own.
    """
    if b"\n" in difference.step.line and difference.step.connection != TOGETHER:
        scenario = with_lines_apart(scenario, difference.at)
        apart = judge.difference(scenario)
        return None if apart is None else explained(judge, scenario, apart)
    for meant in DELIBERATE:
        without = meant.without_it(scenario, difference)
        if without is None:
            continue
        prove = meant.proof or shortened(without)
        played = prove(scenario, difference)
        left = judge.difference(played)
        if left is not None and not (meant.proof is None and is_other_cause(judge, played, difference, left)):
            continue
        if meant.evidence is None or differs_at_last(judge, meant.evidence(scenario, difference)):
            return meant.row, without
    return None


def is_other_cause(judge: Judging, without: Scenario, difference: Difference, left: Difference) -> bool:
    """Return whether two causes meet in one step: without the first one, the step has another difference, which another
    row explains.
    """
    if left.at != len(without.steps) - 1 or left.step.connection != difference.step.connection:
        return False
    if (left.sonic, left.ours) == (difference.sonic, difference.ours):
        return False
    return explained(judge, without, left) is not None


def shortened(without: Scenario) -> Callable[[Scenario, Difference], Scenario]:
    """Return a function that cuts `without` off after the different step of a scenario."""

    def steps_before(scenario: Scenario, difference: Difference) -> Scenario:
        after = len(scenario.steps) - 1 - difference.at
        return without.with_steps(without.steps[: len(without.steps) - after])

    return steps_before


def differs_at_last(judge: Judging, scenario: Scenario) -> bool:
    """Return whether the first different answer is the last one."""
    difference = judge.difference(scenario)
    return difference is not None and difference.at == len(scenario.steps) - 1
