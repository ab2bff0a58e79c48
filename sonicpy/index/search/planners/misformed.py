"""Words with an error that objects hold only in another form: `batery` finds `batteries`, `libaries` finds `library`.

Words that begin as the stem of the typed one does, but for an error, are compared with it by their stems.
"""

from collections.abc import Iterator
from os.path import commonprefix

from sonicpy._native.term_rows import TermInfo
from sonicpy.index.search.accents import fold
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.planners.glued import CORRECTED_MAX
from sonicpy.index.search.statistics import Statistics
from sonicpy.lexer.stemmers import STEMMERS

STEM_LETTERS_MIN, HEAD_LETTERS_MIN = 5, 4
"""The fewest letters of a stem with an error, and of the beginning by which words are looked for."""
STEMMERS_MAX = 3
"""The most languages in which a word is tried."""


def heads_of(word: bytes, matching: Matching | None) -> list[bytes]:
    """Return the letters with which words begin, but for an error, whose stems may be nearly that of a word.

    Args:
        matching: leads the word to its stemmers, with the languages of the bucket; None: it has none.
    """
    return list(dict.fromkeys(head.encode() for _, _, head in _stems(word, matching)))


def misspelt_forms(statistics: Statistics, word: bytes, matching: Matching | None) -> list[tuple[bytes, TermInfo, int]]:
    """Return the words that objects hold whose stems differ from that of a word by one error, each with its row and the
    error: those that most objects hold.

    Args:
        matching: the matching of families; None: no word has a family.
    """
    found: dict[bytes, TermInfo] = {}
    if not statistics.swaps:
        return []
    for name, stem, head in _stems(word, matching and statistics.resolved(matching)):
        begun = [(each, row) for each, row, _ in statistics.beginnings(head.encode(), 1) if each.decode().isalpha()]
        stems = STEMMERS[name]([each.decode() for each, _ in begun])
        found.update(each for each, its in zip(begun, stems, strict=True) if its[:1] == stem[:1] and is_near(stem, its))
    likely = sorted(found.items(), key=lambda each: (-each[1].df, each[0]))[:CORRECTED_MAX]
    return [(each, row, 1) for each, row in likely]


def is_near(stem: str, other: str) -> bool:
    """Return whether two stems, accents aside, differ by at most one letter more, less or replaced, or by a swap."""
    one, two = fold(stem, ""), fold(other, "")
    same = len(commonprefix((one, two)))
    rest, its = one[same:], two[same:]
    return rest[1:] == its[1:] or rest[1:] == its or rest == its[1:] or (rest[1::-1], rest[2:]) == (its[:2], its[2:])


def _stems(word: bytes, matching: Matching | None) -> Iterator[tuple[str, str, str]]:
    """Yield the stems of a word: the stemmer, the stem, and the letters of both without the last one."""
    text = word.decode()
    if matching is None or not text.isalpha():
        return
    stemmers = matching.stemming(text)
    for name in (stemmers.sure or stemmers.doubtful)[:STEMMERS_MAX]:
        stem = STEMMERS[name]([text])[0]
        head = commonprefix((stem, text))[:-1]
        if len(stem) >= STEM_LETTERS_MIN and len(head) >= HEAD_LETTERS_MIN:
            yield name, stem, head
