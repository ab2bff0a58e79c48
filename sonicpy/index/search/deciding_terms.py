"""The terms of a text that every object which holds the text has to hold."""

from sonicpy._native.terms import PART, STOP, Terms


def deciding(terms: Terms) -> list[tuple[bytes, int]]:
    """Return the terms of a text that an object has to hold, and their flags. In another text, a run without blanks may
    be cut otherwise, but its pairs of letters are there.
    """
    found = list(zip(terms.words, terms.flags, strict=True))
    pairs = [word for word, flags in found if flags & PART]
    if not pairs:
        return found
    return [
        (word, flags)
        for word, flags in found
        if flags & PART or not (flags & STOP or any(pair in word for pair in pairs) or _is_inside(word, pairs))
    ]


def _is_inside(word: bytes, pairs: list[bytes]) -> bool:
    return any(word in pair for pair in pairs)
