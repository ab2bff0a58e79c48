"""The plans of the methods of a client that change something; see `client.plans`."""

from collections.abc import Iterable, Mapping
from typing import Any

from sonicpy.api.counted import need_no
from sonicpy.arguments import bucket_of_filter, check_source, language_of, nothing_to_tag, text_of
from sonicpy.channel.commands import Mode
from sonicpy.channel.quoting import quoted
from sonicpy.client.conversation import OUR_NAME, AnswerKind, ServerInfo
from sonicpy.client.exchange import MAINTENANCE_TIMEOUT_S, CallPlan, Exchange
from sonicpy.client.lines import (
    check_names,
    check_scope,
    meta,
    object_word,
    one_line,
    push_lines,
    scope_words,
    tagging,
    text_lines,
    upsert_lines,
)
from sonicpy.errors import InvalidArgument
from sonicpy.filters.grammar import filter_text
from sonicpy.ids import ObjectName, shown
from sonicpy.search import FilterLike
from sonicpy.text_names import name_of_text, texts_of
from sonicpy.vectors import Vector, bits_of, is_column


def push(
    collection: str,
    bucket: str,
    object: ObjectName,
    text: str,
    lang: str | None,
    vector: Vector = None,
    tags: Iterable[str] | None = None,
    values: Mapping[str, Any] | None = None,
    field: str | None = None,
) -> CallPlan[None]:
    """Plan PUSH, with as many lines as the text needs; the arguments are those of `Client.push`."""
    check_scope(collection, bucket)
    oid, given = object_word(object, new=True), text_of("text", text)
    options = {"lang": language_of(lang), "vector": bits_of("vector", vector), **tagging(tags, values)}
    if field is not None:
        options["field"] = name_of_text(field)
    yield Exchange(
        Mode.INGEST, "PUSH", AnswerKind.OK, lambda server: push_lines(server, collection, bucket, oid, given, options)
    )


def tag(
    collection: str,
    bucket: str,
    object: ObjectName,
    tags: Iterable[str] | None,
    values: Mapping[str, Any] | None,
) -> CallPlan[int]:
    """Plan TAG; the result is 1, or 0 if there is no such object. Raises InvalidArgument if nothing is to change."""
    where = scope_words(collection, bucket)
    if tags is None and values is None:
        raise nothing_to_tag()
    line = f"TAG {where} {object_word(object)}{meta('TAG', tagging(tags, values))}"
    reply = yield Exchange(Mode.INGEST, "TAG", AnswerKind.RESULT, lambda server: [one_line(server, line)], changes=True)
    return int(reply.answers[0])


def upsert(
    collection: str,
    bucket: str,
    object: ObjectName,
    text: str | Mapping[str, str],
    lang: str | None,
    vector: Vector = None,
    tags: Iterable[str] | None = None,
    values: Mapping[str, Any] | None = None,
) -> CallPlan[None]:
    """Plan UPSERT, with as many lines as the text needs; the arguments are those of `Client.upsert`."""
    check_scope(collection, bucket)
    oid = object_word(object, new=True)
    given = texts_of(text) if isinstance(text, Mapping) else text_of("text", text)
    options = {"lang": language_of(lang), "vector": bits_of("vector", vector), **tagging(tags, values)}
    yield Exchange(
        Mode.INGEST,
        "UPSERT",
        AnswerKind.OK,
        lambda server: upsert_lines(server, collection, bucket, oid, given, options),
    )


def pop(collection: str, bucket: str, object: ObjectName, text: str) -> CallPlan[int]:
    """Plan POP; the result is the number of words that all its lines have removed."""
    where = scope_words(collection, bucket)
    head, given = f"POP {where} {object_word(object)} ", text_of("text", text)
    reply = yield Exchange(
        Mode.INGEST, "POP", AnswerKind.RESULT, lambda server: text_lines(server, head, given, ""), changes=True
    )
    return sum(map(int, reply.answers))


def flush(collection: str, bucket: str | None, object: ObjectName | None, filter: FilterLike = None) -> CallPlan[int]:
    """Plan FLUSHC, FLUSHB or FLUSHO, depending on the names given, or FLUSH with a filter."""
    if filter is not None:
        return _flush_passing(collection, bucket, object, filter)
    if bucket is None:
        need_no(object)
        return number("FLUSHC", collection, changes=True)
    if object is None:
        return number("FLUSHB", collection, bucket, changes=True)
    return number("FLUSHO", collection, bucket, object, changes=True)


def claim(collection: str, bucket: str, owner: str, prefix: str) -> CallPlan[None]:
    """Plan CLAIM; the arguments are those of `Client.claim`."""
    where = scope_words(collection, bucket)
    check_source(owner, prefix)
    line = f"CLAIM {where} {quoted(owner)}{meta('CLAIM', {'prefix': prefix})}"
    yield Exchange(Mode.INGEST, "CLAIM", AnswerKind.OK, lambda server: [one_line(server, line)])


def drop_vectors(collection: str, bucket: str, column: str) -> CallPlan[int]:
    """Plan FLUSHV. Raises InvalidArgument if `column` is not the name of a column."""
    where = scope_words(collection, bucket)
    name = text_of("column", column)
    if name and not is_column(name):
        raise InvalidArgument(f"column is {shown(name)}; allowed is the name of a column of vectors")
    line = f"FLUSHV {where} {name}".rstrip()
    reply = yield Exchange(Mode.INGEST, "FLUSHV", AnswerKind.RESULT, lambda server: [line], changes=True)
    return int(reply.answers[0])


def _flush_passing(collection: str, bucket: str | None, object: ObjectName | None, filter: FilterLike) -> CallPlan[int]:
    bucket = bucket_of_filter(bucket, object)
    where = scope_words(collection, bucket)
    line = f"FLUSH {where}{meta('FLUSH', {'filter': filter_text(filter)})}"
    reply = yield Exchange(
        Mode.INGEST,
        "FLUSH",
        AnswerKind.RESULT,
        lambda server: [one_line(server, line)],
        changes=True,
        timeout_s=MAINTENANCE_TIMEOUT_S,  # it erases object by object
    )
    return int(reply.answers[0])


def count_object_words(collection: str, bucket: str, object: ObjectName) -> CallPlan[int]:
    """Plan COUNT of the words of an object: sonicpy gets COUNTO, because COUNT may have an option in the place of the
    object there; Sonic gets COUNT, because its older versions lack COUNTO.
    """
    where = scope_words(collection, bucket)
    names = f"{where} {object_word(object)}"

    def lines(server: ServerInfo) -> list[str]:
        return [one_line(server, f"{'COUNTO' if server.name == OUR_NAME else 'COUNT'} {names}")]

    return int((yield Exchange(Mode.INGEST, "COUNT", AnswerKind.RESULT, lines)).answers[0])


def number(
    command: str,
    collection: str,
    bucket: str | None = None,
    object: ObjectName | None = None,
    options: str = "",
    *,
    changes: bool = False,
) -> CallPlan[int]:
    """Plan a command of mode ingest that takes names and answers with a number.

    Args:
        options: META arguments, each with a space before it.
        command: the first word of the line.
        collection, bucket, object: the names; those that are None are left out.
        changes: see `Exchange.changes`.
    """
    check_names(collection, bucket)
    oid = None if object is None else object_word(object)
    line = " ".join(name for name in (command, collection, bucket, oid) if name is not None) + options
    reply = yield Exchange(
        Mode.INGEST, command, AnswerKind.RESULT, lambda server: [one_line(server, line)], changes=changes
    )
    return int(reply.answers[0])
