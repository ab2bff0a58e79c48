"""AND, OR and NOT in the syntax of search boxes, compared with rules that rewrite a line of letters, one an item."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sonicpy.index.search.web_syntax import read_web

ITEMS = {"w": "alba", "d": "5", "m": "-brid", "p": "+colt", "A": "AND", "O": "OR", "N": "NOT"}
RULES = (
    (r"[AON]+$", lambda found: "x" * len(found[0])),  # words at the end
    (r"^[AON]*N(?=w)", "n"),
    (r"^[AON]+", lambda found: "x" * len(found[0])),
    (r"[AON]*N(?=w)", lambda found: "an" if "A" in found[0] else "n"),
    (r"[AON]*N(?=[dmp])", lambda found: "x" * len(found[0])),
    (r"[AON]*A(?![AON])", "a"),
    (r"[AON]*O", "o"),
    (r"nw", "r"),
    (r"(?<=[mr])o|o(?=[mr])", ""),
    (r"(?<!o)w(?=a)|(?<=a)w(?!o)", "W"),
    (r"(?<!o)d(?=a)|(?<=a)d(?!o)", "D"),
    (r"a", ""),
)
"""Patterns and their replacements, in this order; capital letters are required items, r is one that NOT refuses."""
SHOWN = {**ITEMS, "W": "+alba", "D": "+5", "r": "-alba"}


def expected(letters: str) -> list[list[str]]:
    words = [ITEMS[letter] for letter in letters if letter in "AON"]
    rewritten = letters
    for pattern, instead in RULES:
        before = None
        while before != rewritten and pattern[0] != "^":
            before, rewritten = rewritten, re.sub(pattern, instead, rewritten)
        rewritten = re.sub(pattern, instead, rewritten) if pattern[0] == "^" else rewritten
    found: list[list[str]] = []
    for place, letter in enumerate(rewritten):
        if letter == "o":
            continue
        shown = "?" if letter == "x" else SHOWN[letter]
        if place and rewritten[place - 1] == "o":
            found[-1].append(shown)
        else:
            found.append([shown])
    assert rewritten.count("x") <= len(words)
    return found


def shown(text: str) -> list[list[str]]:
    return [
        ["?" if item.text in ("AND", "OR", "NOT") else item.sign + item.text for item in either]
        for either in read_web(text).items
    ]


@given(st.text("wdmpAON", min_size=1, max_size=9))
@example("NwAw")
@example("wANwAw")
@example("wOmOw")
@example("dAOd")
def test_operators_are_those_of_the_twin(letters: str) -> None:
    text = " ".join(ITEMS[letter] for letter in letters)
    assert shown(text) == expected(letters), text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("NOT alba AND brid", "-alba +brid"),
        ("NOT alba AND NOT brid", "-alba -brid"),
        ("-alba AND brid", "-alba +brid"),
        ("alba OR NOT brid", "alba -brid"),
        ("alba OR AND brid", "+alba +brid"),
        ("alba NOT NOT brid", "alba -brid"),
        ("alba OR OR brid", "alba OR brid"),
    ],
)
def test_no_operator_between_items_is_a_word(text: str, same: str) -> None:
    assert shown(text) == shown(same)
