"""Numbers and identifiers are required only beside other words of the query that some object holds with them.

`iphone 15 case` finds cases of an iPhone where other objects hold 15 (pencils), and none an iPhone 15.
"""

from sonicpy._native.plan import BRINGS, REQUIRED, Clause
from sonicpy.index.search.statistics import Statistics

WORDS_MAX = 200
"""The most words that are looked for beside numbers: of a query with more, all numbers stay required."""


def needed_together(statistics: Statistics, clauses: list[Clause]) -> None:
    """Make the required words of a query not required, if no object holds all of them, and another word that brings
    objects, where there is one. The pieces of a single word stay required.
    """
    if len({clause.term for clause in clauses if clause.role & BRINGS}) < 2:
        return
    needed = [clause for clause in clauses if clause.role & REQUIRED]
    others = [clause for clause in clauses if clause.role & BRINGS and not clause.role & REQUIRED]
    groups = [_words([clause]) for clause in needed]
    if others:
        groups.append(_words(others))
    if all(len(group) <= WORDS_MAX for group in groups) and not statistics.holds_together(groups):
        for clause in needed:
            clause.role &= ~REQUIRED


def _words(clauses: list[Clause]) -> list[bytes]:
    """Return the typed word of the first clause, and all other words that stand for one of the clauses."""
    return list(dict.fromkeys(word for clause in clauses for slot in clause.slots for word in slot.words))
