"""The terms by which a text decides whether an object holds it."""

from sonicpy._native.terms import PART, STOP, Terms


def deciding(terms: Terms) -> list[tuple[bytes, int]]:
    """Return the terms of a text that an object must hold to contain the text, with their flags. Of a run without
    blanks, these are the pairs of letters: within another text, the run may be cut into other words.
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


def needed(terms: Terms) -> set[int]:
    """Return the numbers of the `deciding` terms of a text."""
    words = {word for word, _ in deciding(terms)}
    return {number for number, word in enumerate(terms.words) if word in words}


def _is_inside(word: bytes, pairs: list[bytes]) -> bool:
    return any(word in pair for pair in pairs)
