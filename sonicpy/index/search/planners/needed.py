"""Numbers are required only where some object holds them beside another word of the query.

`iphone 15 case` finds cases of an iPhone where other objects hold 15 (pencils), and none an iPhone 15. Identifiers stay
required: no other object is meant.
"""

from collections import Counter
from collections.abc import Iterable

from sonicpy._native.plan import BRINGS, REQUIRED, Clause, Slot
from sonicpy.index.search.statistics import Statistics

WORDS_MAX = 200
"""The most words that are looked for beside numbers: of a query with more, all numbers stay required."""
SURE = ("exact", "form")
"""The kinds of words that count as a number of the query: a completion of it is another number."""
ANY_OTHER = b""
"""The name of the group of all words that are not required."""


def needed_together(statistics: Statistics, clauses: list[Clause]) -> None:
    """Make the required numbers of a query not required, if no object holds all required words, and one of the others
    that objects hold, where there is one. The pieces of a word stay required, and are none of the others: parts of a
    bucket may hold them apart.
    """
    needed = [clause for clause in clauses if clause.role & REQUIRED]
    numbers = [clause for clause in needed if clause.slots[0].words[0].isdigit()]
    if not numbers:
        return
    times = Counter(clause.term for clause in clauses if clause.role & BRINGS)
    if len(times) < 2:
        return
    groups = [_words(slot for slot in clause.slots if slot.how in SURE) for clause in needed]
    others = [
        clause
        for clause in clauses
        if clause.role & BRINGS and not clause.role & REQUIRED and clause.holders and times[clause.term] == 1
    ]
    if others:
        groups.append([ANY_OTHER, *_words(slot for clause in others for slot in clause.slots)])
    if len(groups) < 2 or any(len(group) > WORDS_MAX for group in groups):
        return
    if not statistics.holds_beside(groups):
        for clause in numbers:
            clause.role &= ~REQUIRED


def _words(slots: Iterable[Slot]) -> list[bytes]:
    """Return the words of slots, each once, without those that count only together."""
    return list(dict.fromkeys(word for slot in slots if not slot.together for word in slot.words))
