"""Numbers whose digits are in groups of three: 1,000 and 1.000 and 1_000 and 1000 are one number."""

import re

GROUPED = re.compile(rb"[1-9]\d{0,2}(?:(?:,\d{3})+|(?:\.\d{3})+|(?:'\d{3})+|(?:_\d{3})+|(?:\xe2\x80\x99\d{3})+)")
WHOLE = re.compile(rb"[1-9]\d{3,14}")
SIGNS = (b",", b".", b"'", b"_", "\u2019".encode())
"""The characters between groups of digits."""


def groups_of(word: bytes) -> list[bytes]:
    """Return the groups of digits of a whole number from 1000 on; an empty list for any other word, or for other
    groups.
    """
    if GROUPED.fullmatch(word):
        word = b"".join(re.findall(rb"\d+", word))
    elif not WHOLE.fullmatch(word):
        return []
    first = len(word) % 3 or 3
    return [word[:first], *(word[at : at + 3] for at in range(first, len(word), 3))]


def same_numbers(word: bytes) -> list[bytes]:
    """Return the other spellings of a number: with each sign between its groups of digits, and with none."""
    groups = groups_of(word)
    return [other for other in (sign.join(groups) for sign in (b"", *SIGNS)) if other != word] if groups else []
