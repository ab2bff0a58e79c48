"""The differences between Sonic and compat mode that are meant, as docs/protocol.md lists them.

Each has a rule that recognises it by the scenario and both answers, and takes its cause out of the scenario. What is
left is played again, so that a difference which is meant neither excuses nor hides another one.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from sonicpy.config import NormalizationConfig, StopwordsConfig, TokenizationConfig
from sonicpy.lexer.lexer import Lexer
from sonicpy.lexer.sonic_language import SonicGuesser
from sonicpy.lexer.stopwords import StopWords
from tests.differential.judge import Difference
from tests.differential.scenario import Scenario, Step

Rule = Callable[[Scenario, Difference], Scenario | None]
"""Returns the scenario without the cause of the difference, or None: it is another one."""

TEXT = re.compile(
    rb'^(?P<head>(?P<command>PUSH|QUERY|POP|SUGGEST) [^"]*)"(?P<text>(?:[^"\\]|\\.)*)"(?P<meta>.*)$', re.DOTALL
)
META = re.compile(rb" (LIMIT|OFFSET)\(\d*\)")
LANG = re.compile(rb"LANG\((none|(?!xxx)\w{3})\)")
OPEN_GRAPHS = re.compile(rb"fst_open_count\((\d+)\)")
FOUND = re.compile(rb"^EVENT \w+ (.*)\r\n", re.MULTILINE)
ALL = b" LIMIT(100)"
SHARED_BYTE = "corrections between letters that share their first UTF-8 byte"
GRAPH_WORDS = 5
LEXER = Lexer(NormalizationConfig(), TokenizationConfig(), StopwordsConfig(), compat=True)
GUESSER = SonicGuesser(StopWords())


def not_utf8(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic says nothing to a line that is not UTF-8, so that its client waits for ever."""
    if difference.sonic == b"" and difference.ours.startswith(b"ERR invalid_format(line is not UTF-8)"):
        return without_step(scenario, difference.at)
    return None


def guessed_language(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic guesses otherwise: the difference goes when every line names the language that ours guesses."""
    return rewritten(scenario, difference, named_language)


def named_language(line: re.Match[bytes]) -> bytes:
    """Return a PUSH or QUERY with the language of its text."""
    if line["command"] not in (b"PUSH", b"QUERY") or b"LANG" in line["meta"]:
        return line[0]
    text = line["text"].decode("utf-8", "replace").replace("\\n", "\n").replace('\\"', '"')
    return line[0] + f" LANG({GUESSER.guess(text) or 'none'})".encode()


def signs_in_chinese(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic stores blanks and punctuation of Chinese text as words: the difference goes when there are none."""
    return rewritten(scenario, difference, chinese_without_signs)


def chinese_without_signs(line: re.Match[bytes]) -> bytes:
    """Return a line without the characters of its text that are neither letters nor numbers, if it is Chinese."""
    if b"LANG(cmn)" not in named_language(line):
        return line[0]
    kept = "".join(filter(str.isalnum, line["text"].decode("utf-8", "replace").replace("\\n", "")))
    return line["head"] + f'"{kept}"'.encode() + line["meta"]


def letters_of_one_byte(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic's automaton of bytes loses corrections between letters that share their first byte."""
    line = TEXT.match(difference.step.line)
    if line is None or line["text"].isascii() or not set(found(difference.sonic)) < set(found(difference.ours)):
        return None
    return without_step(scenario, difference.at)


def one_of_the_words(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Where one word of several finds more, the others weigh otherwise."""
    line = TEXT.match(difference.step.line)
    if line is None or line["command"] != b"QUERY" or line["text"].isascii() or len(words_of(line)) < 2:
        return None
    return without_step(scenario, difference.at)


def each_word_alone(scenario: Scenario, difference: Difference) -> Scenario:
    """Return a scenario that asks for the words of a query one by one."""
    line = TEXT.match(difference.step.line)
    assert line is not None
    lines = (line["head"] + f'"{word}" LANG(none)'.encode() for word in words_of(line))
    return scenario.with_steps(
        (*scenario.steps[: difference.at], *(replace(difference.step, line=one) for one in lines))
    )


def words_of(line: re.Match[bytes]) -> list[str]:
    """Return the words of the text of a line."""
    return re.findall(r"[^\W_]+", line["text"].decode("utf-8", "replace").replace("\\n", "\n"))


def popped_every_way(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic leaves words that it cuts or stems otherwise without the language of PUSH."""
    counts = [re.fullmatch(rb"RESULT (\d+)\r\n", answer) for answer in (difference.sonic, difference.ours)]
    if not difference.step.line.startswith(b"POP ") or counts[0] is None or counts[1] is None:
        return None
    return without_step(scenario, difference.at) if int(counts[0][1]) < int(counts[1][1]) else None


def marks_alone(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Where accents go, Sonic stores a word without letters for marks that stand alone."""
    if scenario.profile != "folding":
        return None
    return rewritten(scenario, difference, without_marks)


def without_marks(line: re.Match[bytes]) -> bytes:
    """Return a line without the marks of its text: what is left has the same letters."""
    letters = (char for char in line["text"].decode("utf-8", "replace") if unicodedata.category(char)[0] != "M")
    return line["head"] + f'"{"".join(letters)}"'.encode() + line["meta"]


def full_graph(scenario: Scenario, difference: Difference) -> Scenario | None:
    """A graph that a consolidation fills takes the first words by the alphabet, and in Sonic the first that came."""
    if scenario.profile != "small graph":
        return None
    pushed: set[bytes] = set()
    for step in scenario.steps[: difference.at]:
        line = TEXT.match(step.line)
        if line is not None and line["command"] == b"PUSH":
            lang = LANG.search(line["meta"])
            code = lang[1].decode() if lang else None
            pushed.update(LEXER.lex_push(line["text"].decode("utf-8", "replace"), code).words)
    return replace(scenario, profile="default") if len(pushed) > GRAPH_WORDS else None


def order(scenario: Scenario, difference: Difference) -> Scenario | None:
    """After a restart, and where an object was pushed again, Sonic has another order of objects of equal score."""
    line, at = difference.step.line, difference.at
    before = scenario.steps[:at]
    if not line.startswith(b"QUERY ") or not (any(step.is_restart for step in before) or repeats(before)):
        return None
    if difference.step.is_set:
        is_oldest = scenario.profile.startswith("window") and any(step.is_restart for step in before)
        return without_step(scenario, at) if is_oldest else None
    return with_step(scenario, at, replace(difference.step, line=META.sub(b"", line) + ALL, is_set=True))


def repeats(steps: tuple[Step, ...]) -> bool:
    """Return whether an object was pushed twice, and something was taken away."""
    pushed = [b" ".join(step.line.split(b" ")[:4]) for step in steps if step.line.startswith(b"PUSH ")]
    taken = any(step.line.startswith((b"POP ", b"FLUSHO ")) for step in steps)
    return taken and len(set(pushed)) < len(pushed)


def open_graphs(scenario: Scenario, difference: Difference) -> Scenario | None:
    """Sonic counts word graphs of buckets that do not exist, but not those that a consolidation has closed."""
    if not OPEN_GRAPHS.search(difference.sonic):
        return None
    if OPEN_GRAPHS.sub(b"", difference.sonic) != OPEN_GRAPHS.sub(b"", difference.ours):
        return None
    return without_step(scenario, difference.at)


class Judging(Protocol):
    """Who says how the answers to a scenario differ."""

    def difference(self, scenario: Scenario) -> Difference | None:
        """Return the first difference, or None."""


@dataclass(frozen=True, slots=True)
class Meant:
    """A difference that stays.

    Attributes:
        row: how its row in docs/protocol.md begins.
        without_it: its rule.
        evidence: a scenario in which the first difference must be one that this row's other rule knows.
    """

    row: str
    without_it: Rule
    evidence: Callable[[Scenario, Difference], Scenario] | None = None


DELIBERATE = (
    Meant("the server answers a line that is not UTF-8", not_utf8),
    Meant("`fst_open_count` of INFO counts word graphs that are open", open_graphs),
    Meant("the language of a few texts", guessed_language),
    Meant("Chinese text gives no words of blanks and punctuation", signs_in_chinese),
    Meant(SHARED_BYTE, letters_of_one_byte),
    Meant(SHARED_BYTE, one_of_the_words, each_word_alone),
    Meant("POP removes the words of a text whatever its language was", popped_every_way),
    Meant("with `diacritic_folding_enabled`, marks that stand alone are no word", marks_alone),
    Meant("where more words than `max_words` come between two consolidations", full_graph),
    Meant("equal scores are in the same order after a restart", order),
)


def found(answer: bytes) -> list[bytes]:
    """Return the items of the EVENT of an answer."""
    items = FOUND.search(answer)
    return items[1].split() if items else []


def rewritten(
    scenario: Scenario, difference: Difference, rewrite: Callable[[re.Match[bytes]], bytes]
) -> Scenario | None:
    """Return the scenario with its PUSH, POP and QUERY rewritten; None if none up to the difference changes."""

    def one(step: Step) -> Step:
        line = TEXT.match(step.line)
        return step if line is None else replace(step, line=rewrite(line))

    steps = tuple(one(step) for step in scenario.steps)
    upto = slice(difference.at + 1)
    return None if steps[upto] == scenario.steps[upto] else scenario.with_steps(steps)


def without_step(scenario: Scenario, at: int) -> Scenario:
    """Return the scenario without one step."""
    return scenario.with_steps(scenario.steps[:at] + scenario.steps[at + 1 :])


def with_step(scenario: Scenario, at: int, step: Step) -> Scenario:
    """Return the scenario with another step."""
    return scenario.with_steps((*scenario.steps[:at], step, *scenario.steps[at + 1 :]))


def explained(judge: Judging, scenario: Scenario, difference: Difference) -> tuple[str, Scenario] | None:
    """Return the row of a difference that is meant, and the scenario without its cause; None: it is not meant."""
    for meant in DELIBERATE:
        without = meant.without_it(scenario, difference)
        if without is None:
            continue
        if meant.evidence is not None:
            alone = judge.difference(meant.evidence(scenario, difference))
            if alone is None or letters_of_one_byte(scenario, alone) is None:
                continue
        left = judge.difference(without)
        if left is None or left.at > difference.at or len(without.steps) < len(scenario.steps):
            return meant.row, without
    return None
