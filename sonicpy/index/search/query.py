"""QUERY: the objects that answer a text, best first."""

from typing import TYPE_CHECKING

from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.index.search.demands import asks_nothing
from sonicpy.index.search.how import WORDS_SHOWN, HowFound, corrected_text
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.meaning import find_meant
from sonicpy.index.search.parts import Part, merge
from sonicpy.index.search.ranking import carry_out, count_whole
from sonicpy.index.search.refine import refined
from sonicpy.search import Search

if TYPE_CHECKING:
    from sonicpy.config import Config


def query(
    lexicon: Lexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None = None
) -> list[str]:
    """Return the names of the objects on a page of the answer to a search.

    Args:
        lexicon: the bucket's words.
        terms: the distinct terms of the search's text.
        matching: the matching of families; None: no word has one.
    """
    if search.is_refined:
        return refined(lexicon, terms, config, search, matching).objects
    if not len(terms) and asks_nothing(terms):
        return []
    if search.vector is not None:
        return find_meant(lexicon, terms, config, search, matching).page(search.offset, search.limit)[0]
    _, part = carry_out(lexicon, terms, config, matching, search.offset + search.limit)
    return part.page(search.offset, search.limit)[0]


def query_hits(
    lexicon: Lexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None = None
) -> Hits:
    """Return the page of `query` with scores, and the number of all objects that answer, if the search asks for it."""
    if search.is_refined:
        return refined(lexicon, terms, config, search, matching)
    if not len(terms) and asks_nothing(terms):
        return Hits(total=0, whole=0) if search.total else Hits()
    if search.vector is not None:
        meant = find_meant(lexicon, terms, config, search, matching, total=search.total)
        whole = count_whole(lexicon, meant.plan, meant.part, config)
        return Hits(*meant.page(search.offset, search.limit), meant.part.total, whole)
    plan, part = carry_out(lexicon, terms, config, matching, search.offset + search.limit, total=search.total)
    if not isinstance(part, Part):
        names, found = part.page(search.offset, search.limit)
        return Hits(names, [score for _, _, score in found], part.total if search.total else None)
    page = merge([part], plan, search.limit, search.offset)
    whole = count_whole(lexicon, plan, part, config)
    scores = None if config.search.ranking == "newest" else page.scores
    if not search.how:
        return Hits(page.names, scores, page.total, whole)
    how = HowFound(plan, terms)
    iids = [iid for iid, _, _ in part.page(search.offset, search.limit)[1]]
    hows = list(map(how.of, part.held(iids, WORDS_SHOWN)))
    return Hits(page.names, scores, page.total, whole, hows, corrected_text(search.text, plan, lexicon))
