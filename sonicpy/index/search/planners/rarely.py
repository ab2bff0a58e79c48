"""The steps of a plan that few queries need, for the plan of words in native code."""

from collections.abc import Sequence

from sonicpy._native.plan import Clause
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.numbers import same_numbers
from sonicpy.index.search.planners.completions import add_corrections, complete_address
from sonicpy.index.search.planners.forms import spelled
from sonicpy.index.search.planners.runs import first_letters
from sonicpy.index.search.planners.spacing import Piece, add_folded, find_pieces, write_apart, write_together
from sonicpy.index.search.planners.stand_ins import StandIn, note_holders, stand_ins_of, with_stand_ins
from sonicpy.index.search.statistics import Statistics
from sonicpy.index.search.synonym_matches import Matches


class Rarely:
    """The steps of a plan that few queries need; see `_Rarely` in _native/planner.pyi."""

    same_numbers = staticmethod(same_numbers)
    spelled = staticmethod(spelled)
    add_folded = staticmethod(add_folded)
    write_together = staticmethod(write_together)
    pieces = staticmethod(find_pieces)
    first_letters = staticmethod(first_letters)
    addresses = staticmethod(complete_address)
    corrections = staticmethod(add_corrections)

    @staticmethod
    def stand_ins(
        statistics: Statistics, matches: Matches, matching: Matching | None, clauses: list[Clause]
    ) -> list[StandIn]:
        """Return the substitutes of terms of the query, and note the number of their holders in the clauses of these
        terms.
        """
        found = stand_ins_of(statistics, matches, matching)
        note_holders(clauses, found)
        return found

    @staticmethod
    def apart(
        statistics: Statistics,
        clauses: list[Clause],
        pieces: dict[int, list[Piece]],
        last: Clause | None,
        others: Sequence[StandIn],
    ) -> list[Clause]:
        """Return the clauses of a plan with the pieces of words that may be written apart, and with substitutes."""
        return with_stand_ins(write_apart(statistics, clauses, pieces, last), others, statistics.objects)
