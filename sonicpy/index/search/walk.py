"""A plan carried out by `TopObjects`: which postings it reads, and the objects it finds."""

from sonicpy._native.plan import PlannedList, rows_of
from sonicpy._native.stored_postings import StoredPostings
from sonicpy._native.top_objects import TopObjects
from sonicpy.store.bucket_reader import BucketReader

BM25_K1 = 1.2
BM25_B = 0.75

Found = tuple[int, int, float]
"""An object's IID, how it was found (0: it holds every word, 1: words as typed, 2: completions, 3: corrections),
and its score."""

Parts = tuple[list[tuple[PlannedList, int, float]], int, float]
"""What a score is made of: ([(list, term frequency, part of the score)], number of other parts, their sum)."""


class Walk:
    """The objects that a plan finds, best first; of equal ones the newest object first.

    Args:
        reader: of the bucket.
        lists: of the plan.
        exponent: of the share of the query that an object holds.
        full_first: objects that hold every term come first.
        window: how many of its newest objects each word finds; 0: all.
        average: length of an object; None: that of the bucket.
    """

    def __init__(
        self,
        reader: BucketReader,
        lists: list[PlannedList],
        exponent: float,
        *,
        full_first: bool,
        window: int,
        average: float | None = None,
    ) -> None:
        self._reader = reader
        self._lists = lists
        self._exponent = exponent
        self._full_first = full_first
        self._window = window
        self._average = average
        self._top: TopObjects | None = None

    def best(self, offset: int, limit: int) -> list[Found]:
        """Return the objects from place `offset` on, at most `limit`."""
        return self._found(offset + limit).best(offset)

    def best_shown(self, offset: int, limit: int, whole: int, fraction_max: float) -> tuple[list[int], list[float]]:
        """Return the IIDs of the same objects, and their scores as users see them; see `TopObjects.best_shown`."""
        return self._found(offset + limit).best_shown(offset, whole, fraction_max)

    def total(self) -> int:
        """Return how many objects the plan finds."""
        top = self._top or self._prepared()
        if keys := top.blocks_to_count():
            top.give(self._reader.read_blocks(keys))
        return top.count()

    @property
    def ceiling(self) -> float:
        """No object's score is above it."""
        return (self._top or self._prepared()).ceiling

    def parts(self, iids: list[int], listed_max: int) -> list[Parts]:
        """Return what the scores of objects that `best` returned are made of.

        Args:
            listed_max: at most this many parts of an object are listed one by one, the largest ones.
        """
        assert self._top is not None, "find the objects first"
        read = [one for one in self._lists if one.row is not None]
        return [
            ([(read[number], tf, part) for number, tf, part in listed], others, others_sum)
            for listed, others, others_sum in self._top.parts(iids, listed_max)
        ]

    def _found(self, wanted: int) -> TopObjects:
        top = self._top = self._prepared()
        top.begin(wanted)
        while keys := top.run():
            top.give(self._reader.read_blocks(keys))
        if top.made_bytes:
            self._reader.note_made(top.made_bytes)
        return top

    def _prepared(self) -> TopObjects:
        reader = self._reader
        average = reader.state.average_length if self._average is None else self._average
        top = TopObjects(reader.length_masks(), average, BM25_K1, BM25_B, self._exponent, full_first=self._full_first)
        top.add_lists(self._lists, self._postings())
        return top

    def _postings(self) -> list[StoredPostings]:
        """Return the postings of the lists that have any; words of two terms of a query share them, so that no block is
        read twice."""
        rows = rows_of(self._lists)
        if not self._window:
            return self._reader.postings_of(rows)
        found: dict[int, StoredPostings] = {}
        for row in rows:
            if row.term_id not in found:
                beyond = row.df > self._window
                found[row.term_id] = (
                    self._reader.window_postings(row, self._window) if beyond else self._reader.postings(row)
                )
        return [found[row.term_id] for row in rows]
