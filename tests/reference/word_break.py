"""Word borders by the rules of UAX #29, tried one by one at every place: the reference implementation of the native
`word_borders`.

Each character of a text becomes one letter that represents its Word_Break class, so that both sides of a rule are
regular expressions over such strings. The code is quadratic on purpose: it keeps no state from one place to the next.
"""

import re
from functools import cache
from pathlib import Path

TABLES = Path(__file__).resolve().parents[2] / "ext" / "tables" / "unicode"

LETTERS = {
    "CR": "c", "LF": "l", "Newline": "w", "Extend": "x", "ZWJ": "z", "Regional_Indicator": "r", "Format": "f",
    "Katakana": "K", "Hebrew_Letter": "H", "ALetter": "A", "Single_Quote": "'", "Double_Quote": '"',
    "MidNumLet": ".", "MidLetter": ":", "MidNum": ",", "Numeric": "N", "ExtendNumLet": "_", "WSegSpace": "s",
}  # fmt: skip
OTHER = "o"

JOINS, BREAKS = "×", "÷"

RAW_RULES = [  # for the text as it is: WB3 to WB4, without WB3c
    ("c$", JOINS, "^l"),  # WB3
    ("[wcl]$", BREAKS, ""),  # WB3a
    ("", BREAKS, "^[wcl]"),  # WB3b
    ("s$", JOINS, "^s"),  # WB3d
    ("", JOINS, "^[xfz]"),  # WB4, its first half
]

RULES = [  # for the text without the characters that WB4 ignores
    ("[AH]$", JOINS, "^[AH]"),  # WB5
    ("[AH]$", JOINS, "^[:.'][AH]"),  # WB6
    ("[AH][:.']$", JOINS, "^[AH]"),  # WB7
    ("H$", JOINS, "^'"),  # WB7a
    ("H$", JOINS, '^"H'),  # WB7b
    ('H"$', JOINS, "^H"),  # WB7c
    ("N$", JOINS, "^N"),  # WB8
    ("[AH]$", JOINS, "^N"),  # WB9
    ("N$", JOINS, "^[AH]"),  # WB10
    ("N[,.']$", JOINS, "^N"),  # WB11
    ("N$", JOINS, "^[,.']N"),  # WB12
    ("K$", JOINS, "^K"),  # WB13
    ("[AHNK_]$", JOINS, "^_"),  # WB13a
    ("_$", JOINS, "^[AHNK]"),  # WB13b
    ("(?:^|[^r])(?:rr)*r$", JOINS, "^r"),  # WB15, WB16
    ("", BREAKS, ""),  # WB999
]


def word_borders(text: str) -> list[int]:
    """Return all word borders of `text` as offsets in characters, both ends included."""
    classes = "".join(_class_letters().get(char, OTHER) for char in text)
    inner = [at for at in range(1, len(text)) if _is_border(text, classes, at)]
    return [0, *inner, len(text)] if text else []


def _is_border(text: str, classes: str, at: int) -> bool:
    if classes[at - 1] == "z" and text[at] in _pictographs():  # WB3c comes before all rules that contradict it
        return False
    for left, verdict, right in RAW_RULES:
        if re.search(left, classes[:at]) and re.search(right, classes[at:]):
            return verdict == BREAKS
    before, after = _without_ignored(classes[:at]), _without_ignored(classes[at:])
    for left, verdict, right in RULES:
        if re.search(left, before) and re.search(right, after):
            return verdict == BREAKS
    raise AssertionError("WB999 matches everywhere")


def _without_ignored(classes: str) -> str:
    """Return the classes after rule WB4: a character also represents the Extend, Format and ZWJ after it, unless it
    ends a line.
    """
    return re.sub("(?<=[^wcl])[xfz]+", "", classes)


@cache
def _class_letters() -> dict[str, str]:
    return {char: LETTERS[name] for char, name in rows_of("WordBreakProperty.txt")}


@cache
def _pictographs() -> frozenset[str]:
    return frozenset(char for char, name in rows_of("emoji-data.txt") if name == "Extended_Pictographic")


def rows_of(file: str) -> list[tuple[str, str]]:
    """Return (character, property) for every row of a file of the Unicode Character Database."""
    rows = []
    for line in (TABLES / file).read_text(encoding="utf-8").splitlines():
        fields = line.partition("#")[0].split(";")
        if len(fields) == 2:
            first, _, last = fields[0].strip().partition("..")
            rows += [(chr(point), fields[1].strip()) for point in range(int(first, 16), int(last or first, 16) + 1)]
    return rows
