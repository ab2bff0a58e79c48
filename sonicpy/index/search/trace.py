"""What a ranking did, noted while it does it: which lists of postings it gathered for which word, and what it left.

The rankings write here only where they are given a Trace; so what is explained is what was done.
"""

from dataclasses import dataclass, field

from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import PART, SPECIAL, STOP
from sonicpy.index.search.expansion import Expansion

TOO_COMMON = "so many objects hold it that it is ignored (search.query_minimum_term_idf_default)"
TABLE_FULL = "the words before it found as many objects as are kept for one query (store.kv.retain_word_objects)"
IN_PAIRS = "a run of letters without blanks is found by the pairs of letters in it"
IS_STOP = "only a query of nothing but stop words needs them"

SPECIAL_IS_EXACT = "mail addresses, numbers and other identifiers are found exactly or not at all"
STOP_IS_EXACT = "stop words are neither completed nor corrected"
PART_IS_EXACT = "pairs of letters are neither completed nor corrected"
ENOUGH_FOUND = "the word itself finds enough"
TOO_MANY_WORDS = "only the first words of a long query are completed and corrected"
NO_BUDGET = "search.query_alternates_try is used up by others, or 0"


@dataclass(slots=True)
class Gathered:
    """One list of postings that was gathered, in the order of the calls of the table.

    Attributes:
        term: place of the query's term.
        word: whose list it is: the term itself, or a word in its place.
        how: "exact", "completion", "correction", or "spelling": the term in another normal form.
        weight: what the word counts for; the score of a visit in the ranking "sonic".
    """

    term: int
    word: bytes
    row: TermInfo | None
    how: str
    edits: int
    weight: float


@dataclass(slots=True)
class Trace:
    """The notes of one query."""

    gathered: list[Gathered] = field(default_factory=list)
    only_adds: set[int] = field(default_factory=set)
    """Terms that bring no objects, but add to the score of those that others bring."""
    required: set[int] = field(default_factory=set)
    """Terms that an object must hold."""
    left_out: dict[int, str] = field(default_factory=dict)
    """Terms that were not looked for, and why."""
    kept: dict[int, str] = field(default_factory=dict)
    """Terms that no other word was looked for, and why."""

    def by_term(self) -> dict[int, list[Gathered]]:
        """Return what was gathered for each term."""
        found: dict[int, list[Gathered]] = {}
        for one in self.gathered:
            found.setdefault(one.term, []).append(one)
        return found

    def exact(
        self,
        term: int,
        word: bytes,
        row: TermInfo | None,
        weight: float,
        *,
        required: bool = False,
        only_adds: bool = False,
    ) -> None:
        """Note that the postings of a term itself were gathered."""
        self.gathered.append(Gathered(term, word, row, "exact", 0, weight))
        if required:
            self.required.add(term)
        if only_adds:
            self.only_adds.add(term)

    def keep(self, term: int, flags: int, *, is_enough: bool) -> None:
        """Note why no other words are looked for in the place of a term: it finds enough, or else what its flags
        say."""
        if flags & SPECIAL:
            why = SPECIAL_IS_EXACT
        elif flags & STOP:
            why = STOP_IS_EXACT
        elif flags & PART:
            why = PART_IS_EXACT
        else:
            why = ENOUGH_FOUND if is_enough else TOO_MANY_WORDS
        self.kept[term] = why

    def alternate(self, term: int, other: Expansion, weight: float) -> None:
        """Note that the postings of a word in the place of a term were gathered."""
        how = "completion" if other.completed else "correction"
        self.gathered.append(Gathered(term, other.word, other.row, how, other.edits, weight))

    def visit(self, term: int, word: bytes, row: TermInfo | None, how: str, edits: int, score: float) -> None:
        """Note a visit of the ranking "sonic"."""
        self.gathered.append(Gathered(term, word, row, how, edits, score))
