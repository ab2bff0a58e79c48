"""SIMILAR: objects that share rare words with an object.

The query consists of those terms in the object's record that weigh most: the weight is the idf times the square root
of the term frequency. No term has a family. An object is similar if it holds one of the first BRINGING_MAX terms; the
others add to its score.
"""

from sonicpy._native.bm25 import idf
from sonicpy._native.plan import BRINGS, Plan, content_size, plan_terms
from sonicpy._native.planner import SHARE_EXPONENT_MAX, SHARE_STRENGTH
from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.parts import bind, find, merge
from sonicpy.index.search.plan import NOTHING_LEFT_OUT

TERMS_MAX = 40
"""The most terms of an object that are looked for."""
BRINGING_MAX = 16
"""The number of terms of which a similar object holds at least one: more terms take longer, and find nothing better."""
READ_MAX = 400
"""The most terms of an object whose frequencies are compared: those that the object holds most often."""
COMMON_SHARE, COMMON_MIN = 5, 64
"""A term that more than 64 objects and more than a fifth of all hold is left out: it takes long and separates objects
less.
"""
ALWAYS = 3
"""The number of terms of an object that are never left out."""
SHARED_MIN = 2
"""The fewest objects that hold a term of the query: a term of one object leads to no other object."""


def similar(lexicon: Lexicon, oid: str, limit: int, offset: int, window: int) -> Hits:
    """Return the objects most similar to a given one, without itself; none if there is no such object.

    Args:
        limit, offset: the page: at most `limit` objects behind the first `offset`.
        window: only this many objects of each word are read, the newest ones; 0: all.
    """
    reader = lexicon.reader
    found = reader.numbered(oid)
    if found is None:
        return Hits()
    iid, record = found
    held = [(term_id, tf) for term_id, tf, is_hidden, _ in record.terms() if not is_hidden]
    if len(held) > READ_MAX:
        held = sorted(held, key=lambda one: (-one[1], one[0]))[:READ_MAX]
    plan = _plan(lexicon, reader.term_bytes([term_id for term_id, _ in held]), [tf for _, tf in held])
    if plan is None:
        return Hits()
    part = find(bind(plan, reader, window), offset + limit + 1)
    part.found = [one for one in part.found if one[0] != iid]
    page = merge([part], plan, limit, offset)
    return Hits(page.names, page.scores)


def _plan(lexicon: Lexicon, words: list[bytes], counts: list[int]) -> Plan | None:
    """Return the plan for the rarest words of an object; None: it shares no word with another one.

    Args:
        counts: how often the object holds each word.
    """
    objects = lexicon.objects
    shared = [
        (-idf(objects, row.df) * count**0.5, word, count, row)
        for word, count, row in zip(words, counts, lexicon.rows(words), strict=True)
        if row is not None and row.df >= SHARED_MIN
    ]
    if not shared:
        return None
    shared.sort()
    common = max(COMMON_MIN, objects // COMMON_SHARE)
    rare = [one for one in shared[ALWAYS:] if one[3].df <= common]
    _, names, times, infos = map(list, zip(*(shared[:ALWAYS] + rare)[:TERMS_MAX], strict=True))
    terms = Terms(names, bytes(times), bytes(len(names)))
    clauses = plan_terms(terms, infos, objects, 0, 0)
    exponent = min(SHARE_EXPONENT_MAX, SHARE_STRENGTH / content_size(clauses, terms.flags))
    for clause in clauses:
        if clause.term >= BRINGING_MAX:
            clause.role &= ~BRINGS
    return Plan(clauses, lexicon.average_length, exponent, full_first=False, left_out=NOTHING_LEFT_OUT, enough=None)
