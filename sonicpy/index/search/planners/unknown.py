"""Words that lead to nothing else: identifiers with an error in their letters, words written together (glued.py), names
without their apostrophe, words with an error in another form (misformed.py), and words of Hangul whose last syllable is
unfinished (composing.py).

`iphnoe15` finds `iphone15`, but not `iphone16`: digits have no errors.
"""

from sonicpy._native.bm25 import idf
from sonicpy._native.clauses import add_misspelt
from sonicpy._native.expansions import EDITED_LETTERS_MIN, corrections, edits_allowed
from sonicpy._native.parts import tokens_of
from sonicpy._native.plan import Clause, Slot, add_expansions
from sonicpy.index.search.beginnings import Beginning, edits_of_beginning, likeliest_beginnings
from sonicpy.index.search.begun_words import folded
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.planners.completions import LIKELIEST, LIKELIEST_SHARES
from sonicpy.index.search.planners.composing import composed_of
from sonicpy.index.search.planners.glued import (
    CORRECTED_MAX,
    Asked,
    asked_of_glued,
    begun,
    most_held_words,
    pieces_of_glued,
    with_apostrophes,
)
from sonicpy.index.search.planners.misformed import misspelt_forms
from sonicpy.index.search.planners.spacing import SHARE
from sonicpy.index.search.planners.ways import Piece
from sonicpy.index.search.statistics import Statistics

COMPARED = 16
"""The most corrections that are compared with a word."""
EDITS_MAX = 1
"""The most errors in the beginning of a word: looking for more takes long."""
BESIDE_DIGITS_MIN = 5
"""The fewest letters of a word with digits that may have errors: fewer are mostly part of a code (ABCD1234)."""
SIGNS = (b"_", b".")
"""The signs that a joined word may have for others."""


def asked_of(word: bytes, *, folds: bool, is_last: bool) -> Asked:
    """Return the words of which `read_again` may need others.

    Args:
        folds: the words of objects may differ from `word` in accents.
        is_last: the word is the last one of a query, and so may be unfinished.
    """
    ways = _ways(word)
    if ways:
        last = [*(way[-1] for way in ways), *_closed(word)] if is_last else []
        return Asked(last, [], list(dict.fromkeys(piece for way in ways for piece in way if _is_mistyped(piece, word))))
    asked = asked_of_glued((folded(word) if folds else word).decode(), is_last=is_last)
    composed = composed_of(word.decode()) if is_last else []
    starts = [start.encode() for each in composed for start in each.starts()]
    return asked._replace(begun=[*starts, *asked.begun])


def read_again(
    statistics: Statistics, clause: Clause, matching: Matching | None, *, is_last: bool, may_correct: bool
) -> None:
    """Add other words to the clause of a word that leads to nothing else.

    Args:
        matching: leads words to their families; None: no word has a family.
        is_last: as in `asked_of`.
        may_correct: the settings allow corrections.
    """
    word = clause.slots[0].words[0]
    ways = _ways(word)
    for closed in _closed(word) if is_last else ():
        if _add_begun(statistics, clause, closed):
            return
    if ways and may_correct:
        _correct(statistics, clause, word)
    if len(clause.slots) > 1:
        return
    for way in ways:
        pieces = [
            begun(statistics, piece) if is_last and piece is way[-1]
            else _itself(statistics, piece, may_correct=may_correct and _is_mistyped(piece, word))
            for piece in way
        ]  # fmt: skip
        if _add(statistics, clause, pieces):
            return
    if not ways and not (is_last and _add(statistics, clause, [_composed(statistics, word.decode())])):
        text = folded(word) if matching is not None else word
        pieces = pieces_of_glued(statistics, text.decode(), matching, is_last=is_last, may_correct=may_correct)
        if not _add(statistics, clause, pieces) and may_correct:
            _correct_without_apostrophe(statistics, clause, text.decode())
            if len(clause.slots) == 1:
                _add_misspelt(statistics, clause, misspelt_forms(statistics, word, matching))


def _add(statistics: Statistics, clause: Clause, pieces: list[Piece]) -> bool:
    """Add a slot for the objects that hold a word of each piece; return whether there are pieces."""
    if not pieces or not all(pieces):
        return False
    words = tuple(word for piece in pieces for word in piece)
    rows = dict(statistics.held(list(dict.fromkeys(words))))
    holders = min(sum(rows[word].df for word in piece) for piece in pieces)
    weight = SHARE * min(clause.weight, idf(statistics.objects, min(holders, statistics.objects)))
    together = tuple(map(len, pieces)) if len(pieces) > 1 else ()
    clause.slots.append(Slot(words, weight, how="completion", together=together))
    clause.holders = max(clause.holders, 1)
    return True


# -- words with digits or signs --------------------------------------------------------------------------------------


def _ways(word: bytes) -> list[list[bytes]]:
    """Return the ways to cut a word at its joints: at all of them, and at the first."""
    tokens = tokens_of(word)
    if len(tokens) < 2:
        return []
    rest = word[word.index(tokens[0]) + len(tokens[0]) :]
    return [tokens, [tokens[0], rest]] if rest.isalnum() and rest != tokens[1] else [tokens]


def _closed(word: bytes) -> list[bytes]:
    """Return the other spellings of the beginning of a joined word: without its signs, and with other signs."""
    tokens = tokens_of(word)
    if len(tokens) < 2 or word.isalnum():
        return []
    return [each for sign in (b"", *SIGNS) if (each := sign.join(tokens)) != word]


def _add_begun(statistics: Statistics, clause: Clause, letters: bytes) -> bool:
    """Add a slot for the words that begin with some letters; return whether there are any."""
    words = begun(statistics, letters)
    return bool(words) and _add(statistics, clause, [words])


def _correct(statistics: Statistics, clause: Clause, word: bytes) -> None:
    """Add the corrections of a word to its clause; if there are none, words that begin, or have a part that begins, as
    the word does but for errors."""
    found = [each for each in corrections(statistics, word, COMPARED, ()) if _is_alike(word, each[0], each[4])]
    add_expansions(clause, found[:CORRECTED_MAX], statistics.objects)
    if len(clause.slots) > 1:
        return
    edits = min(edits_of_beginning(len(word.decode())), EDITS_MAX)
    likely = [each for each in likeliest_beginnings(statistics, word, edits, ()) if _is_alike(word, each[0], each[2])]
    _add_misspelt(statistics, clause, likely)


def _add_misspelt(statistics: Statistics, clause: Clause, likely: list[Beginning]) -> None:
    add_misspelt(clause, likely, clause.weight, statistics.objects, LIKELIEST, LIKELIEST_SHARES)
    if likely:
        clause.holders = max(clause.holders, 1)


def _composed(statistics: Statistics, word: str) -> Piece:
    """Return the words that a word becomes when its last syllable is complete: those that most objects hold."""
    return most_held_words(
        (each, row)
        for composed in composed_of(word)
        for start in composed.starts()
        for each, row, _ in statistics.beginnings(start.encode(), 0)
        if composed.holds(each.decode())
    )


def _correct_without_apostrophe(statistics: Statistics, clause: Clause, text: str) -> None:
    """Add the corrections of a word that lacks an apostrophe, which is no error beside the others."""
    taken: set[bytes] = set()
    for word in with_apostrophes(text):
        found = [
            each
            for each in corrections(statistics, word, COMPARED, taken)
            if b"'" in each[0] and each[4] <= edits_allowed(len(text))
        ]
        taken.update(each[0] for each in found)
        add_expansions(clause, found[:CORRECTED_MAX], statistics.objects)


def _is_alike(word: bytes, other: bytes, edits: int) -> bool:
    """Return whether a word differs from another one, or from parts of it, only by errors in letters: its digits and
    its short tokens are the same.

    Args:
        edits: the number of errors; more than the lengths of the other tokens allow are refused.
    """
    typed, tokens = tokens_of(word), tokens_of(other)
    for start in range(len(tokens) - len(typed) + 1):
        pairs = [pair for pair in zip(typed, tokens[start : start + len(typed)], strict=True) if pair[0] != pair[1]]
        if all(_is_mistyped(each, word) for pair in pairs for each in pair):
            return edits <= sum(edits_allowed(len(one.decode())) for one, _ in pairs)
    return False


def _is_mistyped(token: bytes, word: bytes) -> bool:
    """Return whether a token of a word may have errors."""
    text = token.decode()
    least = BESIDE_DIGITS_MIN if any(map(str.isdigit, word.decode())) else EDITED_LETTERS_MIN
    return text.isalpha() and len(text) >= least


def _itself(statistics: Statistics, piece: bytes, *, may_correct: bool) -> Piece:
    """Return a piece of a word, if an object holds it; else its corrections, if `may_correct`."""
    if statistics.held([piece]):
        return (piece,)
    return tuple(each[0] for each in corrections(statistics, piece, CORRECTED_MAX, ())) if may_correct else ()
