"""What each method of a client sends and what it makes of the answers, without a socket: shared by both clients.

A plan is a generator. It yields an Exchange, receives the Reply (or the error, thrown into it), and returns the result.
"""

import json
import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from sonicpy.api.explanation import Explanation
from sonicpy.api.hits import Hit, Hits
from sonicpy.channel.commands import Mode
from sonicpy.channel.meta import LIMIT_CEILING
from sonicpy.client.conversation import Kind, ServerInfo
from sonicpy.client.exchange import Exchange, Reply
from sonicpy.client.lines import check_names, meta, need_no, one_line, path_word, push_lines, sendable, text_lines
from sonicpy.errors import CommandError, NotOffered

Value = TypeVar("Value")
Item = TypeVar("Item")
Plan = Generator[Exchange, Reply, Value]

OUR_NAME = "sonicpy"
"""The name in the greeting of servers that may know more than Sonic."""
SCORES = "SCORES"

QUERY_PAGE = 100
LIST_PAGE = 500
"""The most items that any server with default settings gives to one command; it may refuse to give more."""

MAINTENANCE_TIMEOUT_S = 3600.0
"""Time limit for commands that work on the whole store."""

_FIGURE = re.compile(r"(\w+)\((\d+)\)")


# -- ingest ------------------------------------------------------------------------------------------------------


def push(collection: str, bucket: str, object: str, text: str, lang: str | None) -> Plan[None]:
    """Plan PUSH, with as many lines as the text needs."""
    check_names(collection, bucket, object)
    yield Exchange(
        Mode.INGEST, "PUSH", Kind.OK, lambda server: push_lines(server, collection, bucket, object, text, lang)
    )


def pop(collection: str, bucket: str, object: str, text: str) -> Plan[int]:
    """Plan POP; the result is the number of words that all its lines removed."""
    check_names(collection, bucket, object)
    head = f"POP {collection} {bucket} {object} "
    reply = yield Exchange(
        Mode.INGEST, "POP", Kind.RESULT, lambda server: text_lines(server, head, text, ""), changes=True
    )
    return sum(map(int, reply.answers))


def flush(collection: str, bucket: str | None, object: str | None) -> Plan[int]:
    """Plan FLUSHC, FLUSHB or FLUSHO, by how many names are given."""
    if bucket is None:
        need_no(object)
        return number("FLUSHC", collection, changes=True)
    if object is None:
        return number("FLUSHB", collection, bucket, changes=True)
    return number("FLUSHO", collection, bucket, object, changes=True)


# -- search ------------------------------------------------------------------------------------------------------


def query(
    collection: str, bucket: str, text: str, limit: int, offset: int, lang: str | None, stem: bool, total: bool
) -> Plan[Hits]:
    """Plan QUERY, with scores if the server gives them."""
    check_names(collection, bucket)
    if total:
        raise NotOffered("the total of a query", "Sonic Channel does not give it")
    head = f"QUERY {collection} {bucket} {sendable(text)}"

    def line(server: ServerInfo, limit: int, offset: int) -> str:
        scores = 1 if _has_scores(server) else None
        return head + meta(
            LIMIT=limit, OFFSET=offset or None, LANG=lang, SCORES=scores, STEM=None if stem or scores is None else 0
        )

    found = yield from _paged(Kind.QUERY, line, _hits, limit, offset, QUERY_PAGE)
    scores = [hit.score for hit in found if hit.score is not None]
    return Hits([hit.object for hit in found], scores if len(scores) == len(found) else None)


def suggest(collection: str, bucket: str, word: str, limit: int) -> Plan[list[str]]:
    """Plan SUGGEST."""
    check_names(collection, bucket)
    line = f"SUGGEST {collection} {bucket} {sendable(word)}{meta(LIMIT=limit)}"
    return _items((yield _search("SUGGEST", Kind.SUGGEST, line)).answers[0])


def words(collection: str, bucket: str, limit: int, offset: int) -> Plan[list[str]]:
    """Plan LIST."""
    check_names(collection, bucket)

    def line(server: ServerInfo, limit: int, offset: int) -> str:
        return f"LIST {collection} {bucket}{meta(LIMIT=limit, OFFSET=offset or None)}"

    return (yield from _paged(Kind.LIST, line, lambda answer, server: _items(answer), limit, offset, LIST_PAGE))


def count(collection: str, bucket: str | None, object: str | None) -> Plan[int]:
    """Plan COUNT, which every version of Sonic knows: of buckets, words of a bucket, or words of an object."""
    if bucket is None:
        need_no(object)
    return number("COUNT", collection, bucket, object)


def number(
    command: str, collection: str, bucket: str | None = None, object: str | None = None, *, changes: bool = False
) -> Plan[int]:
    """Plan a command of mode ingest that takes names and answers with a number."""
    check_names(collection, bucket, object)
    line = " ".join(name for name in (command, collection, bucket, object) if name is not None)
    reply = yield Exchange(Mode.INGEST, command, Kind.RESULT, lambda server: [line], changes=changes)
    return int(reply.answers[0])


def explain(collection: str, bucket: str, text: str, limit: int, lang: str | None, stem: bool) -> Plan[Explanation]:
    """Plan EXPLAIN."""
    check_names(collection, bucket)
    line = f"EXPLAIN {collection} {bucket} {sendable(text)}{meta(LIMIT=limit, LANG=lang, STEM=None if stem else 0)}"
    return Explanation.from_json((yield _search("EXPLAIN", Kind.RESULT, line)).answers[0])


# -- control -----------------------------------------------------------------------------------------------------


def stats(collection: str | None, bucket: str | None) -> Plan[Any]:
    """Plan STATS; the result is its JSON, decoded."""
    if collection is None:
        if bucket is not None:
            raise ValueError(f"the bucket {bucket!r} is given without its collection")
        return control("STATS", Kind.RESULT, read=json.loads)
    check_names(collection, bucket)
    names = collection if bucket is None else f"{collection} {bucket}"
    return control("STATS", Kind.RESULT, names, read=json.loads)


def verify() -> Plan[Any]:
    """Plan VERIFY; the result is its JSON, decoded."""
    return control("VERIFY", Kind.RESULT, read=json.loads)


def backup(folder: Path | str) -> Plan[str]:
    """Plan TRIGGER backup."""
    return control("TRIGGER", Kind.OK, f"backup {path_word(folder)}", read=str)


def restore(folder: Path | str) -> Plan[str]:
    """Plan TRIGGER restore. It changes: a second one would lose what was pushed since the first."""
    return control("TRIGGER", Kind.OK, f"restore {path_word(folder)}", read=str, changes=True)


def consolidate() -> Plan[str]:
    """Plan TRIGGER consolidate; the server answers when the graphs are built."""
    return control("TRIGGER", Kind.OK, "consolidate", read=str)


def info() -> Plan[dict[str, int]]:
    """Plan INFO; the result is its figures by name."""
    return control("INFO", Kind.RESULT, read=lambda text: {key: int(value) for key, value in _FIGURE.findall(text)})


def ping(mode: Mode) -> Plan[ServerInfo]:
    """Plan PING; the result is what is known about the server."""
    return (yield Exchange(mode, "PING", Kind.PONG, lambda server: ["PING"])).server


def control(
    command: str, kind: Kind, arguments: str = "", *, read: Callable[[str], Value], changes: bool = False
) -> Plan[Value]:
    """Plan a command of mode control; `read` turns its answer into the result."""
    line = f"{command} {arguments}".rstrip()
    timeout_s = None if command == "INFO" else MAINTENANCE_TIMEOUT_S
    reply = yield Exchange(Mode.CONTROL, command, kind, lambda server: [line], changes, timeout_s)
    return read(reply.answers[0])


def _search(command: str, kind: Kind, line: str) -> Exchange:
    return Exchange(Mode.SEARCH, command, kind, lambda server: [one_line(server, line)])


# -- pages -------------------------------------------------------------------------------------------------------


def _paged(
    kind: Kind,
    line: Callable[[ServerInfo, int, int], str],
    read: Callable[[str, ServerInfo], list[Item]],
    limit: int,
    offset: int,
    page: int,
) -> Plan[list[Item]]:
    """Plan a search for `limit` items: one line, or several if the server refuses to give so many at once.

    Args:
        page: items to ask for when the server has refused `limit`; each further refusal halves it.
    """
    size = limit if limit <= LIMIT_CEILING else page
    items: list[Item] = []
    while True:
        count = min(size, limit - len(items))
        try:
            more = yield from _page(kind, line, read, count, offset + len(items))
        except CommandError as refusal:
            if refusal.code != "policy_reject" or count <= 1:
                raise
            size = page if count > page else count // 2
            continue
        items += more
        if len(more) < count or len(items) >= limit:
            return items


def _page(
    kind: Kind,
    line: Callable[[ServerInfo, int, int], str],
    read: Callable[[str, ServerInfo], list[Item]],
    limit: int,
    offset: int,
) -> Plan[list[Item]]:
    """Plan one search; repeat it without scores if the server refuses them, which each connection learns for itself."""
    while True:
        try:
            reply = yield Exchange(
                Mode.SEARCH, kind, kind, lambda server: [one_line(server, line(server, limit, offset))]
            )
        except NotOffered as refusal:
            if not refusal.what.startswith(SCORES):
                raise
        else:
            return read(reply.answers[0], reply.server)


def _has_scores(server: ServerInfo) -> bool:
    return server.name == OUR_NAME and SCORES not in server.refused


def _hits(answer: str, server: ServerInfo) -> list[Hit]:
    if not _has_scores(server):
        return [Hit(name, None) for name in _items(answer)]
    pairs = [item.rpartition(":") for item in _items(answer)]
    return [Hit(name, float(score)) for name, _, score in pairs]


def _items(answer: str) -> list[str]:
    # Only spaces separate: names and words may hold other characters that Python counts as white space.
    return answer.split(" ") if answer else []
