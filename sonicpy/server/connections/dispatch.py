"""The table of commands: each row has the call of the index, which returns the reply. `Service.execute` carries out
commands that take longer than a turn.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from sonicpy.bucket_names import as_given, in_bucket
from sonicpy.channel import replies
from sonicpy.channel.commands import (
    Buckets,
    Claim,
    Collections,
    Command,
    Count,
    CountB,
    CountC,
    CountFacets,
    CountO,
    Exists,
    Explain,
    FlushB,
    FlushC,
    FlushO,
    FlushV,
    List,
    Objects,
    Pop,
    Push,
    Query,
    SetSynonyms,
    Similar,
    Suggest,
    Synonyms,
    Tag,
    Upsert,
)
from sonicpy.errors import SonicError

if TYPE_CHECKING:
    from sonicpy.index.changing import Changing
    from sonicpy.index.index import Index


Take = Callable[[bytes | SonicError | None], None]
"""A function that takes a reply, or the error of a refused command; None: no answer came, and `Service.execute` has to
carry out the command.
"""


SYNONYMS_PAGE = 500
"""The most rules of synonyms in one answer."""


class Postponed(Exception):
    """A call cannot answer within a turn: another node answers, or `Service.execute` carries out the command.

    Args:
        ask: sends the command to another node, and later calls its argument, a `Take`, once. None: no other node can
            answer.
    """

    def __init__(self, ask: Callable[[Take], None] | None = None) -> None:
        super().__init__()
        self.ask = ask


class Relayed(NamedTuple):
    """A command that another node answers.

    Attributes:
        command: the command.
        ask: see `Postponed`.
        began: the time at which the command was read, by `time.perf_counter`.
    """

    command: Command
    ask: Callable[[Take], None]
    began: float


def push(index: "Changing", command: Push) -> bytes:
    collection, bucket, oid, text, lang, vector, tags, values, field = command  # push(*command) would copy the tuple
    if tags is None and values is None and vector is None and field is None:
        index.push(collection, bucket, oid, text, lang)
    else:
        index.push(collection, bucket, oid, text, lang, vector, tags=tags, values=values, field=field)
    return replies.OK


def upsert(index: "Changing", command: Upsert) -> bytes:
    collection, bucket, oid, _, lang, _, vector, tags, values, _ = command
    index.upsert(collection, bucket, oid, command.meant, lang, vector, tags=tags, values=values)
    return replies.OK


def tag(index: "Changing", command: Tag) -> bytes:
    return replies.result(index.tag(*command[:4], values=command.values))


def pop(index: "Changing", command: Pop) -> bytes:
    return replies.result(index.pop(*command))


def count(index: "Index", command: Count) -> bytes:
    collection, bucket, oid, buckets = command
    if bucket is None:
        return replies.result(index.count_buckets(collection))
    if oid is None:
        return replies.result(index.count_words(collection, as_given(bucket, buckets)))
    return replies.result(index.count_object_words(collection, bucket, oid))


def count_buckets(index: "Index", command: CountC) -> bytes:
    return replies.result(index.count_buckets(*command))


def count_objects(index: "Index", command: CountB) -> bytes:
    collection, bucket, buckets = command
    return replies.result(index.count_objects(collection, as_given(bucket, buckets)))


def count_object_words(index: "Index", command: CountO) -> bytes:
    return replies.result(index.count_object_words(*command))


def flush_collection(index: "Changing", command: FlushC) -> bytes:
    return replies.result(index.flush_collection(*command))


def flush_bucket(index: "Changing", command: FlushB) -> bytes:
    return replies.result(index.flush_bucket(*command))


def flush_object(index: "Changing", command: FlushO) -> bytes:
    return replies.result(index.flush_object(*command))


def flush_vectors(index: "Changing", command: FlushV) -> bytes:
    return replies.result(index.drop_vectors(*command))


def claim(index: "Changing", command: Claim) -> bytes:
    index.claim(command.collection, command.bucket, command.meant, prefix=command.prefix)
    return replies.OK


def set_synonyms(index: "Changing", command: SetSynonyms) -> bytes:
    return replies.result(index.set_synonyms(command.collection, command.meant, add=command.add))


def synonyms(index: "Index", command: Synonyms) -> bytes:
    rules = index.synonyms(command.collection)
    return replies.json_result(rules[command.position : command.position + SYNONYMS_PAGE])


def query(index: "Index", command: Query) -> bytes:
    if command.scores or command.total or command.how:
        hits = index.find_hits(command)
        hows = hits.hows if command.how else None
        pairs = hits.pairs()
        if hits.buckets is not None:
            pairs = [
                (in_bucket(bucket, name), score) for bucket, (name, score) in zip(hits.buckets, pairs, strict=True)
            ]
        return replies.hits(
            pairs, hits.total, scores=command.scores, counts_whole=command.counts_whole, whole=hits.whole, hows=hows,
            corrected=hits.corrected, groups=hits.groups,
        )  # fmt: skip
    return replies.event("QUERY", index.find_ids(command))


def explain(index: "Index", command: Explain) -> bytes:
    return replies.result(index.find_reasons(command).to_json())


def facets(index: "Index", command: CountFacets) -> bytes:
    return replies.result(index.find_facets(command).to_json())


def suggest(index: "Index", command: Suggest) -> bytes:
    collection, bucket, word, limit, filter, buckets = command
    found = index.suggest(collection, as_given(bucket, buckets), word, limit=limit, filter=filter)
    return replies.event("SUGGEST", found)


def list_words(index: "Index", command: List) -> bytes:
    collection, bucket, limit, offset, prefix, after, buckets = command
    found = index.words(collection, as_given(bucket, buckets), limit=limit, offset=offset, prefix=prefix, after=after)
    return replies.event("LIST", found)


def list_collections(index: "Index", command: Collections) -> bytes:
    return replies.json_result(index.collections_after(command.after, command.limit))


def list_buckets(index: "Index", command: Buckets) -> bytes:
    return replies.json_result(index.buckets_after(command.collection, command.after, command.limit))


def list_objects(index: "Index", command: Objects) -> bytes:
    collection, bucket, limit, prefix, after, position = command
    if position is None:
        position = 0 if after is None else index.position_after(collection, bucket, after)
    page = index.objects_from(collection, bucket, position, prefix=prefix, limit=limit)
    return replies.json_result(page._asdict())


def exists(index: "Index", command: Exists) -> bytes:
    return replies.result(int(index.exists(*command)))


def similar(index: "Index", command: Similar) -> bytes:
    collection, bucket, oid, limit, offset, scores = command
    hits = index.similar(collection, bucket, oid, limit=limit, offset=offset)
    return replies.hits(hits.pairs(), None, scores=scores, kind="SIMILAR")


# By type, never by comparing: as tuples, commands of two types can be equal.
CHANGES: dict[type, Callable[["Changing", Any], bytes]] = {
    Push: push,
    Tag: tag,
    Pop: pop,
    FlushC: flush_collection,
    FlushB: flush_bucket,
    FlushO: flush_object,
    Upsert: upsert,
    FlushV: flush_vectors,
    SetSynonyms: set_synonyms,
    Claim: claim,
}
"""Commands that change the index: their reply leaves only once the log holds the change."""
CALLS: dict[type, Callable[["Index", Any], bytes]] = {
    **CHANGES,
    Count: count,
    CountC: count_buckets,
    CountB: count_objects,
    CountO: count_object_words,
    Query: query,
    Explain: explain,
    CountFacets: facets,
    Suggest: suggest,
    List: list_words,
    Collections: list_collections,
    Buckets: list_buckets,
    Objects: list_objects,
    Exists: exists,
    Similar: similar,
    Synonyms: synonyms,
}

REMOVES = frozenset({FlushC, FlushO, FlushV})
"""Commands that may leave most of their work to steps between turns: their reply is sent after the last step."""
