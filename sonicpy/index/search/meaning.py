"""Meaning: the vector of a query reorders the first objects that words found; it adds no objects."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sonicpy._native.plan import Plan
from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.index.search.likeness import Meant, Sums, check_ranking, in_new_order, reordered
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.parts import NamedObject, RemotePart, merge
from sonicpy.index.search.ranking import AnyLexicon, count_whole
from sonicpy.index.search.refine import best_by_score
from sonicpy.search import Search

if TYPE_CHECKING:
    from sonicpy.config import Config


def find_meant(
    lexicon: AnyLexicon,
    terms: Terms,
    config: "Config",
    search: Search,
    matching: Matching | None,
) -> Meant:
    """Return the objects that answer a search with a vector, in the order of words and meaning.

    Raises:
        InvalidArgument: a bucket has other vectors, see `sums_of`; or the ranking has no scores to add to.
    """
    check_ranking(config)
    wanted = max(search.depth, search.offset + search.limit)
    return in_new_order(lexicon, best_by_score(lexicon, terms, config, search, matching, wanted), search)


def meant_hits(lexicon: AnyLexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None) -> Hits:
    """Return a page of `find_meant` as hits. Raises as `find_meant`."""
    meant = find_meant(lexicon, terms, config, search, matching)
    return meant.hits(lexicon, terms, search, count_whole(lexicon, meant.plan, meant.part, config, meant.masks))


class MeantRows(NamedTuple):
    """The findings of a part on another node, with the likeness of the first objects to the vector of the query."""

    rows: Sequence[NamedObject]
    sums: Sums
    total: int | None


def merge_meant(
    parts: Sequence[MeantRows], plan: Plan, search: Search, boost: float = 1.0
) -> tuple[list[str], list[float], int | None]:
    """Return a page of the best objects of some parts by words and meaning: names, scores, the number of all.

    Args:
        boost: the upper bound of factors of a score.
    """
    wanted = max(search.depth, search.offset + search.limit)
    page = merge([RemotePart(part.rows, part.total) for part in parts], plan, wanted, 0, boost)
    sums = {row[0]: total for part in parts for row, total in zip(part.rows, part.sums, strict=False)}
    order = reordered(page.scores, [sums.get(name) for name in page.names[: search.depth]], search)
    some = slice(search.offset, search.offset + search.limit)
    return [page.names[place] for place in order.places[some]], order.scores[some], page.total
