"""Converts a store of format 3, whose postings lists were cut, to today's format.

Format 3 kept only the newest postings of a word, but the record of an object names all of its words. So the
conversion pushes every object again, bucket by bucket, from its record:

    stage     one transaction pushes the next objects of an old bucket, by rising IID, into a staged bucket with a fresh
              number, and notes the next IID
    switch    the transaction that pushes the last ones drops the old bucket and gives the staged one its name
    sweep     the rows of dropped buckets are deleted before the next bucket is staged, which then uses their pages
    finish    one transaction notes today's format

Each transaction is a step that can be resumed after a kill: the row `conversion` of `meta` holds the progress. The log
is not touched: its records are the same in both formats, and the store replays them afterwards.

In the default mode, words that format 3 hid as stop words become ordinary words.

A conversion does not keep everything: objects get new IIDs in the old order; graphs are built again without words that
no object holds any more, in compat mode, too; and in compat mode, whose lists are in the order of association, a word
that an old object gained late takes the place of its object.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING

from sonicpy._native.keys import bucket_key, object_key
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow
from sonicpy._native.terms import STOP, Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged, StoreFull
from sonicpy.ids import Scope
from sonicpy.late import late
from sonicpy.late_logger import LateLogger
from sonicpy.store.disk.checkpoint import CHECKPOINT_BYTES
from sonicpy.store.disk.environment import GROWTHS_MAX, Environment
from sonicpy.store.disk.table_numbers import DROPPED, META, OBJECTS, SCOPES
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import STAGING, collection_prefix, is_staged, scope_of
from sonicpy.store.rows.meta import (
    ANALYZER,
    CONVERSION,
    CONVERTED_FORMAT,
    FORMAT,
    FORMAT_VERSION,
    NEXT_BUCKET,
    ORDER,
    check_analyzer,
    check_format,
    note_format,
)
from sonicpy.store.rows.numbered_terms import terms_numbered
from sonicpy.store.views.write_cache import WriteCache
from sonicpy.store.views.write_view import WriteView

if TYPE_CHECKING:
    from sonicpy.store.changing.bucket_writer import writer_of
    from sonicpy.store.changing.sweep import sweep
else:
    writer_of = late("sonicpy.store.changing.bucket_writer", "writer_of", __name__)
    sweep = late("sonicpy.store.changing.sweep", "sweep", __name__)

logger = LateLogger(__name__)

STEP_ROWS = 64
"""The most rows of `objects` that one transaction converts: about a thousand objects."""
SWEPT_ROWS = 20_000
"""The most rows of dropped buckets that one transaction deletes."""
REPORT_SECONDS = 5.0
"""The interval between log lines about progress, in seconds."""
SCRIPTS_WITHOUT_BLANKS = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Burmese
    range(0x1780, 0x1800),  # Khmer
    range(0x3005, 0x3008),  # marks of Han
    range(0x3040, 0x3200),  # kana
    range(0x3400, 0xA000),  # Han
    range(0xAA60, 0xAA80),  # Burmese
    range(0xF900, 0xFB00),  # Han
    range(0xFF66, 0xFFA0),  # kana
    range(0x1B000, 0x1B170),  # kana
    range(0x20000, 0x32000),  # Han
)
"""Code points of the letters of scripts without blanks, whose runs are cut into pairs of letters."""

STAGED = Scope(STAGING, "converted")


def is_convertible(found: str | None) -> bool:
    """Return whether `Conversion` can read a store of this format, which may be converted in part."""
    return found == str(CONVERTED_FORMAT)


def bring_up_to_date(folder: Path, environment: Environment, analyzer: Mapping[str, str]) -> str | None:
    """Convert a store of an older format, and make the tables that it lacks; return its format; None: the store is new.

    Args:
        analyzer: the analysis of texts, by the names of its settings.

    Raises:
        StoreError: the store cannot be read with this analysis of texts; it stays as it is.
    """
    with environment.reading() as transaction:
        found = FORMAT.read(transaction)
        if found is not None and not is_convertible(found):
            check_format(transaction)
            check_analyzer(folder, transaction, analyzer)
    if is_convertible(found):
        Conversion(folder, environment, analyzer).run()
    environment.add_tables()
    return found


class Conversion:
    """Converts a store from format 3 to today's.

    Args:
        folder: the folder of the store, for messages.
        environment: the environment of the store, where no transaction is open.
        analyzer: the analysis settings of the converted store, including the order of its postings lists.

    Raises:
        StoreError: the store was made with another analyzer.
    """

    def __init__(self, folder: Path, environment: Environment, analyzer: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._analyzer = dict(analyzer)
        self._cache = WriteCache()
        self._first_key = b""
        self._objects = self._objects_done = 0
        with environment.reading() as transaction:
            stored = ANALYZER.read(transaction) or {}
            old = {key: value for key, value in analyzer.items() if key != ORDER or key in stored}
            check_analyzer(folder, transaction, old)
            self._count(transaction)

    def run(self) -> None:
        """Convert the store; resume an earlier run.

        Raises:
            StoreDamaged: an object cannot be read.
            StoreFull: the disk is full; the next run continues.
            StoreError: the store failed otherwise.
        """
        logger.warning(
            "the store %s has format %d: converting it to format %d, %d of %d objects are done; "
            "a conversion that is interrupted goes on at the next start",
            self._folder, CONVERTED_FORMAT, FORMAT_VERSION, self._objects_done, self._objects,
        )  # fmt: skip
        start = reported = time.monotonic()
        self._environment.add_tables()
        while self._do(self._step):
            now = time.monotonic()
            if now >= reported + REPORT_SECONDS:
                reported = now
                logger.warning("converted %d of %d objects", self._objects_done, self._objects)
        self._environment.sync()
        logger.warning("the store %s is converted, after %.1f seconds", self._folder, time.monotonic() - start)

    def _count(self, transaction: Transaction) -> None:
        """Count the objects of the store, and those that an earlier run has converted."""
        progress = CONVERSION.read(transaction)
        for key, row in transaction.rows(SCOPES, b""):
            state = BucketState.unpack(row)
            is_done = progress is not None and state.bucket >= progress[0]
            self._objects_done += state.objects if is_done else 0
            self._objects += state.objects if not is_staged(scope_of(key)) else 0

    def _do(self, step: Callable[[WriteView], bool]) -> bool:
        """Run a step in a transaction of its own and commit it; return whether anything is left to do. Raises StoreFull
        if growing the map does not help.
        """
        for _ in range(GROWTHS_MAX):
            if self._environment.needs_room():
                self._environment.grow()
            transaction = self._environment.begin()
            done = self._objects_done
            try:
                view = WriteView(transaction, self._cache, get_ident())
                are_left = step(view)
                view.flush()
            except BaseException as error:
                self._environment.abort(transaction)
                self._undo(done)
                if not isinstance(error, MapFull):
                    raise
                self._environment.grow()
                continue
            try:
                self._environment.commit(transaction)
            except MapFull:
                self._undo(done)
                self._environment.grow()
                continue
            if self._environment.replaced_bytes >= CHECKPOINT_BYTES:
                self._environment.sync()
            return are_left
        raise StoreFull("the store cannot be converted: its map is full whatever its size")

    def _undo(self, objects_done: int) -> None:
        self._cache.undo()
        self._objects_done = objects_done

    def _step(self, view: WriteView) -> bool:
        """Carry out the next step; return whether anything is left."""
        progress = CONVERSION.read(view.transaction)
        if progress is None:
            self._begin(view)
            return True
        first_new, next_iid = progress
        old = self._next_old(view.transaction, first_new)
        if old is None:
            note_format(view.transaction)
            view.transaction.delete(META, CONVERSION.name)
            return False
        if not next_iid and view.transaction.first(DROPPED, b"") is not None and sweep(view, SWEPT_ROWS):
            return True
        scope, bucket = old
        view.bucket_to_change(*STAGED)  # also for a bucket without objects
        next_iid = self._stage(view, bucket, next_iid)
        if not next_iid:
            view.forget_bucket(*scope)
            view.rename_bucket(STAGED, scope)
        CONVERSION.write(view.transaction, (first_new, next_iid))
        return True

    def _next_old(self, transaction: Transaction, first_new: int) -> tuple[Scope, int] | None:
        """Return the scope and the number of the first bucket, in order of names, that is not converted; None: all
        are."""
        for key, row in transaction.rows(SCOPES, b"", self._first_key):
            state = BucketState.unpack(row)
            if state.bucket < first_new:
                self._first_key = key  # no bucket before it is old: the next search begins here
                return scope_of(key), state.bucket
        return None

    def _begin(self, view: WriteView) -> None:
        """Write the analysis settings of the converted store: an old version refuses the store from now on."""
        for key, _ in list(view.transaction.rows(SCOPES, collection_prefix(STAGING))):
            view.forget_bucket(*scope_of(key))  # an unfinished restore left it behind
        ANALYZER.write(view.transaction, self._analyzer)
        CONVERSION.write(view.transaction, (NEXT_BUCKET.read(view.transaction) or 0, 0))

    def _stage(self, view: WriteView, bucket: int, next_iid: int) -> int:
        """Push the next objects of an old bucket into the staged one; return the IID to continue with, 0: done. Raises
        StoreDamaged if the old rows are damaged.
        """
        prefix = bucket_key(bucket)
        rows = view.transaction.some_rows(OBJECTS, object_key(bucket, next_iid // OBJECTS_PER_RECORD_ROW), STEP_ROWS)
        rows = [row for row in rows if row[0].startswith(prefix)]
        if not rows:
            return 0
        try:
            records = [
                ObjectRecord.unpack(packed, has_blocks=True)
                for _, row in rows
                for _, packed in RecordRow(row).records()
            ]
        except DamagedBytes as error:
            raise StoreDamaged(
                f"the store {self._folder} cannot be converted: bucket {bucket}, from object {next_iid} on: {error}"
            ) from error
        self._push(view, bucket, records)
        return 0 if len(rows) < STEP_ROWS else (_number(rows[-1][0]) + 1) * OBJECTS_PER_RECORD_ROW

    def _push(self, view: WriteView, bucket: int, records: list[ObjectRecord]) -> None:
        held = [record.terms() for record in records]
        term_ids = sorted({term_id for terms in held for term_id, *_ in terms})
        words = terms_numbered(view.transaction, bucket, term_ids)
        if len(words) < len(term_ids):
            raise StoreDamaged(
                f"the store {self._folder} cannot be converted: objects of bucket {bucket} name "
                f"{len(term_ids) - len(words)} missing terms"
            )
        writer = writer_of(view, *STAGED)
        for record, terms in zip(records, held, strict=True):
            writer.push(
                record.oid.decode(),
                Terms(
                    [words[term_id] for term_id, *_ in terms],
                    bytes(min(tf, 255) for _, tf, *_ in terms),
                    bytes(
                        STOP if hidden and (view.by_association or is_part(words[term_id])) else 0
                        for term_id, _, hidden, _ in terms
                    ),
                ),
            )
        self._objects_done += len(records)


def is_part(word: bytes) -> bool:
    """Return whether a hidden word may be a part of a run without blanks; if not, format 3 hid it as a stop word."""
    first = ord(word.decode()[0])
    return any(first in script for script in SCRIPTS_WITHOUT_BLANKS)


def _number(key: bytes) -> int:
    """Return the number that follows the bucket in a key."""
    return int.from_bytes(key[4:], "big")
