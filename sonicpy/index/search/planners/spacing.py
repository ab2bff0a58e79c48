"""Words written together or apart: `iphone 15` and `iPhone15`, `basketball` and `basket ball`.

A clause whose word is held in another spelling gets a second slot of words that count as the word itself, and less. A
word written together replaces several clauses. A clause whose word is written apart becomes several, and an object
that holds the joined word, or each piece, holds all of them.
"""

from collections.abc import Iterator, Sequence

from sonicpy._native import neighbours
from sonicpy._native.bm25 import idf
from sonicpy._native.neighbours import DIGITS_TOGETHER_MAX, TERMS_MAX
from sonicpy._native.parts import tokens_of
from sonicpy._native.plan import BRINGS, REQUIRED, Clause, Slot
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import PART, Terms
from sonicpy._native.word_break import is_unspaced_letter
from sonicpy.index.search.numbers import groups_of, same_numbers
from sonicpy.index.search.statistics import Statistics

LETTERS_MIN, LETTERS_MAX = 4, 24
"""A word without joints that no object holds is cut if it has this number of letters or digits."""
PIECE_LETTERS_MIN = 2
PIECES_MAX = 3
SHORT_LETTERS, SHORT_SHARE = 2, 1 / 1_000
"""This share of all objects holds a piece of this number of letters, as `in`, `an` and `zu`: most other words that
could be cut so are misspelt (`sayng` is not `say ng`)."""
SHARE = 0.5
"""The share of the typed spelling's weight that the other one has."""


def other_spellings(terms: Terms) -> list[bytes]:
    """Return the words that those of a query may be written as together, apart, or as numbers."""
    found: dict[bytes, None] = {}
    if len(terms) <= TERMS_MAX + terms.flags.count(PART):
        found.update(dict.fromkeys(neighbours.words_together(terms)))
        for word, flags in zip(terms.words, terms.flags, strict=True):
            if not flags & PART:
                found.update(dict.fromkeys([*tokens_of(word), *groups_of(word), *same_numbers(word), *_cuts(word)]))
    return list(found)


# -- written together -------------------------------------------------------------------------------------------------


def write_together(
    clauses: list[Clause], places: dict[bytes, tuple[int, ...]], held: list[tuple[bytes, TermInfo]], objects: int
) -> None:
    """Add to the clauses of neighbours the words that they make together.

    Args:
        places: of `words_together` in _native/planner.pyx.
        held: those of its words that objects hold, each with its row.
        objects: how many there are.
    """
    by_term = {clause.term: clause for clause in clauses} if held else {}
    for word, row in held:
        for number in places[word]:
            if number in by_term:
                clause = by_term[number]
                weight = SHARE * min(clause.weight, idf(objects, row.df))
                clause.slots.insert(1, Slot((word,), weight))
                clause.holders = max(clause.holders, row.df)


# -- written apart ----------------------------------------------------------------------------------------------------


def find_pieces(statistics: Statistics, cuttable: list[Clause]) -> dict[int, list[bytes]]:
    """Return the pieces of terms that objects hold apart, by the number of the term.

    A word is cut at its joints; a number into groups of digits; a word that no object holds, wherever that leaves
    words that objects hold.

    Args:
        cuttable: the clauses of the terms, see `cuttable_clauses`.
    """
    found: dict[int, list[bytes]] = {}
    for clause in cuttable:
        pieces = _pieces(statistics, clause.slots[0].words[0], is_held=clause.holders > 0)
        if pieces:
            found[clause.term] = pieces
    return found


def _pieces(statistics: Statistics, word: bytes, *, is_held: bool) -> list[bytes]:
    for pieces in () if word.isalpha() else (tokens_of(word), groups_of(word)):
        if pieces not in ([], [word]) and len(statistics.held(list(dict.fromkeys(pieces)))) == len(set(pieces)):
            return pieces
    return [] if is_held else _cut(statistics, word)


def _cut(statistics: Statistics, word: bytes) -> list[bytes]:
    """Return the fewest words that a word consists of, and that objects hold."""
    text = word.decode()
    if not _may_be_cut(text):
        return []
    least, most = (1, DIGITS_TOGETHER_MAX) if text.isdigit() else (PIECE_LETTERS_MIN, PIECES_MAX)
    begun: list[tuple[list[str], str]] = [([], text)]
    for _ in range(most):
        begun = [
            ([*pieces, rest[:size]], rest[size:])
            for (pieces, rest), sizes in zip(begun, _held_beginnings(statistics, begun, least), strict=True)
            for size in sizes
        ]
        whole = [pieces for pieces, rest in begun if not rest and (text.isdigit() or _is_likely(statistics, pieces))]
        if whole:
            best = max(whole, key=lambda pieces: min(map(len, pieces)))
            return [piece.encode() for piece in best]
    return []


def _is_likely(statistics: Statistics, pieces: list[str]) -> bool:
    """Return whether the short ones of some pieces are common words."""
    short = [piece.encode() for piece in pieces if len(piece) <= SHORT_LETTERS]
    common = SHORT_SHARE * statistics.objects
    return all(row.df >= common for _, row in statistics.held(short))


def _cuts(word: bytes) -> list[bytes]:
    """Return the words that `_cut` may ask for."""
    text = word.decode()
    if not _may_be_cut(text):
        return []
    least = 1 if text.isdigit() else PIECE_LETTERS_MIN
    return [
        text[start:end].encode()
        for start in range(len(text))
        for end in range(start + least, len(text) + 1)
        if start == 0 or start >= least
    ]


def _may_be_cut(text: str) -> bool:
    return (
        LETTERS_MIN <= len(text) <= LETTERS_MAX
        and (text.isalpha() or text.isdigit())
        and not is_unspaced_letter(text[0].encode())
    )


def _held_beginnings(statistics: Statistics, begun: Sequence[tuple[list[str], str]], least: int) -> Iterator[list[int]]:
    """Yield how many letters the words have with which each of some rests begins, and that objects hold."""
    asked = [
        [rest[:size] for size in range(least, len(rest) + 1) if not 0 < len(rest) - size < least] for _, rest in begun
    ]
    words = list(dict.fromkeys(word.encode() for words in asked for word in words))
    held = {word.decode() for word, _ in statistics.held(words)}
    for words_of_rest in asked:
        yield [len(word) for word in words_of_rest if word in held]


def write_apart(
    statistics: Statistics, clauses: list[Clause], pieces: dict[int, list[bytes]], last: Clause | None
) -> list[Clause]:
    """Return the clauses, with one for each piece instead of those whose terms have pieces.

    Where a query has one word that brings objects, an object must hold all pieces; otherwise those that hold one piece
    are found behind all others.

    Args:
        last: the word that the query ends in. If it consists of letters alone, it is unfinished as likely as written
            together, so that its pieces rank as completions do (cels: celsius before ce and ls).
    """
    if not pieces:
        return clauses
    is_alone = sum(clause.role & BRINGS != 0 for clause in clauses) == 1
    found: list[Clause] = []
    for clause in clauses:
        apart = pieces.get(clause.term) if clause.role & BRINGS else None
        how = "completion" if clause is last and clause.slots[0].words[0].isalpha() else "exact"
        found += _apart(statistics, clause, apart, how, is_alone=is_alone) if apart else [clause]
    return found


def _apart(
    statistics: Statistics, clause: Clause, pieces: list[bytes], how: str, *, is_alone: bool
) -> Iterator[Clause]:
    rows = dict(statistics.held(list(dict.fromkeys(pieces))))
    first, *others = (_weighed(slot, 1 / len(pieces)) for slot in clause.slots)
    role = clause.role | (REQUIRED if is_alone else 0)
    weight = clause.weight / len(pieces)
    for piece in pieces:
        own = Slot((piece,), SHARE * min(weight, idf(statistics.objects, rows[piece].df)), how=how)
        yield Clause(clause.term, role, weight, [first, own, *others], holders=max(clause.holders, 1))


def _weighed(slot: Slot, share: float) -> Slot:
    return Slot(slot.words, share * slot.weight, share * slot.exact_weight, slot.how, slot.edits)
