"""SIMILAR: objects that share rare words with an object.

The query consists of the heaviest words in the object's record, the first of them with their families; see
`_native/similar_plan.pyx`. An object is similar if it holds one of the first BRINGING_MAX words, or a form of it; the
others add to its score.
"""

from functools import lru_cache

from sonicpy._native.find import find_all
from sonicpy._native.similar_plan import similar_plan
from sonicpy.api.hits import Hits
from sonicpy.index.search.families import WAYS_CACHED
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.parts import Part, merge

BY_BUCKET = Matching(None, is_ascii=True)
"""The matching of words in a bucket of several languages, or of none that is known."""


def similar(lexicon: Lexicon, oid: str, limit: int, offset: int, window: int, *, has_forms: bool) -> Hits:
    """Return the objects most similar to a given one, without itself; none if there is no such object.

    Args:
        limit, offset: the page: at most `limit` objects behind the first `offset`.
        window: only this many objects of each word are read, the newest ones; 0: all.
        has_forms: whether words also count in their other forms.
    """
    reader = lexicon.reader
    found = reader.numbered(oid)
    if found is None:
        return Hits()
    iid, record = found
    matching = _matching(lexicon.languages_for(BY_BUCKET)) if has_forms else None
    planned = similar_plan(lexicon, record, matching)
    if planned is None:
        return Hits()
    plan, rows = planned
    part = Part(*find_all(plan, reader, offset + limit + 1, window, None, False, None, rows=rows))
    part.found = [one for one in part.found if one[0] != iid]
    page = merge([part], plan, limit, offset)
    return Hits(page.names, page.scores)


@lru_cache(WAYS_CACHED)
def _matching(languages: tuple[str, ...]) -> Matching:
    """Return the matching of the words of an object; in a bucket of one language that of most queries, whose families
    are cached.
    """
    return Matching(languages[0] if len(languages) == 1 else None, is_ascii=True, languages=languages)
