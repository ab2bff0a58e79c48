"""Many rows into an index: read and analysed in chunks, each of which is applied, logged and committed as a whole.

A chunk is read and analysed before its write transaction begins, so a slow generator delays no other thread, and may
itself use the index.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Protocol

from sonicpy._native.terms import Terms
from sonicpy.api.rows import Progress, PushReport, Refused, Row
from sonicpy.errors import StoreError
from sonicpy.store.log import RECORD_MAX_BYTES
from sonicpy.store.mutations import PushTerms

CHUNK_ROWS = 4_096
"""Rows of a chunk, at most. A small commit rewrites the rows of common words too often; a large one makes other threads
that write wait."""
CHUNK_CHARACTERS = 1 << 20
"""Characters of texts at which a chunk ends too: the whole chunk is in memory."""


class Taker(Protocol):
    """Stores the rows of a chunk; returns the places of the rows that were left out, because their objects exist."""

    def __call__(self, pushes: list[PushTerms], *, new: bool) -> list[int]: ...


def push_rows(
    rows: Iterator[Row | Refused],
    lex: Callable[[str, str | None], Terms],
    take: Taker,
    *,
    new: bool,
    progress: Progress | None,
) -> PushReport:
    """Push all rows; return how many were indexed, and which were refused.

    Args:
        lex: returns the terms of a text in a language.
        take: stores the pushes of a chunk.
        new: refuse rows whose object exists already.
        progress: called after each chunk with the number of rows that are done.

    Raises:
        StoreError: rows could not be stored; its note says how many were.
    """
    report = PushReport()
    done = 0
    while chunk := _next_chunk(rows):
        with _collector_paused():
            places, pushes = _analyzed_chunk(chunk, done, lex, report)
            try:
                there = take(pushes, new=new)
            except StoreError as error:
                error.add_note(f"{report.indexed} rows were indexed before, up to row {done}")
                raise
        for number in there:
            report.refuse(Refused(places[number], pushes[number].oid, "the object exists already"))
        report.indexed += len(pushes) - len(there)
        done += len(chunk)
        if progress is not None:
            progress(done)
    report.refused.sort()
    return report


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the collector of garbage cycles for a `with` block: it would traverse thousands of live terms again and
    again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _analyzed_chunk(
    chunk: list[Row | Refused], first: int, lex: Callable[[str, str | None], Terms], report: PushReport
) -> tuple[list[int], list[PushTerms]]:
    """Return the numbers of the rows that can be pushed, and their PUSHes; report the others."""
    places, pushes = [], []
    for place, row in enumerate(chunk, first):
        if isinstance(row, Refused):
            report.refuse(row)
            continue
        push = _analyzed(row, lex)
        if isinstance(push, str):
            report.refuse(Refused(place, row.object, push))
            continue
        pushes.append(push)
        places.append(place)
    return places, pushes


def _next_chunk(rows: Iterator[Row | Refused]) -> list[Row | Refused]:
    chunk = []
    characters = 0
    for row in islice(rows, CHUNK_ROWS):
        chunk.append(row)
        if isinstance(row, Row):
            characters += len(row.text)
            if characters >= CHUNK_CHARACTERS:
                break
    return chunk


def _analyzed(row: Row, lex: Callable[[str, str | None], Terms]) -> PushTerms | str:
    """Return the PUSH of a row, or why there is none."""
    try:
        terms = lex(row.text, row.lang)
    except UnicodeEncodeError as error:
        return f"the text is not Unicode: character {error.start} is a lone surrogate"
    # A text gives at most about three times its bytes of terms; only what may be too long is measured.
    if 16 * len(row.text) > RECORD_MAX_BYTES and sum(map(len, terms.words)) + 12 * len(terms) > RECORD_MAX_BYTES:
        return f"its terms take more than {RECORD_MAX_BYTES} bytes: split the text"
    return PushTerms(row.collection, row.bucket, row.object, terms)
