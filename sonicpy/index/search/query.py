"""QUERY: the objects that answer a text, best first."""

from typing import TYPE_CHECKING

from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits, plain_hits
from sonicpy.bucket_names import in_bucket
from sonicpy.index.search.demands import asks_nothing
from sonicpy.index.search.found_hits import hits_of
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.ranking import AnyLexicon, carry_out, count_whole
from sonicpy.index.search.several import SeveralParts
from sonicpy.late import late
from sonicpy.search import Search

if TYPE_CHECKING:
    from sonicpy.config import Config
    from sonicpy.index.search.newest_passing import newest_names
else:
    newest_names = late("sonicpy.index.search.newest_passing", "newest_names", __name__)

NO_TERMS = Terms([], b"", b"")
"""The terms of a search with a filter that `asks_newest`: it has no text."""


def query(
    lexicon: AnyLexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None = None
) -> list[str]:
    """Return the names of the objects on a page of an answer; those of several buckets in the form of `in_bucket`.

    Args:
        lexicon: the bucket's words.
        terms: the distinct terms of the search's text.
        matching: leads words to their families; None: no word has a family.
    """
    if terms is NO_TERMS and isinstance(lexicon, Lexicon):
        return newest_names(lexicon, config, search)
    if search.is_refined or search.vector is not None:
        hits = query_hits(lexicon, terms, config, search, matching)
        return hits.objects if hits.buckets is None else list(map(in_bucket, hits.buckets, hits.objects))
    if not len(terms) and asks_nothing(terms):
        return []
    _, part = carry_out(lexicon, terms, config, matching, search.offset + search.limit)
    if isinstance(part, SeveralParts):
        names, found = part.page(search.offset, search.limit)
        return list(map(in_bucket, part.buckets(found), names))
    return part.page(search.offset, search.limit)[0]


def query_hits(
    lexicon: AnyLexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None = None
) -> Hits:
    """Return the page of `query` with scores, and the number of all objects that answer, if the search asks for it. The
    arguments are those of `query`."""
    if terms is NO_TERMS and isinstance(lexicon, Lexicon):
        return plain_hits(newest_names(lexicon, config, search))
    if search.total and (search.phrase is not None or search.syntax == "web"):
        from sonicpy.index.search.phrases import PhraseChecks, has_checks  # noqa: PLC0415  loaded when it is needed

        if not has_checks():  # the page and the counts look at the same objects
            with PhraseChecks().trying():
                return query_hits(lexicon, terms, config, search, matching)
    if search.group is not None:
        from sonicpy.index.search.grouped import grouped_hits  # noqa: PLC0415  loaded when it is needed

        return grouped_hits(lexicon, terms, config, search, matching)
    if search.is_refined and (search.vector is None or not search.is_by_score):
        from sonicpy.index.search.refine import refined  # noqa: PLC0415  loaded when it is needed

        return refined(lexicon, terms, config, search, matching)
    if not len(terms) and asks_nothing(terms):
        return Hits(total=0, whole=0) if search.total else Hits()
    if search.vector is not None:
        from sonicpy.index.search.meaning import meant_hits  # noqa: PLC0415  loaded when it is needed

        return meant_hits(lexicon, terms, config, search, matching)
    plan, part = carry_out(lexicon, terms, config, matching, search.offset + search.limit, total=search.total)
    whole = count_whole(lexicon, plan, part, config) if search.total else None
    return hits_of(lexicon, plan, part, terms, config, search, whole)
