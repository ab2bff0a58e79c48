"""Words written together or apart: `iphone 15` and `iPhone15`, `basketball` and `basket ball`.

If objects hold another spelling of a word, its clause gets a second slot with this spelling, at a lower weight. If they
hold several words of the query written together, the clauses of these words get that word. If they hold a word written
apart, its clause becomes one for each piece: an object that holds the joined word, or every piece, holds all of these.
"""

import re
from collections.abc import Container, Iterator
from itertools import islice

from sonicpy._native import neighbours
from sonicpy._native.bm25 import idf
from sonicpy._native.clauses import HELD_PIECE_LETTERS_MIN
from sonicpy._native.neighbours import DIGITS_TOGETHER_MAX, TERMS_MAX
from sonicpy._native.parts import tokens_of
from sonicpy._native.plan import ADDS, BRINGS, REQUIRED, Clause, Slot
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import PART, Terms
from sonicpy._native.word_break import is_unspaced_letter
from sonicpy.index.search.accents import ZWNJ
from sonicpy.index.search.begun_words import folded
from sonicpy.index.search.numbers import groups_of, same_numbers
from sonicpy.index.search.planners.ways import LOOKUPS_MAX, Evidence, Piece, Ways
from sonicpy.index.search.statistics import Statistics
from sonicpy.lexer.endings import HANGUL_FIRST, HANGUL_LAST

ARABIC_FIRST, ARABIC_LAST = 0xD8, 0xDD
"""The first bytes of letters of Arabic in UTF-8."""
SEPARATOR = ZWNJ.encode()
LETTERS_MIN, LETTERS_MAX, CODE_LETTERS_MAX = 4, 24, 40
"""The fewest and the most letters of a word that is cut, and the most letters and digits of one with digits; in Hangul,
the fewest are three.
"""
PAIRS_BYTES_MAX = 63
"""The most bytes of a word that is cut into two in all ways."""
JOINED_PIECES_MAX = 64
"""The most pieces into which a word is cut at its joints."""
NUMBER_DIGITS_MIN = 7
"""The fewest digits of a number, or a code, that is cut into any pieces although objects hold it."""
PIECE_LETTERS_MIN = 2
PIECES_MAX = 4
SPELLINGS_MAX = 8
"""The most spellings of one piece: those that most objects hold."""
HELD_SYLLABLES_MIN = 2
"""The fewest syllables of Hangul in each of two words into which a word is cut although objects hold it."""
SHORT_LETTERS, SHORT_SHARE = 2, 1 / 1_000
"""A piece of this number of letters must be in this share of all objects, as `in`, `an` and `zu` are: most other words
that could be cut off such a piece are misspelt (`sayng` is not `say ng`).
"""
PART_SHARE = SHORT_SHARE / 2
"""The same among the objects of a part of a bucket: a word that is common in the bucket may be rarer in a part."""
RARE_MIN, RARE_SHARE = 4, 1 / 16
"""A single letter is cut off a word only if at most this number of objects, or this share of them, hold the letter."""
SIGNS = re.compile(rb"[^\w\x80-\xff]+|_+")
SIZES = re.compile(rb"\d+(?:x\d+)+")
TIMES: Piece = (b"x",)
VERSION = re.compile(rb"[a-z]{2,}\d+")
SHARE = 0.5
"""The share of the typed spelling's weight that the other one has."""


def other_spellings(terms: Terms) -> list[bytes]:
    """Return the other spellings of the words of a query: together, apart, or as numbers."""
    found: dict[bytes, None] = {}
    if len(terms) <= TERMS_MAX + terms.flags.count(PART):
        together = neighbours.words_together(terms)
        if not all(map(bytes.isascii, terms.words)):
            add_folded(together, terms.words)
        found.update(dict.fromkeys(together))
        for word, flags in zip(terms.words, terms.flags, strict=True):
            if not flags & PART:
                found.update(
                    dict.fromkeys([*same_numbers(word), *(each for way in _ways_at_joints(word) for each in way)])
                )
                found.update(dict.fromkeys(each for pair in [*_pairs(word), *_letters_off(word)] for each in pair))
    return list(found)


# -- written together -------------------------------------------------------------------------------------------------


def add_folded(places: dict[bytes, tuple[int, ...]], words: list[bytes]) -> None:
    """Add variants to the words that neighbours make together: without accents, and in Persian with the sign between
    the parts.

    Args:
        places: word -> the places of its parts in `words`.
    """
    for word, numbers in list(places.items()):
        places.setdefault(folded(word), numbers)
        if len(numbers) == 2 and ARABIC_FIRST <= word[0] <= ARABIC_LAST:
            places.setdefault(SEPARATOR.join([words[number] for number in numbers]), numbers)


def write_together(
    clauses: list[Clause], places: dict[bytes, tuple[int, ...]], held: list[tuple[bytes, TermInfo]], objects: int
) -> None:
    """Add the words that neighbours make together to the clauses of the neighbours.

    Args:
        places: the result of `words_together` in _native/planner.pyx.
        held: those of the words in `places` that objects hold, each with its row.
        objects: the number of all objects.
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


def find_pieces(statistics: Statistics, cuttable: list[Clause], *, folds: bool, partly: bool) -> dict[int, list[Piece]]:
    """Return the pieces into which terms can be cut, so that objects hold each piece, by the number of the term.

    A word is cut at its joints; a number into groups of digits; a long number, or a word that no object holds, into
    any words that objects hold; a code, into two; one that few objects hold, into two long words. One object holds all
    pieces of a word that no object holds as a whole.

    Args:
        cuttable: the clauses of the terms, see `cuttable_clauses`.
        folds: a piece may differ in accents from the words of objects.
        partly: if no object holds all pieces of a word, pieces that different objects hold are returned.
    """
    found: dict[int, list[Piece]] = {}
    for clause in cuttable:
        word = clause.slots[0].words[0]
        if clause.holders and not clause.is_expandable and word.decode().isalpha():
            continue
        pieces = _pieces(statistics, word, is_held=clause.holders > 0, folds=folds, partly=partly)
        if pieces:
            found[clause.term] = pieces
    return found


def _pieces(statistics: Statistics, word: bytes, *, is_held: bool, folds: bool, partly: bool) -> list[Piece]:
    cut = _ways(statistics, word, folds=folds)
    if not is_held:
        is_plain = word.decode().isalpha() and not is_hangul(word.decode())
        least = SHORT_LETTERS + 1 if is_plain else 1  # most objects hold `in` beside any other word: that proves little
        found = next(_held_ways(statistics, word, cut, Evidence(statistics), least=least), [])
        if found or not partly:
            return found
    for found in _held_at_joints(statistics, word):
        return found
    if is_held and not has_many_digits(word):
        return _cut_in_two(statistics, word)
    return next(cut.in_order(), [])


def _held_ways(
    statistics: Statistics, word: bytes, cut: Ways, evidence: Evidence, *, least: int = 1
) -> Iterator[list[Piece]]:
    """Yield the ways to cut a word so that one object holds all pieces, the likeliest first.

    Args:
        cut: the ways to cut it into any pieces.
        least: the fewest letters of a piece in all of these ways but the first.
    """
    yield from filter(evidence.is_for, _held_at_joints(statistics, word))
    yield from filter(evidence.is_for, islice(cut.in_order(), 1))
    yield from cut.in_order(evidence, least)
    yield from filter(evidence.is_for, _letters_cut_off(statistics, word))


def _held_at_joints(statistics: Statistics, word: bytes) -> Iterator[list[Piece]]:
    """Yield the ways to cut a word at its joints whose pieces objects hold."""
    for pieces in _ways_at_joints(word):
        if len(statistics.held(list(dict.fromkeys(pieces)))) == len(set(pieces)):
            yield [(piece,) for piece in pieces]


def ways_with_evidence(statistics: Statistics, word: bytes, *, folds: bool) -> list[list[Piece]]:
    """Return the ways to cut a word, and the beginnings of ways, for which a part of a bucket has evidence: up to the
    first way that the whole bucket accepts, whatever the other parts hold.

    Args:
        folds: as in `find_pieces`.
    """
    evidence = Evidence(statistics, 2 * LOOKUPS_MAX)  # some ways may be unlikely in the whole bucket
    cut = _ways(statistics, word, folds=folds, short_share=PART_SHARE)
    for way in _held_ways(statistics, word, cut, evidence):
        if not word.isalpha() or all(len(piece[0].decode()) > SHORT_LETTERS for piece in way):
            break
    return evidence.found


def has_many_digits(word: bytes) -> bool:
    """Return whether a word is a long number or a long code."""
    return len(word) >= NUMBER_DIGITS_MIN and sum(map(str.isdigit, word.decode())) >= NUMBER_DIGITS_MIN


def _ways_at_joints(word: bytes) -> list[list[bytes]]:
    """Return the ways to cut a word at its joints, or at its signs alone, and a number into groups of digits; without
    the `x` between two numbers, and with the `v` that versions have (vue3: vue v3).
    """
    if word.isalpha():
        return []
    tokens = tokens_of(word)
    sized = SIZES.fullmatch(word)
    version = [tokens[0], b"v" + tokens[1]] if VERSION.fullmatch(word) else []
    unsized = [token for token in tokens if token != b"x"] if sized else []
    ways = [tokens, SIGNS.split(word), unsized, version, groups_of(word)]
    likely = [way for way in ways if 0 < len(way) <= JOINED_PIECES_MAX and way != [word] and b"" not in way]
    return [way for place, way in enumerate(likely) if way not in likely[:place]]


def _letters_cut_off(statistics: Statistics, word: bytes) -> Iterator[list[Piece]]:
    """Yield a rare single letter and the word behind or before it, which may be one, too (email: e, mail; usbc: usb, c;
    rb: r, b).
    """
    pairs = _letters_off(word)
    if not pairs or not statistics.may_hold([word[1:], word[:-1]]):
        return
    for pair in pairs:
        rows = dict(statistics.held(list(pair)))
        letters = [row for piece, row in rows.items() if len(piece) == 1]
        if len(rows) == len(set(pair)) and all(is_rare(row.df, statistics.objects) for row in letters):
            yield [(piece,) for piece in pair]


def _letters_off(word: bytes) -> list[tuple[bytes, bytes]]:
    """Return a word of ASCII letters without its first letter, and without its last one. A letter beside itself is none
    of them: a list of holders has no counts.
    """
    is_cut = PIECE_LETTERS_MIN <= len(word) <= LETTERS_MAX and word.isalpha() and word[:1] != word[1:]
    return [(word[:1], word[1:]), (word[:-1], word[-1:])] if is_cut else []


def is_rare(holders: int, objects: int) -> bool:
    """Return whether few objects hold a single letter, unlike `a` or `i`, which are words."""
    return holders <= max(RARE_MIN, RARE_SHARE * objects)


def _cut_in_two(statistics: Statistics, word: bytes) -> list[Piece]:
    """Return two words of which a word consists; of several ways, the one with the longest shorter word."""
    pairs = _pairs(word)
    if not pairs:
        return []
    known = statistics.may_hold([each for pair in pairs for each in pair])
    held = {each for each, _ in statistics.held(known)}
    ways = [pair for pair in pairs if held.issuperset(pair)]
    return [(piece,) for piece in max(ways, key=lambda pair: min(map(len, pair)))] if ways else []


def _pairs(word: bytes) -> list[tuple[bytes, bytes]]:
    """Return the pairs of words that a word may consist of although objects hold it: letters, or a code."""
    if len(word) > PAIRS_BYTES_MAX:
        return []
    text = word.decode()
    if text.isalpha():
        least = HELD_SYLLABLES_MIN if is_hangul(text) else HELD_PIECE_LETTERS_MIN
    elif text.isalnum() and not text.isdigit() and len(text) <= LETTERS_MAX:
        least = 1
    else:
        return []
    ends = range(least, len(text) - least + 1) if not is_unspaced_letter(text[:1].encode()) else ()
    return [(text[:end].encode(), text[end:].encode()) for end in ends]


def _ways(statistics: Statistics, word: bytes, *, folds: bool, short_share: float = SHORT_SHARE) -> Ways:
    """Return the ways to cut a word into words that objects hold.

    Args:
        folds: pieces may differ from the word in accents.
        short_share: as in `_first_pieces`.
    """
    text = folded(word).decode()
    typed = None if folds else word.decode()
    most = (PIECES_MAX if text.isalpha() else DIGITS_TOGETHER_MAX) if may_be_cut(text) else 0
    return Ways(
        text,
        most,
        lambda rest: _first_pieces(statistics, text, rest, typed, with_letter=False, short_share=short_share),
    )


def cuts(
    statistics: Statistics, text: str, typed: str | None, *, with_letter: bool = False
) -> Iterator[dict[str, tuple[int, list[Piece]]]]:
    """Yield the ways to cut the beginning of a word into one piece, into two, and so on: the rest of the word -> (the
    number of letters of the shortest piece, the pieces), of several ways the one whose shortest piece is longest.

    Args:
        text, typed: as in `_first_pieces`.
        with_letter: one piece may be a rare single letter.
    """
    ways: dict[str, tuple[int, list[Piece]]] = {text: (len(text), [])}
    for _ in range(PIECES_MAX if text.isalpha() else DIGITS_TOGETHER_MAX):
        further: dict[str, tuple[int, list[Piece]]] = {}
        for rest, (shortest, pieces) in ways.items():
            for size, piece in _first_pieces(statistics, text, rest, typed, with_letter=with_letter and shortest > 1):
                least, behind = min(shortest, size), rest[size:]
                if behind not in further or further[behind][0] < least:
                    further[behind] = least, [*pieces, piece]
        yield further
        ways = further


def _first_pieces(
    statistics: Statistics,
    text: str,
    rest: str,
    typed: str | None,
    *,
    with_letter: bool,
    short_share: float = SHORT_SHARE,
) -> Iterator[tuple[int, Piece]]:
    """Yield the pieces with which the rest of a word may begin, each with its number of letters.

    Args:
        text: the whole word.
        rest: the end of `text` that the pieces begin.
        typed: the word as typed, which the pieces match in accents, too; None: pieces may differ in accents.
        with_letter: a rare single letter is long enough.
        short_share: the share of all objects that hold a piece of SHORT_LETTERS.
    """
    start = len(text) - len(rest)
    by_size: dict[int, list[tuple[bytes, TermInfo]]] = {}
    for word, row, size in statistics.leading(rest.encode()):
        is_same = typed is None or word == typed[start : start + size].encode()
        if is_same and _may_follow(text, size, len(rest) - size, with_letter=with_letter):
            by_size.setdefault(size, []).append((word, row))
    for size, words in by_size.items():
        words.sort(key=lambda each: (-each[1].df, each[0]))
        is_letter = size == 1 and with_letter
        holders, objects = sum(row.df for _, row in words), statistics.objects
        if is_rare(holders, objects) if is_letter else _is_likely(text, size, holders, short_share * objects):
            yield size, tuple(word for word, _ in words[:SPELLINGS_MAX])


def _may_follow(text: str, size: int, behind: int, *, with_letter: bool) -> bool:
    """Return whether a piece of `size` letters, and the `behind` letters after it, are long enough.

    A single digit is long enough; a single letter is `with_letter`, beside digits, and at the end of a word in Hangul.
    """
    if size == len(text):
        return False
    least = 1 if with_letter or not text.isalpha() else PIECE_LETTERS_MIN
    if is_hangul(text):
        return size >= least or not behind
    return size >= least and not 0 < behind < least


def _is_likely(text: str, size: int, holders: int, least: float) -> bool:
    """Return whether a piece of a word is long, or common among objects.

    Args:
        text: the whole word.
        size: the number of letters of the piece.
        holders: the number of objects that hold the piece.
        least: the fewest objects that hold a piece that is common.
    """
    return not text.isalpha() or size > SHORT_LETTERS or is_hangul(text) or holders >= least


def is_hangul(text: str) -> bool:
    """Return whether a word begins with a syllable of Hangul, which spells two letters or three."""
    return HANGUL_FIRST <= ord(text[0]) <= HANGUL_LAST


def words_to_cut(terms: Terms) -> list[bytes]:
    """Return the words of a query that may be cut into pieces; [] for a sentence."""
    words = [word for word, flags in zip(terms.words, terms.flags, strict=True) if not flags & PART]
    return words if len(words) <= TERMS_MAX else []


def rests_of(word: bytes) -> list[bytes]:
    """Return the letters with which pieces of a word may begin: the word without accents, and each rest of it."""
    text = folded(word).decode()
    return [text[start:].encode() for start in range(len(text))] if may_be_cut(text) else []


def may_be_cut(text: str) -> bool:
    """Return whether a word without accents may be several words written together."""
    return (  # the text is empty if the word was accents, or signs that folding drops
        text.isalnum()
        and LETTERS_MIN - is_hangul(text) <= len(text) <= (LETTERS_MAX if text.isalpha() else CODE_LETTERS_MAX)
        and not is_unspaced_letter(text[0].encode())
    )


def write_apart(
    statistics: Statistics,
    clauses: list[Clause],
    pieces: dict[int, list[Piece]],
    held: Container[int],
    last: Clause | None,
    *,
    are_needed: bool = False,
) -> list[Clause]:
    """Return the clauses of a plan in which each term with pieces is replaced by a clause for each piece.

    Where a query has one word that brings objects, an object must hold all pieces; otherwise objects with one piece are
    found, too, behind all others.

    A single letter and the word beside it count only together (a `mail` is no `email`).

    Args:
        held: the numbers of the terms that objects held, as a word or in a near form, before other words were looked
            for: a plan must not depend on how far that went.
        last: the clause of the last word. A last word of letters alone may well be unfinished, so its pieces rank as
            completions do (cels: celsius before ce and ls). The two words of a held word rank so, too.
        are_needed: an object has to hold all pieces of an identifier also beside other words. Otherwise it need not,
            because perhaps none does (iphone 14, and 15 watches).
    """
    if not pieces:
        return clauses
    is_alone = sum(clause.role & BRINGS != 0 for clause in clauses) == 1
    found: list[Clause] = []
    for clause in clauses:
        apart = pieces.get(clause.term) if clause.role & BRINGS else None
        is_plain = clause.slots[0].words[0].isalpha()
        how = "completion" if clause is last and is_plain else "exact"
        if apart and is_plain and min(len(word) for piece in apart for word in piece) == 1:
            found.append(_in_two(statistics, clause, apart, how))
            continue
        if apart and clause.term in held and clause.slots[0].words[0].decode().isalpha():
            found.append(_in_two(statistics, clause, apart, "completion"))
            continue
        if apart:
            needs = are_needed or is_alone
            found += _apart(statistics, clause, apart, how, needs=needs, is_alone=is_alone)
        else:
            found.append(clause)
    return found


def _apart(
    statistics: Statistics, clause: Clause, pieces: list[Piece], how: str, *, needs: bool, is_alone: bool
) -> Iterator[Clause]:
    rows = dict(statistics.held(list(dict.fromkeys(word for piece in pieces for word in piece))))
    first, *others = (_weighed(slot, 1 / len(pieces)) for slot in clause.slots)
    role = clause.role | (REQUIRED if is_alone else 0)
    weight = clause.weight / len(pieces)
    is_size = SIZES.fullmatch(clause.slots[0].words[0]) is not None
    for piece in pieces:
        holders = min(sum(rows[word].df for word in piece), statistics.objects)
        own = Slot(piece, SHARE * min(weight, idf(statistics.objects, holders)), how=how)
        its = ADDS if is_size and piece == TIMES else role  # objects may have another sign: 2×4
        yield Clause(clause.term, its, weight, [first, own, *others], holders=max(clause.holders, int(needs)))


def _in_two(statistics: Statistics, clause: Clause, pieces: list[Piece], how: str) -> Clause:
    """Return the clause of a word with a slot for objects that hold both words of which it consists.

    Args:
        pieces: the spellings of each of the two words.
        how: the kind of the new slot, as in `Slot`.
    """
    words = tuple(word for piece in pieces for word in piece)
    holders = min(row.df for _, row in statistics.held(list(words)))
    own = Slot(
        words,
        SHARE * min(clause.weight, idf(statistics.objects, holders)),
        how=how,
        together=tuple(map(len, pieces)),
    )
    kinds = [slot.how for slot in clause.slots]
    place = 1 if how == "exact" else kinds.index("correction") if "correction" in kinds else len(kinds)
    slots = [*clause.slots[:place], own, *clause.slots[place:]]
    holders = max(clause.holders, 1)
    return Clause(clause.term, clause.role, clause.weight, slots, is_expandable=clause.is_expandable, holders=holders)


def _weighed(slot: Slot, share: float) -> Slot:
    return Slot(slot.words, share * slot.weight, share * slot.exact_weight, slot.how, slot.edits, slot.together)
