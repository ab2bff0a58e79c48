"""The families of a query's terms, with the rows of their words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sonicpy._native.clauses import other_words
from sonicpy._native.plan import BRINGS, Clause, add_forms
from sonicpy._native.term_rows import TermInfo, held_forms, held_words
from sonicpy._native.terms import Terms
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.numbers import same_numbers
from sonicpy.index.search.statistics import Statistics
from sonicpy.lexer.variants import spellings

HAN_OR_KANA = 0xE3
"""The first byte of a letter of Han or kana in UTF-8, at least."""
PAIR_LETTERS, PAIR_BYTES_MAX = 2, 8
LIKE_LETTERS, SHORT_FORM = 3, 4
"""A short form of a word that no object holds, of at most the second number of letters, surely begins with the first number
of its letters."""
EXPANDED_WORDS = 16
"""Maximum of words of a query that are expanded: each is compared with all pending words, and a line holds
thousands."""


HeldForms = dict[int, list[tuple[bytes, TermInfo]]]
"""By the number of a term, other words that objects hold, each with its row."""


class Families(NamedTuple):
    """The terms of a query and the other words that they find.

    Attributes:
        rows: of the terms.
        words: they surely find these.
        doubtful: they may, see `Family`.
        besides: other words that were asked for and that objects hold, each with its row.
    """

    rows: list[TermInfo | None]
    words: HeldForms
    doubtful: HeldForms
    besides: list[tuple[bytes, TermInfo]]


def families_of(
    statistics: Statistics, terms: Terms, matching: Matching | None, besides: Sequence[bytes] = ()
) -> Families:
    """Return the rows of the terms of a query, and the other words that they find.

    Special words, and parts of runs without blanks, have no family, except numbers with another spelling; stop
    words have one if a query holds nothing else.

    Args:
        matching: the matching of families; None: no word has one.
        besides: other words whose rows are needed: one call reads the rows of a query from the disk.
    """
    words, doubtful = other_words(terms, matching, statistics.family, same_numbers, spelled)
    asked = [*terms.words]
    sure = len(asked)
    for found in words.values():
        asked += found
    perhaps = len(asked)
    for found in doubtful.values():
        asked += found
    end = len(asked)
    rows = statistics.rows([*asked, *besides] if besides else asked)
    forms = held_forms(words, rows, sure) if words else {}
    others = held_forms(doubtful, rows, perhaps) if doubtful else {}
    for number in [each for each in forms if rows[each] is None]:
        _doubt(number, terms.words[number], forms, others)
    return Families(
        rows[:sure] if len(rows) > sure else rows,
        forms,
        others,
        held_words(list(besides), rows[end:], live=statistics.live) if besides else [],
    )


def _doubt(number: int, typed: bytes, forms: HeldForms, doubtful: HeldForms) -> None:
    """Make short forms of a word that no object holds doubtful, if they share only one or two letters with it: the word is as
    likely another one with a typing error (`seing` is no form of `se`)."""
    held = forms.pop(number)
    unlike = [each for each in held if _is_unlike(typed.decode(), each[0].decode())]
    alike = [each for each in held if each not in unlike]
    if alike:
        forms[number] = alike
    if unlike:
        doubtful[number] = [*doubtful.get(number, ()), *unlike]


def _is_unlike(typed: str, form: str) -> bool:
    if len(form) > SHORT_FORM or not (typed.isalpha() and typed.isascii() and form.isascii()):
        return False
    return typed[:LIKE_LETTERS] != form[:LIKE_LETTERS]


def spelled(term: bytes) -> tuple[bytes, ...]:
    """Return the other spellings of one or two letters of Han or kana."""
    letters = term.decode() if term[0] >= HAN_OR_KANA and len(term) <= PAIR_BYTES_MAX else ""
    return tuple(map(str.encode, spellings(letters))) if 0 < len(letters) <= PAIR_LETTERS else ()


def add_doubtful(clauses: Iterable[Clause], doubtful: HeldForms, objects: int) -> None:
    """Add doubtful forms to the clauses of their terms, but for stop words that only add to scores."""
    for clause in clauses if doubtful else ():
        if clause.term in doubtful and clause.role & BRINGS:
            add_forms(clause, doubtful[clause.term], objects)
