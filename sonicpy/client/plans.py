"""What each method of a client asks and what it makes of the answers, without a socket: shared by both clients.

A plan is a generator: it yields an Exchange, is sent its Reply (or thrown what went wrong) and returns the result.
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
"""How servers greet that may know more than Sonic does."""
SCORES = "SCORES"

QUERY_PAGE = 100
LIST_PAGE = 500
"""What every server gives with one command on its defaults; more may be refused."""

UPKEEP_S = 3600.0
"""What works on all that is stored may take so long."""

_FIGURE = re.compile(r"(\w+)\((\d+)\)")


# -- changes -----------------------------------------------------------------------------------------------------


def push(collection: str, bucket: str, object: str, text: str, lang: str | None) -> Plan[None]:
    """Plan PUSH: as many lines as the text needs."""
    check_names(collection, bucket, object)
    yield Exchange(
        Mode.INGEST, "PUSH", Kind.OK, lambda facts: push_lines(facts, collection, bucket, object, text, lang)
    )


def pop(collection: str, bucket: str, object: str, text: str) -> Plan[int]:
    """Plan POP: what all its lines took away."""
    check_names(collection, bucket, object)
    head = f"POP {collection} {bucket} {object} "
    reply = yield Exchange(
        Mode.INGEST, "POP", Kind.RESULT, lambda facts: text_lines(facts, head, text, ""), changes=True
    )
    return sum(map(int, reply.answers))


def flush(collection: str, bucket: str | None, object: str | None) -> Plan[int]:
    """Plan the FLUSH of what is named."""
    if bucket is None:
        need_no(object)
        return number("FLUSHC", collection, changes=True)
    if object is None:
        return number("FLUSHB", collection, bucket, changes=True)
    return number("FLUSHO", collection, bucket, object, changes=True)


# -- answers -----------------------------------------------------------------------------------------------------


def query(
    collection: str, bucket: str, text: str, limit: int, offset: int, lang: str | None, total: bool
) -> Plan[Hits]:
    """Plan QUERY, with scores where the server knows them."""
    check_names(collection, bucket)
    if total:
        raise NotOffered("the total of a query", "Sonic Channel does not tell it")
    head = f"QUERY {collection} {bucket} {sendable(text)}"

    def line(facts: ServerInfo, limit: int, offset: int) -> str:
        scores = 1 if _has_scores(facts) else None
        return head + meta(LIMIT=limit, OFFSET=offset or None, LANG=lang, SCORES=scores)

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

    def line(facts: ServerInfo, limit: int, offset: int) -> str:
        return f"LIST {collection} {bucket}{meta(LIMIT=limit, OFFSET=offset or None)}"

    return (yield from _paged(Kind.LIST, line, lambda answer, facts: _items(answer), limit, offset, LIST_PAGE))


def count(collection: str, bucket: str | None, object: str | None) -> Plan[int]:
    """Plan COUNT, which servers of every age know: buckets, words of a bucket, or words of an object."""
    if bucket is None:
        need_no(object)
    return number("COUNT", collection, bucket, object)


def number(
    command: str, collection: str, bucket: str | None = None, object: str | None = None, *, changes: bool = False
) -> Plan[int]:
    """Plan a command of the ingest mode that takes names and answers a number."""
    check_names(collection, bucket, object)
    line = " ".join(name for name in (command, collection, bucket, object) if name is not None)
    reply = yield Exchange(Mode.INGEST, command, Kind.RESULT, lambda facts: [line], changes=changes)
    return int(reply.answers[0])


def explain(collection: str, bucket: str, text: str, limit: int, lang: str | None) -> Plan[Explanation]:
    """Plan EXPLAIN."""
    check_names(collection, bucket)
    line = f"EXPLAIN {collection} {bucket} {sendable(text)}{meta(LIMIT=limit, LANG=lang)}"
    return Explanation.from_json((yield _search("EXPLAIN", Kind.RESULT, line)).answers[0])


# -- upkeep ------------------------------------------------------------------------------------------------------


def stats(collection: str | None, bucket: str | None) -> Plan[Any]:
    """Plan STATS: what its JSON says."""
    if collection is None:
        if bucket is not None:
            raise ValueError(f"the bucket {bucket!r} is given without its collection")
        return control("STATS", Kind.RESULT, read=json.loads)
    check_names(collection, bucket)
    names = collection if bucket is None else f"{collection} {bucket}"
    return control("STATS", Kind.RESULT, names, read=json.loads)


def verify() -> Plan[Any]:
    """Plan VERIFY: what its JSON says."""
    return control("VERIFY", Kind.RESULT, read=json.loads)


def backup(folder: Path | str) -> Plan[str]:
    """Plan TRIGGER backup."""
    return control("TRIGGER", Kind.OK, f"backup {path_word(folder)}", read=str)


def restore(folder: Path | str) -> Plan[str]:
    """Plan TRIGGER restore: what was pushed meanwhile would be lost by a second one."""
    return control("TRIGGER", Kind.OK, f"restore {path_word(folder)}", read=str, changes=True)


def consolidate() -> Plan[str]:
    """Plan TRIGGER consolidate, which is answered when the graphs are built."""
    return control("TRIGGER", Kind.OK, "consolidate", read=str)


def info() -> Plan[dict[str, int]]:
    """Plan INFO: its figures by name."""
    return control("INFO", Kind.RESULT, read=lambda text: {key: int(value) for key, value in _FIGURE.findall(text)})


def ping(mode: Mode) -> Plan[ServerInfo]:
    """Plan PING: who answers."""
    return (yield Exchange(mode, "PING", Kind.PONG, lambda facts: ["PING"])).facts


def control(
    command: str, kind: Kind, arguments: str = "", *, read: Callable[[str], Value], changes: bool = False
) -> Plan[Value]:
    """Plan a command of the control mode; `read` makes the result of its answer."""
    line = f"{command} {arguments}".rstrip()
    timeout_s = None if command == "INFO" else UPKEEP_S
    reply = yield Exchange(Mode.CONTROL, command, kind, lambda facts: [line], changes, timeout_s)
    return read(reply.answers[0])


def _search(command: str, kind: Kind, line: str) -> Exchange:
    return Exchange(Mode.SEARCH, command, kind, lambda facts: [one_line(facts, line)])


# -- pages -------------------------------------------------------------------------------------------------------


def _paged(
    kind: Kind,
    line: Callable[[ServerInfo, int, int], str],
    read: Callable[[str, ServerInfo], list[Item]],
    limit: int,
    offset: int,
    page: int,
) -> Plan[list[Item]]:
    """Plan a search for `limit` items: with one line, or with several if that is more than the server gives at once.

    Args:
        page: what is asked for when the whole was refused; when that is refused too, half of it, and so on.
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
    """Plan one search, again for each connection whose server refuses what it is the first to be asked for."""
    while True:
        try:
            reply = yield Exchange(Mode.SEARCH, kind, kind, lambda facts: [one_line(facts, line(facts, limit, offset))])
        except NotOffered as refusal:
            if not refusal.what.startswith(SCORES):
                raise
        else:
            return read(reply.answers[0], reply.facts)


def _has_scores(facts: ServerInfo) -> bool:
    return facts.name == OUR_NAME and SCORES not in facts.refused


def _hits(answer: str, facts: ServerInfo) -> list[Hit]:
    if not _has_scores(facts):
        return [Hit(name, None) for name in _items(answer)]
    pairs = [item.rpartition(":") for item in _items(answer)]
    return [Hit(name, float(score)) for name, _, score in pairs]


def _items(answer: str) -> list[str]:
    # At blanks alone: names and words may hold other characters that Python counts as white space.
    return answer.split(" ") if answer else []
