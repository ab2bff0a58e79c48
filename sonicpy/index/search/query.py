"""QUERY: the objects that answer a text, best first."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sonicpy._native.ids import are_names
from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.arguments import NUMBER_MAX
from sonicpy.bucket_names import in_bucket
from sonicpy.index.search.demands import asks_nothing
from sonicpy.index.search.found_hits import hits_of
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.ranking import AnyLexicon, carry_out, count_whole
from sonicpy.index.search.several import SeveralParts
from sonicpy.late import late
from sonicpy.options import LIMIT
from sonicpy.search import Search

if TYPE_CHECKING:
    from sonicpy.config import Config
    from sonicpy.filters.grammar import parse
    from sonicpy.index.engine import Engine
else:
    parse = late("sonicpy.filters.grammar", "parse", __name__)

_PAGED = {"filter", "limit"}


def query(
    lexicon: AnyLexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None = None
) -> list[str]:
    """Return the names of the objects on a page of an answer; those of several buckets in the form of `in_bucket`.

    Args:
        lexicon: the bucket's words.
        terms: the distinct terms of the search's text.
        matching: leads words to their families; None: no word has a family.
    """
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
    """Return the page of `query` with scores, and the number of all objects that answer, if the search asks for it."""
    if search.filter is not None and not search.text and isinstance(lexicon, Lexicon) and asks_newest(search):
        from sonicpy.index.search.refine import newest_hits  # noqa: PLC0415  loaded when it is needed

        return newest_hits(lexicon, config, search)
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
    return hits_of(lexicon, plan, part, terms, config, search, count_whole(lexicon, plan, part, config))


def asks_newest(search: Search) -> bool:
    """Return whether a search with a filter and no text asks for a page of the newest objects that pass, and nothing
    else.
    """
    return (
        search.sort is None
        and search.group is None
        and search.after is None
        and search.phrase is None
        and not search.total
    )


def newest_at_once(engine: "Engine", collection: str, bucket: Any, options: Mapping[str, Any]) -> Hits | None:
    """Return the newest objects that meet a filter; None: another option is given, an argument is refused, or there is
    no such bucket: the way of all queries answers.

    Raises:
        InvalidArgument: the filter is none, or the ranking has no filters.
    """
    filter, limit = options.get("filter"), options.get("limit", LIMIT.default)
    if type(filter) is not str or type(limit) is not int or not 0 <= limit <= NUMBER_MAX:
        return None
    if not options.keys() <= _PAGED or type(bucket) is not str or not are_names(collection, bucket):
        return None
    condition = parse(filter)
    with engine.read_words(collection, bucket) as lexicon:
        if lexicon is None:
            return None
        # Where the ranking has no filters, no page was ever asked for.
        pages = lexicon.newest_pages
        names = None if pages is None else pages.names(condition, 0, limit)
        if names is None:
            from sonicpy.index.search.refine import newest_names  # noqa: PLC0415  loaded when it is needed

            names = newest_names(lexicon, engine.config, condition, 0, limit)
    return Hits(names)
