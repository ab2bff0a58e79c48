"""QUERY: the objects that answer a text, best first."""

from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.bucket_names import in_bucket
from sonicpy.config import Config
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.parts import Page, Part, merge
from sonicpy.index.search.ranking import AnyLexicon, carry_out, count_whole
from sonicpy.index.search.several import SeveralParts
from sonicpy.search import Search


def query(
    lexicon: AnyLexicon, terms: Terms, config: Config, search: Search, matching: Matching | None = None
) -> list[str]:
    """Return the names of the objects on a page of an answer, of several buckets as `in_bucket` makes them.

    Args:
        lexicon: the bucket's words.
        terms: the distinct terms of the search's text.
        matching: the matching of families; None: no word has one.
    """
    if not len(terms):
        return []
    _, part = carry_out(lexicon, terms, config, matching, search.offset + search.limit)
    if isinstance(part, SeveralParts):
        names, found = part.page(search.offset, search.limit)
        return list(map(in_bucket, part.buckets(found), names))
    return part.page(search.offset, search.limit)[0]


def query_hits(
    lexicon: AnyLexicon, terms: Terms, config: Config, search: Search, matching: Matching | None = None
) -> Hits:
    """Return the page of `query` with scores, and the number of all objects that answer, if the search asks for it."""
    if not len(terms):
        return Hits(total=0, whole=0) if search.total else Hits()
    plan, part = carry_out(lexicon, terms, config, matching, search.offset + search.limit, total=search.total)
    if isinstance(part, SeveralParts):
        names, placed = part.page(search.offset, search.limit)
        scores = Page(names, placed, plan.ceiling, part.total).scores
        return Hits(names, scores, part.total, count_whole(lexicon, plan, part, config), part.buckets(placed))
    if not isinstance(part, Part):
        names, found = part.page(search.offset, search.limit)
        return Hits(names, [score for _, _, score in found], part.total if search.total else None)
    page = merge([part], plan, search.limit, search.offset)
    whole = count_whole(lexicon, plan, part, config)
    return Hits(page.names, None if config.search.ranking == "newest" else page.scores, page.total, whole)
