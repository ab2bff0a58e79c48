"""The steps of a plan that few queries need, for the plan of words in native code."""

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from sonicpy._native.plan import Clause
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.planners.completions import add_corrections, complete_numbers
from sonicpy.index.search.statistics import Statistics
from sonicpy.index.search.synonym_matches import Matches
from sonicpy.late import late

if TYPE_CHECKING:
    from sonicpy.index.search.planners.spacing import write_apart
    from sonicpy.index.search.planners.stand_ins import StandIn, note_holders, stand_ins_of, with_stand_ins
    from sonicpy.index.search.planners.ways import Piece
else:
    write_apart = late("sonicpy.index.search.planners.spacing", "write_apart", __name__)
    note_holders = late("sonicpy.index.search.planners.stand_ins", "note_holders", __name__)
    stand_ins_of = late("sonicpy.index.search.planners.stand_ins", "stand_ins_of", __name__)
    with_stand_ins = late("sonicpy.index.search.planners.stand_ins", "with_stand_ins", __name__)


class Rarely:
    """The steps of a plan that few queries need; see `_Rarely` in _native/planner.pyi."""

    same_numbers = staticmethod(late("sonicpy.index.search.numbers", "same_numbers"))
    spelled = staticmethod(late("sonicpy.index.search.planners.forms", "spelled"))
    add_folded = staticmethod(late("sonicpy.index.search.planners.spacing", "add_folded"))
    write_together = staticmethod(late("sonicpy.index.search.planners.spacing", "write_together"))
    pieces = staticmethod(late("sonicpy.index.search.planners.spacing", "find_pieces"))
    first_letters = staticmethod(late("sonicpy.index.search.planners.runs", "first_letters"))
    continued = staticmethod(late("sonicpy.index.search.planners.continued", "add_continued"))
    heads = staticmethod(late("sonicpy.index.search.planners.inner", "add_heads"))
    again = staticmethod(late("sonicpy.index.search.planners.unknown", "read_again"))
    needed_together = staticmethod(late("sonicpy.index.search.planners.needed", "needed_together"))
    needed = staticmethod(late("sonicpy.index.search.deciding_terms", "needed"))
    numbers = staticmethod(complete_numbers)
    corrections = staticmethod(add_corrections)

    @staticmethod
    def stand_ins(
        statistics: Statistics, matches: Matches, matching: Matching | None, clauses: list[Clause]
    ) -> "list[StandIn]":
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
        pieces: "dict[int, list[Piece]]",
        held: "Container[int]",
        last: Clause | None,
        others: "Sequence[StandIn]",
    ) -> list[Clause]:
        """Return the clauses of a plan with the pieces of words that may be written apart, and with substitutes."""
        return with_stand_ins(write_apart(statistics, clauses, pieces, held, last), others, statistics.objects)
