"""Words of letters, written together, that objects hold neither so nor apart: one of them is unfinished, in another
form, mistyped, or a single letter beside two others.

`newyo` finds New York while it is typed, `notebooks` finds `note book`, `washingmashine` finds `washing machine`,
`emailkonto` finds E-Mail-Konto.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sonicpy._native.expansions import EDITED_LETTERS_MIN, corrections
from sonicpy._native.term_rows import TermInfo
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.planners.spacing import cuts, is_hangul, is_rare, may_be_cut
from sonicpy.index.search.planners.ways import Piece
from sonicpy.index.search.statistics import Statistics

WORDS_MAX, CORRECTED_MAX = 16, 4
"""The most words of a piece, those that most objects hold, and the most corrections of a word."""
MISTYPED_PAIRS_MAX = 8
"""The most ways to cut a word in two of which one may have an error, beside those with a single letter."""
SWAPPED_LETTERS_MIN = 3
"""The fewest letters of a word with an error: two of three may be swapped."""
FORM_LETTERS_MIN, BEGUN_LETTERS_MIN, BESIDE_LETTERS_MIN = 3, 2, 3
"""The fewest letters of a second word in another form, of one that is unfinished, and of one beside a mistyped one,
which may also be a rare single letter."""


class Asked(NamedTuple):
    """The words with which a word may continue behind another one.

    Attributes:
        begun: those that may be unfinished.
        formed: those that may have another form.
        corrected: those that may have an error.
    """

    begun: list[bytes]
    formed: list[bytes]
    corrected: list[bytes]


def asked_of_glued(text: str, *, is_last: bool) -> Asked:
    """Return the words of which `pieces_of_glued` may need others."""
    pairs = _pairs(text) if may_be_cut(text) else []
    tails = [tail for _, tail in pairs]
    begun = [tail.encode() for tail in tails if _may_be_begun(text, tail)] if is_last else []
    formed = [tail.encode() for tail in tails if _may_be_formed(tail)]
    likely = _likely_pairs(pairs)
    mistyped = [piece for pair in likely for piece, beside in (pair, pair[::-1]) if _may_be_mistyped(piece, beside)]
    return Asked(begun, formed, [*(piece.encode() for piece in mistyped), *with_apostrophes(text)])


def pieces_of_glued(
    statistics: Statistics, text: str, matching: Matching | None, *, is_last: bool, may_correct: bool
) -> list[Piece]:
    """Return the words that each piece of a word may be; []: the word cannot be cut.

    Args:
        matching: leads words to their families; None: no word has a family.
        is_last: the word is the last one of a query, and so may be unfinished.
        may_correct: the settings allow corrections.
    """
    if not may_be_cut(text):
        return []
    folds = matching is not None
    heads = _heads(statistics, text, folds=folds)
    return (
        _two(statistics, text, heads, matching, is_last=is_last)
        or _many(statistics, text, is_last=is_last, folds=folds)
        or (_one_mistyped(statistics, text, heads) if may_correct and folds else [])  # a correction ignores accents
    )


def with_apostrophes(text: str) -> list[bytes]:
    """Return a word with an apostrophe behind its first letter, and before its last one: o'brian of obrian, macy's of
    macys."""
    if not (text.isalpha() and len(text) >= EDITED_LETTERS_MIN):
        return []
    return [f"{text[:1]}'{text[1:]}".encode(), f"{text[:-1]}'{text[-1:]}".encode()]


def begun(statistics: Statistics, letters: bytes, *, folds: bool = True) -> Piece:
    """Return the words that begin with some letters: those that most objects hold.

    Args:
        folds: words may differ from the letters in accents, or have a part that begins so.
    """
    found = statistics.beginnings(letters, 0)
    return most_held_words((word, row) for word, row, _ in found if folds or word.startswith(letters))


def most_held_words(found: Iterable[tuple[bytes, TermInfo]]) -> Piece:
    """Return at most WORDS_MAX of some words: those that most objects hold."""
    return tuple(word for word, _ in sorted(found, key=lambda each: (-each[1].df, each[0]))[:WORDS_MAX])


def _heads(statistics: Statistics, text: str, *, folds: bool) -> dict[int, Piece]:
    """Return the words with which a word begins by their number of letters: those first whose two pieces are most alike
    in length. A single letter is one of them if it is rare.
    """
    heads: dict[int, list[tuple[bytes, TermInfo]]] = {}
    for word, row, size in statistics.leading(text.encode()):
        if folds or text.encode().startswith(word):
            heads.setdefault(size, []).append((word, row))
    if 1 in heads and not is_rare(sum(row.df for _, row in heads[1]), statistics.objects):
        del heads[1]
    sizes = sorted(heads, key=lambda size: -min(size, len(text) - size))
    return {size: most_held_words(heads[size]) for size in sizes}


def _two(
    statistics: Statistics, text: str, heads: dict[int, Piece], matching: Matching | None, *, is_last: bool
) -> list[Piece]:
    """Return two words, of which the second one is in another form, or unfinished."""
    for size, words in heads.items():
        for ends in _ends(statistics, text, text[size:], matching, is_last=is_last):
            if ends:
                return [words, ends]
    return []


def _ends(statistics: Statistics, text: str, tail: str, matching: Matching | None, *, is_last: bool) -> Iterator[Piece]:
    if matching is not None and _may_be_formed(tail):
        words = [tail.encode(), *statistics.family(tail.encode(), matching).words]
        yield most_held_words(statistics.held(words))
    if is_last and _may_be_begun(text, tail):
        yield begun(statistics, tail.encode(), folds=matching is not None)


def _may_be_formed(tail: str) -> bool:
    return tail.isalpha() and len(tail) >= FORM_LETTERS_MIN


def _may_be_begun(text: str, tail: str) -> bool:
    return text.isalpha() and (len(tail) >= BEGUN_LETTERS_MIN or is_hangul(text))


def _many(statistics: Statistics, text: str, *, is_last: bool, folds: bool) -> list[Piece]:
    """Return three words or more, of which the last one is unfinished, or one is a rare single letter."""
    if not text.isalpha():
        return []
    for number, ways in enumerate(cuts(statistics, text, None if folds else text, with_letter=True), 1):
        if "" in ways:
            return ways[""][1]
        if not is_last or number < 2:
            continue
        for rest in sorted(ways, key=lambda rest: -min(ways[rest][0], len(rest))):
            ends = begun(statistics, rest.encode(), folds=folds) if _may_be_begun(text, rest) else ()
            if ends:
                return [*ways[rest][1], ends]
    return []


def _one_mistyped(statistics: Statistics, text: str, heads: dict[int, Piece]) -> list[Piece]:
    """Return two words, of which one has an error."""
    pairs = _likely_pairs(_pairs(text))
    tails = {word.decode(): row.df for word, row in statistics.held([tail.encode() for _, tail in pairs])}
    for head, tail in pairs:
        words = heads.get(len(head))
        if words and _may_be_mistyped(tail, head) and (ends := _corrected(statistics, tail)):
            return [words, ends]
        is_held = tail in tails and (len(tail) > 1 or is_rare(tails[tail], statistics.objects))
        if is_held and _may_be_mistyped(head, tail) and (words := _corrected(statistics, head)):
            return [words, (tail.encode(),)]
    return []


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(text[:size], text[size:]) for size in range(1, len(text))]


def _likely_pairs(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs of pieces of which one may have an error, those first whose pieces are most alike in length."""
    by_likeness = sorted(pairs, key=lambda pair: -min(map(len, pair)))
    return [pair for place, pair in enumerate(by_likeness) if place < MISTYPED_PAIRS_MAX or 1 in map(len, pair)]


def _may_be_mistyped(piece: str, beside: str) -> bool:
    is_beside = len(beside) >= BESIDE_LETTERS_MIN or (len(beside) == 1 and beside.isascii())
    return piece.isalpha() and beside.isalpha() and len(piece) >= SWAPPED_LETTERS_MIN and is_beside


def _corrected(statistics: Statistics, word: str) -> Piece:
    return tuple(each[0] for each in corrections(statistics, word.encode(), CORRECTED_MAX, ()))
