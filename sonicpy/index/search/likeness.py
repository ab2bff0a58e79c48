"""The order of the first objects of an answer by words and meaning.

The score of an object is that of the words plus the weight times its likeness: the cosine of the query's numbers and
the object's signs. Sums are of whole numbers, so all nodes of a cluster agree. Objects without a vector get the mean of
the others, which moves them neither up nor down. Objects behind the first `depth` keep their places. With GROUP, the
best object of a group is the best one in this order.
"""

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from sonicpy._native.likeness import likenesses, reorder, square_sum
from sonicpy._native.mask import Mask
from sonicpy._native.plan import Plan
from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.errors import InvalidArgument
from sonicpy.index.search.found_hits import hows_of
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.parts import Found, Page, Part
from sonicpy.index.search.several import PlacedObject, SeveralParts, UnitedLexicon, in_buckets
from sonicpy.search import Search
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS, VectorColumn, column_named, live_columns
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.vectors import read_numbers

if TYPE_CHECKING:
    from sonicpy.config import Config
    from sonicpy.index.search.refine import Best

Sums = Sequence[int | None]
"""The likeness of each of some objects to a query, as `likenesses` returns them."""

NamedBits = tuple[str, int]
"""The name of a column of vectors, and the number of their bits."""


class Likeness(NamedTuple):
    """The likeness of an object to the vector of a query.

    Attributes:
        cosine: the cosine, from -1 to 1; None: the object has no vector.
        added: the number that it adds to the score.
    """

    cosine: float | None
    added: float


class Reordered(NamedTuple):
    """The best objects by words in the order of words and meaning.

    Attributes:
        places: their places in the order by words.
        scores: their scores, in the new order; None: the ranking has no scores.
        cosines, added: the likeness of the first ones, by place.
    """

    places: Sequence[int]
    scores: list[float]
    cosines: list[float | None]
    added: list[float]

    @property
    def likeness(self) -> list[Likeness]:
        """The likeness of the first ones, in the new order."""
        return [Likeness(self.cosines[place], self.added[place]) for place in self.places[: len(self.cosines)]]


def sums_of(reader: BucketReader, vector: str, iids: Sequence[int]) -> Sums | str:
    """Return the likeness of objects of a bucket to the vector of a query; or the reason why the vector is refused: the
    bucket has vectors of another length, or none in this column.
    """
    name, query = read_numbers(vector)
    column = column_named(live_columns(reader.fact(VECTOR_COLUMNS)), name)
    if column is None:
        return [None] * len(iids)
    if isinstance(column, str):
        return column
    if column.bits != len(query):
        return f"it has {len(query)} numbers, the vectors {column.name} of the bucket {column.bits}"
    places = column.places(reader.state.bucket, iids)
    return likenesses(query, places, reader.vector_rows(list(dict(places))))


def sums_in_part(reader: BucketReader, vector: str, iids: Sequence[int]) -> Sums | str:
    """Return `sums_of` in one of several buckets, or of the parts of a spread one, of which others alone may have the
    named column.
    """
    name, _ = read_numbers(vector)
    if name and all(column.name != name for column in live_columns(reader.fact(VECTOR_COLUMNS))):
        return [None] * len(iids)
    return sums_of(reader, vector, iids)


def vector_for_parts(vector: str, columns: Iterable[NamedBits]) -> str:
    """Return the vector of a query with the name of its column, for several buckets or the parts of a spread one.

    Args:
        columns: the columns of all of them.

    Raises:
        InvalidArgument: the vector fits no column by its name.
    """
    name, _ = read_numbers(vector)
    united = {column: VectorColumn(column, bits, 0) for column, bits in columns}
    found = column_named(tuple(united.values()), name)
    if isinstance(found, str):
        raise refused_vector(found)
    return vector if found is None or name else f"{found.name}:{vector}"


def refused_vector(why: str) -> InvalidArgument:
    """Return the error for a vector that the bucket does not take, with the reason."""
    reason = f"the vector is refused: {why}"
    return InvalidArgument(reason, "invalid_meta_value", reason)


def check_vectors(refusals: Iterable[str | None]) -> None:
    """Raise InvalidArgument for the first reason in `refusals`; None: a part takes the vector."""
    for why in refusals:
        if why is not None:
            raise refused_vector(why)


def reordered(scores: Sequence[float], sums: Sums, search: Search) -> Reordered:
    """Return objects in the order of words and meaning.

    Args:
        scores: the scores of all objects by words, best first.
        sums: the likeness of the first ones.
    """
    assert search.vector is not None
    _, query = read_numbers(search.vector)
    norm = sqrt(square_sum(query) * len(query))
    return Reordered(*reorder(list(scores), list(sums), norm, search.meaning))


class Meant(NamedTuple):
    """The answer of a bucket, or of several, by words and meaning.

    Attributes:
        part: the best objects by words.
        masks: the objects of each bucket that pass the filter; None: there is none.
        found: the objects of `part` in the new order.
        order: the places, scores and likeness of these.
    """

    plan: Plan
    part: Part | SeveralParts
    masks: Sequence[Mask] | None
    found: list[Found] | list[PlacedObject]
    order: Reordered

    def hits(self, lexicon: Lexicon | UnitedLexicon, terms: Terms, search: Search, whole: int | None) -> Hits:
        """Return the page of a search as hits; see `hits_of`."""
        some = slice(search.offset, search.offset + search.limit)
        found: Any = self.found[some]
        names, scores = self.part.names(found), self.order.scores[some]
        buckets = self.part.buckets(found) if isinstance(self.part, SeveralParts) else None
        if not search.how:
            return Hits(names, scores, self.part.total, whole, buckets=buckets)
        hows, corrected = hows_of(lexicon, self.plan, self.part, terms, search, [place for place, _, _ in found])
        return Hits(names, scores, self.part.total, whole, hows, corrected, buckets)

    def of_groups(self, part: Part | SeveralParts, most: float) -> "Meant":
        """Return the best objects of groups by words and meaning.

        Args:
            part: the best objects of the groups.
            most: the upper bound of factors of a score.
        """
        rows: Any = part.found
        scores = dict(zip((row[0] for row in self.found), self.order.scores, strict=True))
        likeness = dict(zip((row[0] for row in self.found), self.order.likeness, strict=True))
        by_words = Page([], rows, self.plan.ceiling * most, None).scores
        known = [likeness[row[0]] for row in rows if row[0] in likeness]
        order = Reordered(
            range(len(known)),
            [scores.get(row[0], score) for row, score in zip(rows, by_words, strict=True)],
            [cosine for cosine, _ in known],
            [added for _, added in known],
        )
        return self._replace(part=part, found=rows, order=order)


def in_new_order(lexicon: Lexicon | UnitedLexicon, best: "Best", search: Search) -> Meant:
    """Return the best objects by words in the order of words and meaning.

    Raises:
        InvalidArgument: a bucket has other vectors, see `sums_of`.
    """
    part = best.part
    assert isinstance(part, Part | SeveralParts)
    rows: Any = part.found  # of one bucket, or of several
    scores = Page([], rows, best.plan.ceiling * best.most, None).scores
    order = reordered(scores, _sums_in(lexicon, search, [place for place, _, _ in rows[: search.depth]]), search)
    return Meant(best.plan, part, best.masks, [rows[place] for place in order.places], order)


def _sums_in(lexicon: Lexicon | UnitedLexicon, search: Search, places: Sequence[Any]) -> Sums:
    """Return the likeness of some objects, given by IID in one bucket, by place in several."""
    vector = str(search.vector)
    if not isinstance(lexicon, UnitedLexicon):
        return _accepted(sums_of(lexicon.reader, vector, places))
    readers = [part.reader for part in lexicon.parts]
    columns = [column for reader in readers for column in live_columns(reader.fact(VECTOR_COLUMNS))]
    named = vector_for_parts(vector, ((column.name, column.bits) for column in columns))
    return in_buckets(places, lambda number, iids: _accepted(sums_in_part(readers[number], named, iids)))


def _accepted(found: Sums | str) -> Sums:
    """Return the likeness that `sums_of` has returned. Raises InvalidArgument if it has returned a reason."""
    if isinstance(found, str):
        raise refused_vector(found)
    return found


def check_ranking(config: "Config") -> None:
    """Raise InvalidArgument if the ranking has no scores that a vector can add to."""
    if config.search.ranking != "bm25":
        raise refused_vector(f"search.ranking is {config.search.ranking}, allowed is bm25")
