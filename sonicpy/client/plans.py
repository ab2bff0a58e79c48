"""The plans of a client's methods: the lines to send, and the reading of the answers, without a socket: for both
clients.

A plan is a generator. It yields an Exchange, receives the Reply (or the error, thrown into it), and returns the result.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sonicpy.api.counted import Counted, counted
from sonicpy.api.explanation import Explanation
from sonicpy.api.facets import Facets
from sonicpy.api.held_word import HeldWord
from sonicpy.api.hits import Hit, Hits, with_facets
from sonicpy.arguments import no_word, nothing_behind, number_of, text_of
from sonicpy.bucket_names import AnyBucket, one_or_several, only_one, split_bucket
from sonicpy.channel.commands import Mode
from sonicpy.channel.groups import unpack_group
from sonicpy.channel.held_words import unpack_held, unpack_text
from sonicpy.channel.quoting import as_meant
from sonicpy.client.conversation import OUR_NAME, AnswerKind, ServerInfo
from sonicpy.client.exchange import MAINTENANCE_TIMEOUT_S, CallPlan, Exchange, Value
from sonicpy.client.ingest_plans import count_object_words, number
from sonicpy.client.lines import (
    check_names,
    check_scope,
    meta,
    object_word,
    one_line,
    path_word,
    scope_words,
    sendable,
    sendable_query,
)
from sonicpy.errors import CommandError, InvalidArgument, NotOffered
from sonicpy.filters.grammar import filter_text
from sonicpy.ids import ObjectName, check_bucket, check_collection, plain_str, shown
from sonicpy.options import LIMIT_CEILING, checked
from sonicpy.search import FacetSearch, FilterLike, Search

Item = TypeVar("Item")

SCORES, WHOLE = "SCORES", "WHOLE"
NO_SCORE = NOT_KNOWN = "-"
"""The score in answers of a ranking without scores, and the number of objects that hold whole words where servers do
not know it.
"""

QUERY_PAGE = 100
LIST_PAGE = 500
"""The most items that any server with default settings returns for one command; a server may refuse more."""

_FIGURE = re.compile(r"(\w+)\((\d+)\)")


# -- search ------------------------------------------------------------------------------------------------------


def query(search: Search) -> CallPlan[Hits]:
    """Plan QUERY, with scores if the server gives them; the total, if asked for, comes with the first answer."""
    head = _search_head("QUERY", search)
    totals: list[int | None] = []
    corrected: list[str | None] = []

    def line(server: ServerInfo, limit: int, offset: int) -> str:
        has_scores = _has_scores(server)
        is_first = search.total and not totals
        page = search._replace(
            limit=limit, offset=offset, scores=has_scores, total=is_first, whole=is_first and _has_whole(server)
        )
        return head + meta("QUERY", page, is_sonic=not has_scores)

    def read(answer: str, server: ServerInfo) -> list[Hit]:
        items = _items(answer)
        if search.total and not totals:
            totals.append(int(items.pop(0)))
            if _has_whole(server):
                whole = items.pop(0)
                totals.append(None if whole == NOT_KNOWN else int(whole))
        if search.how:
            text = unpack_text(items.pop(0))
            corrected.append(None if text is None else as_meant(text))
        read_items = _hits_with_words if search.how else _hits
        if search.group is None or not _has_scores(server):
            return read_items(items, server, has_buckets=bool(search.buckets))
        pairs = [item.rpartition(":") for item in items]
        hits = read_items([item for item, _, _ in pairs], server, has_buckets=bool(search.buckets))
        groups = [unpack_group(packed, search.group) for _, _, packed in pairs]
        return [Hit(hit, hit.score, hit.how, hit.bucket, group) for hit, group in zip(hits, groups, strict=True)]

    wanted = max(search.limit, 1) if search.total else search.limit  # a server would refuse LIMIT(0)
    try:
        found = (yield from _paged(AnswerKind.QUERY, line, read, wanted, search.offset, QUERY_PAGE))[: search.limit]
    except CommandError as refusal:
        if refusal.code != "not_found" or search.after is None:
            raise
        raise nothing_behind(search.bucket, search.after, is_one=not search.buckets) from refusal
    scores = [hit.score for hit in found if hit.score is not None]
    total, whole = (*totals, None, None)[:2]
    hows = [hit.how or () for hit in found] if search.how else None
    better = corrected[0] if corrected else None
    if better is not None and better[-1:].isspace():  # a blank at the end was sent as a line break
        better = better.rstrip() + search.text[len(search.text.rstrip()) :]
    buckets = [hit.bucket or "" for hit in found] if search.buckets else None
    known = scores if len(scores) == len(found) else None
    groups = None if search.group is None else [hit.group for hit in found]
    return Hits(map(str, found), known, total, whole, hows, better, buckets, groups)


def similar(collection: str, bucket: str, object: ObjectName, options: Mapping[str, Any]) -> CallPlan[Hits]:
    """Plan SIMILAR."""
    where = scope_words(collection, bucket)
    oid, page = object_word(object), checked("SIMILAR", options)

    def line(server: ServerInfo, limit: int, offset: int) -> str:
        given = {"limit": limit, "offset": offset, "scores": True}
        return f"SIMILAR {where} {oid}{meta('SIMILAR', given)}"

    def read(answer: str, server: ServerInfo) -> list[Hit]:
        return _hits(_items(answer), server)

    found = yield from _paged(AnswerKind.SIMILAR, line, read, page["limit"], page["offset"], QUERY_PAGE)
    return Hits(map(str, found), [hit.score or 0.0 for hit in found])


def suggest(
    collection: str, bucket: AnyBucket, word: str, limit: int, filter: FilterLike = None
) -> CallPlan[list[str]]:
    """Plan SUGGEST of at most `limit` words, in objects that meet `filter`, if there is one."""
    first, buckets = one_or_several(bucket)
    where = scope_words(collection, first)
    limit = number_of("limit", limit)
    given = {"limit": limit, "filter": None if filter is None else filter_text(filter), "buckets": buckets}
    line = f"SUGGEST {where} {sendable('word', word)}{meta('SUGGEST', given)}"
    if limit == 0:  # a server would refuse it
        return []
    try:
        return [*map(as_meant, _items((yield _search("SUGGEST", AnswerKind.SUGGEST, line)).answers[0]))]
    except CommandError as refusal:
        if refusal.code != "query_error":
            raise
        raise no_word(has_several=None if any(map(str.isalnum, word)) else False) from refusal


def words(
    collection: str, bucket: AnyBucket, limit: int, offset: int, prefix: str, after: str | None
) -> CallPlan[list[str]]:
    """Plan LIST, with PREFIX and AFTER only if they are given, because Sonic lacks them."""
    first, buckets = one_or_several(bucket)
    where = scope_words(collection, first)
    given = {"prefix": text_of("prefix", prefix), "after": None if after is None else text_of("after", after) or None}

    def line(server: ServerInfo, limit: int, offset: int) -> str:
        options = {**given, "limit": limit, "offset": offset, "buckets": buckets}
        return f"LIST {where}{meta('LIST', options)}"

    limit, offset = number_of("limit", limit), number_of("offset", offset)
    return (yield from _paged(AnswerKind.LIST, line, lambda answer, server: _items(answer), limit, offset, LIST_PAGE))


def count(collection: str, bucket: AnyBucket | None, object: ObjectName | None, of: Counted | None) -> CallPlan[int]:
    """Plan COUNT, which every version of Sonic has: of buckets, words of a bucket, or words of an object.

    COUNTB counts the objects of a bucket, STATS those of a collection.
    """
    what = counted(bucket, object, of)
    if what == "objects" and bucket is None:
        return _objects_of(stats(collection, None))
    if object is not None:
        return count_object_words(collection, only_one(bucket), object)
    command = "COUNTB" if what == "objects" else "COUNT"
    first, buckets = one_or_several(bucket)
    if buckets and command == "COUNT":
        return _words_of_several(collection, first, meta(command, {"buckets": buckets}))
    return number(command, collection, first, options=meta(command, {"buckets": buckets}))


def _words_of_several(collection: str, bucket: str, options: str) -> CallPlan[int]:
    """Plan COUNT of several buckets as COUNTB: a server without several buckets would take the option of COUNT for an
    object.
    """
    yield from number("COUNTB", collection, bucket, None, options)
    return (yield from number("COUNT", collection, bucket, None, options))


def _objects_of(figures: CallPlan[Any]) -> CallPlan[int]:
    found: dict[str, int] = yield from figures
    return found["objects"]


def scope(collection: str, bucket: str) -> tuple[str, str]:
    """Return the names of a bucket. Raises InvalidArgument unless both are given."""
    check_scope(collection, bucket)
    return collection, bucket


def given(bucket: AnyBucket) -> AnyBucket:
    """Return a bucket, or several, unchanged. Raises InvalidArgument if the argument is neither, such as None."""
    check_bucket(one_or_several(bucket)[0])
    return bucket


def names(collection: str, bucket: str, object: ObjectName) -> tuple[str, str, str]:
    """Return the names of an object. Raises InvalidArgument unless all are given."""
    check_scope(collection, bucket)
    return collection, bucket, object_word(object)


def explain(search: Search) -> CallPlan[Explanation]:
    """Plan EXPLAIN."""
    line = _search_head("EXPLAIN", search) + meta("EXPLAIN", search._replace(limit=max(search.limit, 1)))
    found = Explanation.from_json((yield _search("EXPLAIN", AnswerKind.RESULT, line)).answers[0])
    return replace(found, text=as_meant(found.text), hits=found.hits if search.limit else ())


def facets(asked: FacetSearch) -> CallPlan[Facets]:
    """Plan FACETS."""
    line = _search_head("FACETS", asked.search) + meta("FACETS", asked._replace(limit=max(asked.limit, 1)))
    found = Facets.from_json((yield _search("FACETS", AnswerKind.RESULT, line)).answers[0])
    return found if asked.limit else found.without_tags()


def query_with_facets(search: Search, asked: FacetSearch | None) -> CallPlan[Hits]:
    """Plan QUERY, and FACETS if facets are asked for, too."""
    found = yield from query(search)
    if asked is None:
        return found
    return with_facets(found, (yield from facets(asked)))


# -- listing -----------------------------------------------------------------------------------------------------


def collections() -> CallPlan[list[str]]:
    """Plan the COLLECTIONS commands that list all collections; the result is sorted."""
    return sorted((yield from _all_names("COLLECTIONS")))


def buckets(collection: str) -> CallPlan[list[str]]:
    """Plan the BUCKETS commands that list all buckets of a collection."""
    check_collection(collection)
    return (yield from _all_names("BUCKETS", plain_str(collection)))


def objects(
    collection: str, bucket: str, prefix: str, after: ObjectName | None, limit: int | None
) -> CallPlan[list[str]]:
    """Plan the OBJECTS commands that list `limit` names (None: all)."""
    check_scope(collection, bucket)
    wanted = None if limit is None else number_of("limit", limit)
    behind = None if after is None else object_word(after)
    names: list[str] = []
    position: int | None = None
    while wanted is None or len(names) < wanted:
        some = LIST_PAGE if wanted is None else min(LIST_PAGE, wanted - len(names))
        more, position = yield from object_page(collection, bucket, prefix, behind, position, some)
        names += more
        if position is None:
            break
    return names


def object_page(
    collection: str, bucket: str, prefix: str, after: str | None, position: int | None, limit: int = LIST_PAGE
) -> CallPlan[tuple[list[str], int | None]]:
    """Plan OBJECTS; the result is at most `limit` names, perhaps none, and the position of the next page (None: the
    end).

    Args:
        position: the end of the page before; replaces `after`.

    Raises:
        InvalidArgument: there is no object `after`.
    """
    where = scope_words(collection, bucket)
    given = {"prefix": text_of("prefix", prefix), "after": after if position is None else None, "position": position}
    while True:
        options = meta("OBJECTS", {**given, "limit": limit})
        try:
            reply = yield _search("OBJECTS", AnswerKind.RESULT, f"OBJECTS {where}{options}")
        except CommandError as refusal:
            if refusal.code == "not_found" and after is not None:
                raise nothing_behind(bucket, after) from refusal
            if refusal.code != "policy_reject" or limit <= 1:
                raise
            limit //= 2
        else:
            page = json.loads(reply.answers[0])
            return page["objects"], page["next"]


def exists(collection: str, bucket: str, object: ObjectName) -> CallPlan[bool]:
    """Plan EXISTS."""
    where = scope_words(collection, bucket)
    reply = yield _search("EXISTS", AnswerKind.RESULT, f"EXISTS {where} {object_word(object)}")
    return reply.answers[0] == "1"


def _all_names(command: str, *names: str) -> CallPlan[list[str]]:
    found: list[str] = []
    while True:
        after = found[-1] if found else None
        line = " ".join((command, *names)) + meta(command, {"after": after})
        more: list[str] = json.loads((yield _search(command, AnswerKind.RESULT, line)).answers[0])
        if not more:
            return found
        found += more


# -- control -----------------------------------------------------------------------------------------------------


def stats(collection: str | None, bucket: str | None) -> CallPlan[Any]:
    """Plan STATS; the result is its decoded JSON. Raises InvalidArgument if a bucket is given without its
    collection.
    """
    if collection is None:
        if bucket is not None:
            raise InvalidArgument(f"the bucket {shown(bucket)} is given without its collection")
        return control("STATS", AnswerKind.RESULT, read=json.loads)
    names = [collection] if bucket is None else [collection, bucket]
    check_names(*names)
    return control("STATS", AnswerKind.RESULT, " ".join(names), read=json.loads)


def verify() -> CallPlan[Any]:
    """Plan VERIFY; the result is its JSON, decoded."""
    return control("VERIFY", AnswerKind.RESULT, read=json.loads)


def backup(folder: Path | str) -> CallPlan[str]:
    """Plan TRIGGER backup."""
    return control("TRIGGER", AnswerKind.OK, f"backup {path_word(folder)}", read=str)


def restore(folder: Path | str) -> CallPlan[str]:
    """Plan TRIGGER restore. It is never repeated: a second one would lose pushes made since the first."""
    return control("TRIGGER", AnswerKind.OK, f"restore {path_word(folder)}", read=str, changes=True)


def consolidate() -> CallPlan[str]:
    """Plan TRIGGER consolidate; the server answers when the graphs are built."""
    return control("TRIGGER", AnswerKind.OK, "consolidate", read=str)


def info() -> CallPlan[dict[str, int]]:
    """Plan INFO; the result is its figures by name."""
    return control(
        "INFO", AnswerKind.RESULT, read=lambda text: {key: int(value) for key, value in _FIGURE.findall(text)}
    )


def ping(mode: Mode) -> CallPlan[ServerInfo]:
    """Plan PING; the result is the properties of the server."""
    return (yield Exchange(mode, "PING", AnswerKind.PONG, lambda server: ["PING"])).server


def control(
    command: str, kind: AnswerKind, arguments: str = "", *, read: Callable[[str], Value], changes: bool = False
) -> CallPlan[Value]:
    """Plan a command of mode control.

    Args:
        command: the first word of the line.
        kind: the kind of the answer.
        arguments: the rest of the line.
        read: turns the answer into the result.
        changes: see `Exchange.changes`.
    """
    line = f"{command} {arguments}".rstrip()
    timeout_s = None if command == "INFO" else MAINTENANCE_TIMEOUT_S
    reply = yield Exchange(Mode.CONTROL, command, kind, lambda server: [line], changes, timeout_s)
    return read(reply.answers[0])


def _search_head(command: str, search: Search) -> str:
    return f"{command} {scope_words(search.collection, search.bucket)} {sendable_query(search.text)}"


def _search(command: str, kind: AnswerKind, line: str) -> Exchange:
    return Exchange(Mode.SEARCH, command, kind, lambda server: [one_line(server, line)])


# -- pages -------------------------------------------------------------------------------------------------------


def _paged(
    kind: AnswerKind,
    line: Callable[[ServerInfo, int, int], str],
    read: Callable[[str, ServerInfo], list[Item]],
    limit: int,
    offset: int,
    page: int,
) -> CallPlan[list[Item]]:
    """Plan a search for `limit` items: one line, or several if the server refuses this limit.

    Args:
        kind: the kind of the answer.
        line: called with the server, a limit and an offset; returns the line.
        read: called with the answer and the server; returns the items.
        page: the number of items to ask for after the server has refused `limit`; each further refusal halves it.
    """
    size = limit if limit <= LIMIT_CEILING else page
    items: list[Item] = []
    while len(items) < limit:
        count = min(size, limit - len(items))
        try:
            more = yield from _page(kind, line, read, count, offset + len(items))
        except CommandError as refusal:
            if refusal.code != "policy_reject" or count <= 1:
                raise
            size = page if count > page else count // 2
            continue
        items += more
        if len(more) < count:
            break
    return items


def _page(
    kind: AnswerKind,
    line: Callable[[ServerInfo, int, int], str],
    read: Callable[[str, ServerInfo], list[Item]],
    limit: int,
    offset: int,
) -> CallPlan[list[Item]]:
    """Plan one search. If the server refuses scores, or the number of objects that hold whole words, repeat it without;
    the connection notes the refusal.

    Args:
        kind, line, read: as in `_paged`.
    """
    while True:
        try:
            reply = yield Exchange(
                Mode.SEARCH, kind, kind, lambda server: [one_line(server, line(server, limit, offset))]
            )
        except NotOffered as refusal:
            if not refusal.what.startswith((SCORES, WHOLE)):
                raise
        else:
            return read(reply.answers[0], reply.server)


def _has_scores(server: ServerInfo) -> bool:
    return server.name == OUR_NAME and SCORES not in server.refused


def _has_whole(server: ServerInfo) -> bool:
    return server.name == OUR_NAME and WHOLE not in server.refused


def _hits(items: list[str], server: ServerInfo, *, has_buckets: bool = False) -> list[Hit]:
    if not _has_scores(server):
        return [Hit(name, None) for name in items]
    pairs = [item.rpartition(":") for item in items]
    scored = [(name, None if score == NO_SCORE else float(score)) for name, _, score in pairs]
    if not has_buckets:
        return [Hit(name, score) for name, score in scored]
    return [Hit(object, score, None, bucket) for name, score in scored for bucket, object in (split_bucket(name),)]


def _hits_with_words(items: list[str], server: ServerInfo, *, has_buckets: bool) -> list[Hit]:
    """Return hits with the words by which they answer, which follow the last colon of each item. `has_buckets`: items
    name the buckets of their objects."""
    pairs = [item.rpartition(":") for item in items]
    hits = _hits([name for name, _, _ in pairs], server, has_buckets=has_buckets)
    words = ([HeldWord(*word) for word in unpack_held(packed)] for _, _, packed in pairs)
    return [Hit(hit, hit.score, tuple(held), hit.bucket) for hit, held in zip(hits, words, strict=True)]


def _items(answer: str) -> list[str]:
    # Only spaces separate: names and words may hold other characters that Python counts as white space.
    return answer.split(" ") if answer else []
