"""Pushes many rows: they are read and analysed in chunks, each of which is applied, logged and committed as a whole.

A chunk is read and analysed before its write transaction begins. So a slow generator of rows delays no other thread,
and may itself use the index.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Protocol, cast

from sonicpy._native.held import insist
from sonicpy._native.ids import is_sampled
from sonicpy._native.terms import Terms
from sonicpy.api.rows import REFUSED_MAX, OnProgress, PushReport, Refused, Row
from sonicpy.errors import InvalidArgument, StoreError
from sonicpy.index.ingest.embedded_rows import EmbeddedRows
from sonicpy.index.ingest.given_orders import order_of, order_of_texts
from sonicpy.index.ingest.given_vectors import vector_fields
from sonicpy.index.ingest.named_texts import text_fields
from sonicpy.index.ingest.row_digests import Changed, Digest, row_digests
from sonicpy.index.ingest.tagged import fields_of
from sonicpy.lexer.lexer import Lexer
from sonicpy.store.changing.mutations import AnyPush, Fields, PushTerms, PushWith, RulesDiffer, UpsertTerms
from sonicpy.store.fields.all_fields import DIGESTS

CHUNK_ROWS = 4_096
"""The most rows in a chunk. With smaller commits the rows of common words are rewritten too often; with larger ones,
other writing threads wait longer.
"""
SPREAD_BUCKETS, SPREAD_CHUNKS = 256, 3
"""A chunk may have SPREAD_CHUNKS * CHUNK_ROWS rows if they belong to more than SPREAD_BUCKETS buckets."""
CHUNK_CHARACTERS = 1 << 20
"""The number of characters of texts after which a chunk ends, because a chunk is held in memory."""


@dataclass(slots=True)
class Chunk:
    """Rows that are pushed as a whole.

    Attributes:
        first: the number of the first row.
        rows: all rows.
        places: the numbers of the rows that can be pushed.
        pushes: the pushes of these rows.
        refused: the other rows.
        unchanged: how many rows are not pushed, because their object holds just their text.
        vectors: the vectors that an embedder made of rows that replace texts, packed, by the numbers of these rows.
        there: the places, among `pushes`, of rows that were left out because their objects exist; None: the chunk was
            not applied.
    """

    first: int
    rows: list[Row | Refused]
    places: list[int] = field(default_factory=list)
    pushes: list[AnyPush] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    unchanged: int = 0
    vectors: dict[int, bytes] = field(default_factory=dict)
    there: list[int] | None = None


LexerOf = Callable[[str, str], Lexer]
"""Returns the lexer of the rules of a bucket; the newest lexer if its rules are not known yet."""


RefusalsOf = Callable[[Sequence[AnyPush]], list[str | None]]
"""Returns the reason why each of some pushes is refused, or None."""


class ChunkTaker(Protocol):
    """Stores the rows of a chunk, and sets its `there`.

    Raises:
        RulesDiffer: a row was cut by other rules than those of its bucket, which are noted now; nothing was stored.
        InvalidArgument: a row is refused; nothing was stored.
    """

    def __call__(self, chunk: Chunk, *, new: bool) -> None: ...


def push_rows(
    rows: Iterator[Row | Refused],
    lexer_of: LexerOf,
    take: ChunkTaker,
    settle: Callable[[], None],
    report: PushReport,
    *,
    new: bool,
    changed: Changed | None,
    progress: OnProgress | None,
    refusals: RefusalsOf,
    embedding: EmbeddedRows | None = None,
) -> None:
    """Push all rows, chunk by chunk.

    Args:
        lexer_of: returns the lexer of a bucket's texts.
        take: stores the pushes of a chunk.
        settle: called after an exception, stores a chunk that was applied.
        report: gets the outcome of each chunk, including one that was stored when an exception came.
        new: refuse rows whose object exists already.
        changed: returns the rows whose texts replace the words of their objects; None: texts add up.
        progress: called after each chunk with the number of rows that are done.
        refusals: called when `take` refuses a chunk, returns why each of its pushes is refused.
        embedding: makes the vectors of rows without one; None: they have none.

    Raises:
        StoreError: rows could not be stored; its note gives the number of stored rows, as those of all exceptions,
            also of the source of the rows, of `progress` and of signal handlers.
    """
    if embedding is not None and changed is not None:
        changed = partial(embedding.changed, changed=changed)
    note_it = partial(_note_interrupted, Chunk(report.rows, []), report, settle)
    try:
        while rows_of_chunk := _next_chunk(rows):
            chunk = Chunk(report.rows, rows_of_chunk)
            note_it = partial(_note_interrupted, chunk, report, settle)
            if embedding is not None and changed is None:
                embedding.give(chunk.rows)
            _push(chunk, lexer_of, take, changed, refusals, embedding, new=new)
            _note(chunk, report)
            if progress is not None:
                progress(report.rows)
    except BaseException as error:
        insist(note_it)
        error.add_note(f"{report.indexed} rows were indexed before, up to row {report.rows}")
        raise


def _push(
    chunk: Chunk,
    lexer_of: LexerOf,
    take: ChunkTaker,
    changed: Changed | None,
    refusals: RefusalsOf,
    embedding: EmbeddedRows | None,
    *,
    new: bool,
) -> None:
    was_on = gc.isenabled()
    try:
        gc.disable()  # the collector of garbage cycles would traverse thousands of live terms again and again
        while True:
            if changed is None:
                _analyze(chunk, lexer_of)
            else:
                _analyze_changed(chunk, lexer_of, changed)
                if embedding is not None:
                    if was_on:
                        gc.enable()  # a model may need it
                    _embed(chunk, embedding)
                    gc.disable()
            _group(chunk)
            try:
                _take(chunk, take, refusals, new=new)
            except RulesDiffer:  # `take` has noted the rules of the bucket
                chunk.pushes, chunk.places, chunk.refused, chunk.unchanged = [], [], [], 0
            else:
                return
    finally:
        if was_on:
            gc.enable()


def _take(chunk: Chunk, take: ChunkTaker, refusals: RefusalsOf, *, new: bool) -> None:
    """Store the rows of a chunk without those that are refused. Raises as `take`."""
    while True:
        try:
            take(chunk, new=new)
        except InvalidArgument:  # most chunks are checked as a whole alone
            if chunk.there is not None or not _refuse(chunk, refusals):
                raise
        else:
            return


def _note_interrupted(chunk: Chunk, report: PushReport, settle: Callable[[], None]) -> None:
    """Report a chunk that was applied before a signal handler raised."""
    if chunk.there is None or report.rows > chunk.first:
        return
    try:
        settle()
    except StoreError:  # the error that is on its way has the reason
        return
    _note(chunk, report)


def _note(chunk: Chunk, report: PushReport) -> None:
    """Report the outcome of a chunk, unless it was reported."""
    there = chunk.there or []
    refused = [*chunk.refused]
    for number in there:
        refused.append(Refused(chunk.places[number], chunk.pushes[number].oid, "the object exists already"))
    refused.sort()
    kept = report.refused + refused[: REFUSED_MAX - len(report.refused)]
    indexed = report.indexed + len(chunk.pushes) - len(there) + chunk.unchanged
    count, unchanged = report.refused_count + len(refused), report.unchanged + chunk.unchanged
    # No exception comes between these.
    report.refused, report.refused_count = kept, count
    report.indexed, report.rows, report.unchanged = indexed, chunk.first + len(chunk.rows), unchanged


def _analyze(chunk: Chunk, lexer_of: LexerOf) -> None:
    """Set the pushes of a chunk, and refuse the rows that cannot be pushed."""
    for place, row in enumerate(chunk.rows, chunk.first):
        if isinstance(row, Refused):
            chunk.refused.append(row)
            continue
        push = _analyzed(row, lexer_of(row.collection, row.bucket))
        if isinstance(push, str):
            chunk.refused.append(Refused(place, row.object, push))
            continue
        chunk.pushes.append(push)
        chunk.places.append(place)


def _analyze_changed(chunk: Chunk, lexer_of: LexerOf, changed: Changed) -> None:
    """Set the replacements of a chunk as `_analyze` sets pushes, without rows whose objects hold just their text."""
    rows = chunk.rows
    digests = row_digests(rows, lambda collection, bucket: lexer_of(collection, bucket).rules)
    places = changed(rows, digests)
    left, replaced = frozenset(places), set[tuple[str, str, str]]()
    are_all = len(left) == len(rows)
    names = frozenset() if are_all else frozenset(rows[place].object for place in places)
    seen = places if are_all else [place for place, row in enumerate(rows) if row.object in names] if names else []
    chunk.unchanged = len(rows) - len(seen)
    for place in seen:
        row = rows[place]
        if isinstance(row, Refused):
            chunk.refused.append(row)
            continue
        if not are_all and place not in left and row[:3] not in replaced:
            chunk.unchanged += 1
            continue
        push = _replacement(row, digests[place], lexer_of(row.collection, row.bucket))
        if isinstance(push, str):
            chunk.refused.append(Refused(chunk.first + place, row.object, push))
            continue
        if not are_all:
            replaced.add(row[:3])
        chunk.pushes.append(push)
        chunk.places.append(chunk.first + place)


def _replacement(row: Row, digest: Digest, lexer: Lexer) -> UpsertTerms | str:
    """Return the replacement of a row, or its refusal."""
    if isinstance(digest, UnicodeEncodeError):
        return _not_unicode(digest)
    assert digest is not None
    found = _terms_and_fields(row, lexer)
    if isinstance(found, str):
        return found
    terms, fields = found
    parts = (row.collection, row.bucket, row.object, terms, lexer.rules, (*fields, (DIGESTS.id, digest)))
    return tuple.__new__(UpsertTerms, parts)  # as _analyzed, in a fifth of the time of UpsertTerms()


def _embed(chunk: Chunk, embedding: EmbeddedRows) -> None:
    """Add vectors to the replacements of a chunk."""
    rows = cast(list[Row], [chunk.rows[place - chunk.first] for place in chunk.places])
    embedding.add(rows, chunk.places, cast(list[UpsertTerms], chunk.pushes), chunk.vectors)


def _refuse(chunk: Chunk, refusals: RefusalsOf) -> bool:
    """Refuse the rows that are too long, or that their buckets do not take; return whether there is one."""
    before, kept = len(chunk.refused), []
    for place, push, reason in zip(chunk.places, chunk.pushes, refusals(chunk.pushes), strict=True):
        if reason is None:
            kept.append((place, push))
        else:
            chunk.refused.append(Refused(place, push.oid, reason))
    chunk.places, chunk.pushes = [place for place, _ in kept], [push for _, push in kept]
    return len(chunk.refused) > before


def _group(chunk: Chunk) -> None:
    """Bring the pushes of one bucket together, in their order, so that each of its pages is written once."""
    scopes: dict[tuple[str, str], list[int]] = {}
    for number, push in enumerate(chunk.pushes):
        scopes.setdefault((push.collection, push.bucket), []).append(number)
    if len(scopes) > 1:
        order = [number for numbers in scopes.values() for number in numbers]
        chunk.pushes = [chunk.pushes[number] for number in order]
        chunk.places = [chunk.places[number] for number in order]


def _next_chunk(rows: Iterator[Row | Refused]) -> list[Row | Refused]:
    chunk: list[Row | Refused] = []
    characters = _read_rows(rows, CHUNK_ROWS, CHUNK_CHARACTERS, chunk)
    if len(chunk) == CHUNK_ROWS and characters > 0 and _is_spread(chunk):
        _read_rows(rows, (SPREAD_CHUNKS - 1) * CHUNK_ROWS, characters, chunk)
    return chunk


def _read_rows(rows: Iterator[Row | Refused], most: int, characters: int, chunk: list[Row | Refused]) -> int:
    """Add at most `most` rows to a chunk until their texts have `characters`; return how many characters are left."""
    for row in islice(rows, most):
        chunk.append(row)
        if isinstance(row, Row):
            characters -= len(row.text)
            if characters <= 0:
                break
    return characters


def _is_spread(chunk: list[Row | Refused]) -> bool:
    """Return whether the rows of a chunk are of many buckets."""
    return len({row[:2] for row in chunk if isinstance(row, Row)}) > SPREAD_BUCKETS


def _analyzed(row: Row, lexer: Lexer) -> AnyPush | str:
    """Return the PUSH of a row, or its refusal."""
    found = _terms_and_fields(row, lexer)
    if isinstance(found, str):
        return found
    terms, fields = found
    if fields:
        return PushWith(row.collection, row.bucket, row.object, terms, fields, lexer.rules)
    return tuple.__new__(PushTerms, (row.collection, row.bucket, row.object, terms, 0, lexer.rules))


def _terms_and_fields(row: Row, lexer: Lexer) -> tuple[Terms, Fields] | str:
    """Return the terms and the other fields of a row, or its refusal."""
    try:
        terms = lexer.lex_push(row.text, row.lang)
        if row.lang is not None or is_sampled(row.object):
            lexer.note_language(terms, row.text, row.lang)
    except UnicodeEncodeError as error:
        return _not_unicode(error)
    fields: Fields = ()
    if terms.piece is not None:
        lex = partial(lexer.lex_push, lang=row.lang)
        fields = order_of_texts(terms, row.texts.values(), lex) if row.texts else order_of(terms)
    if row.tags is not None or row.values is not None:
        fields += fields_of(row.tags, row.values)
    if row.vector is not None:
        fields += vector_fields(row.vector)
    if row.texts:
        fields += text_fields(row.texts, lambda text: terms if text == row.text else lexer.lex_push(text, row.lang))
    return terms, fields


def _not_unicode(error: UnicodeEncodeError) -> str:
    return f"the text is not Unicode: character {error.start} is a lone surrogate"
