"""Runs of letters without blanks: an object with a word that begins with the typed letters comes before one that has
them inside another word (京都 in 京都府立, and in 東京都庁).
"""

from sonicpy._native.bm25 import idf
from sonicpy._native.plan import ADDS, Clause, Slot
from sonicpy.index.search.statistics import Statistics

BEGUN_MAX = 2_000
"""The most words that begin with the typed letters."""
BEGINNING_SHARE = 3.0
"""The weight, as a multiple of that of the typed letters, of a word that begins with them: high enough to decide the
order of objects of any length.
"""


def first_letters(statistics: Statistics, runs: list[Clause]) -> list[Clause]:
    """Return clauses that add to the scores of objects whose words begin with the runs of a query.

    Args:
        runs: the clauses of the runs.
    """
    found: list[Clause] = []
    for clause in runs:
        word = clause.slots[0].words[0]
        begun = [(each, row) for each, row in statistics.completed(word, BEGUN_MAX) if each != word]
        if begun:
            holders = min(sum(row.df for _, row in begun), statistics.objects)
            weight = BEGINNING_SHARE * min(clause.weight, idf(statistics.objects, holders))
            slot = Slot(tuple(each for each, _ in begun), weight, how="completion")
            found.append(Clause(clause.term, ADDS, weight, [slot], holders=clause.holders))
    return found
