"""A mirror: a bucket, or the objects of a bucket whose names begin alike, in step with a table.

A pass reads rows and replaces the texts of their objects; rows whose object holds just their text cost a look-up. A
whole pass then erases the objects that no row names. The owner of a mirror is a fact of the bucket.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from typing import Any, Protocol

from sonicpy.api.rows import OnProgress, PushReport, Refused, Row, Shape
from sonicpy.arguments import check_source
from sonicpy.errors import InvalidArgument
from sonicpy.ids import OBJECT_NAME, is_object_name, shown
from sonicpy.index.claims import claim_of, is_claimed, notes_in
from sonicpy.index.ingest.held_parts import holds_row
from sonicpy.index.ingest.row_digests import Changed, changed_rows, row_digests
from sonicpy.index.known_objects import KnownObjects

ROWS_AT_ONCE = 1_024
SAMPLES_MAX = 10


@dataclass(slots=True)
class MirrorReport:
    """The result of a pass.

    Attributes:
        rows: how many rows were read.
        changed: how many of them changed their object, or made it.
        unchanged: how many of them changed nothing.
        gone: how many objects were erased, because no row names them; none if a row has no name.
        refused: the first rows that were refused; an object of such a row stays as it is.
        refused_count: how many rows were refused.
        failed_count: how many of the refused rows a server failed with, so that it may take them later.
    """

    rows: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    refused: list[Refused] = field(default_factory=list)
    refused_count: int = 0
    failed_count: int = 0


@dataclass(slots=True)
class Drift:
    """The difference between a table and a mirror.

    Attributes:
        rows: how many rows were compared.
        missing, changed, extra: the numbers of objects that are missing; whose text differs from that of their row, or
            that have no digest; and that have no row.
        samples: names of some of them, by the name of the attribute.
        refused_count: how many rows are refused, such as those that name no object.
    """

    rows: int = 0
    missing: int = 0
    changed: int = 0
    extra: int = 0
    samples: dict[str, list[str]] = field(default_factory=lambda: {"missing": [], "changed": [], "extra": []})
    refused_count: int = 0

    def __bool__(self) -> bool:
        """Return whether there is a difference."""
        return bool(self.missing or self.changed or self.extra)

    def note(self, kind: str, name: str) -> None:
        """Count an object that differs, by the attribute `kind`, and keep the first names as samples."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.samples[kind]) < SAMPLES_MAX:
            self.samples[kind].append(name)


class MirroredIndex(Protocol):
    """The methods of an Index that a mirror needs; `Index` documents them."""

    @property
    def engine(self) -> Any: ...
    def _check_upsert(self) -> None: ...
    def claim(self, collection: str, bucket: str, owner: str, *, prefix: str = "") -> None: ...
    def batch(self) -> AbstractContextManager[Any]: ...
    def flush_object(self, collection: str, bucket: str, object: str) -> int: ...
    def exists(self, collection: str, bucket: str, object: str) -> bool: ...
    def text_rules(self, collection: str, bucket: str) -> int: ...
    def digests(self, collection: str, bucket: str, objects: Sequence[str]) -> list[bytes | None]: ...
    def push_read(
        self, rows: Iterator[Row | Refused], report: PushReport, progress: OnProgress | None, *, changed: Changed
    ) -> None: ...


class Mirror:
    """A mirror of one source.

    Args:
        index: holds the bucket.
        shape: names the bucket of all rows, and the values and whether tags are given: all those of an object.
        owner: the name of the source.
        prefix: the names of the mirror's objects begin with it.

    Attributes:
        changed: how many rows of the pass have changed their object so far.
        gone: how many objects the pass has erased so far.

    Raises:
        InvalidArgument: a name is not allowed; the bucket is the mirror of another source; or the index is in compat
            mode.
    """

    def __init__(self, index: MirroredIndex, shape: Shape, owner: str, prefix: str) -> None:
        check_source(owner, prefix)
        index._check_upsert()
        self._index = index
        self.changed = self.gone = 0
        assert shape.collection is not None and shape.bucket is not None
        self._scope = (shape.collection, shape.bucket)
        self._prefix = prefix
        self._owner = owner
        self._tags = bool(shape.tag_columns)
        self._values = tuple(shape.value_columns)
        self._waiting: set[str] = set()  # the objects whose tags and values a row changes that is not stored yet
        with index.engine.read() as view:
            held = notes_in(view, shape.collection, shape.bucket)
        found = is_claimed(held, shape.bucket, owner, prefix)
        if isinstance(found, str):
            raise InvalidArgument(found)
        self._noted = held.get(prefix, {})

    def take(self, rows: Iterable[Row | Refused], *, whole: bool, progress: OnProgress | None = None) -> MirrorReport:
        """Bring the objects in step with the rows; return the counts.

        Args:
            rows: rows of this bucket.
            whole: the rows are the whole table: erase the objects without a row that existed when the pass began,
                unless the name of a row is missing.
            progress: called with the number of rows that are done, now and then.

        Raises:
            StoreError: a change could not be stored; the changes before it are.
        """
        engine = self._index.engine
        now = partial(changed_rows, have_digests=engine.have_digests, holds_row=partial(holds_row, engine))
        known = KnownObjects(engine, *self._scope, self._prefix, now) if whole else None
        self._index.claim(*self._scope, self._owner, prefix=self._prefix)
        report, pushed = MirrorReport(), PushReport()
        self.gone = 0
        self._waiting.clear()

        def note(rows_done: int) -> None:
            self._waiting.clear()
            self.changed = pushed.indexed - pushed.unchanged
            if progress is not None:
                progress(rows_done)

        self._index.push_read(self._of_mirror(rows), pushed, note, changed=now if known is None else known.changed)
        report.rows = pushed.rows
        report.unchanged = pushed.unchanged
        report.changed = pushed.indexed - pushed.unchanged
        report.refused, report.refused_count = pushed.refused, pushed.refused_count
        if known is not None and not known.has_nameless:
            report.gone = self.erase(known.without_row(), lambda: note(pushed.rows))
        return report

    def erase(self, names: Iterable[str], note: Callable[[], object] | None = None) -> int:
        """Erase objects; return how many there were. `note` is called when some of them are gone."""
        gone, names = 0, iter(names)
        while some := list(islice(names, ROWS_AT_ONCE)):
            with self._index.batch():
                for name in some:
                    if self._index.exists(*self._scope, name):
                        self._index.flush_object(*self._scope, name)
                        gone += 1
            self.gone = gone
            if note is not None:
                note()
        return gone

    def check(self, rows: Iterable[Row | Refused]) -> Drift:
        """Return the differences between rows and objects, found by digests alone; change nothing."""
        drift, rules = Drift(), self._index.text_rules(*self._scope)
        now = partial(changed_rows, have_digests=self._have_digests, holds_row=partial(holds_row, self._index.engine))
        known = KnownObjects(self._index.engine, *self._scope, self._prefix, now)
        taken = self._of_mirror(rows)
        while some := list(islice(taken, ROWS_AT_ONCE)):
            digests = row_digests(some, lambda *scope: rules)
            drift.rows += len(some)
            drift.refused_count += sum(isinstance(row, Refused) for row in some)
            for place in known.changed(some, digests):
                row = some[place]
                if isinstance(row, Row):
                    is_there = self._index.exists(*self._scope, row.object)
                    drift.note("changed" if is_there else "missing", row.object)
        for name in known.without_row():
            drift.note("extra", name)
        return drift

    def watermark(self, column: str) -> Any:
        """Return the greatest value of a column so far, if the last pass noted that of this column; None: it did not.
        A note of an older version has no column, and counts for any.
        """
        return self._noted.get("watermark") if self._noted.get("column", column) == column else None

    def note_watermark(self, column: str, value: Any) -> None:
        """Note the greatest value of a column, with which the next pass begins."""
        rules, note = self._index.text_rules(*self._scope), {"watermark": value, "column": column}
        self._index.engine.apply(claim_of(*self._scope, self._owner, self._prefix, rules, note))
        self._noted = note

    def _have_digests(self, collection: str, bucket: str, asked: Sequence[tuple[str, bytes]]) -> list[bool]:
        held = self._index.digests(collection, bucket, [name for name, _ in asked])
        return [digest == wanted for digest, (_, wanted) in zip(held, asked, strict=True)]

    def _of_mirror(self, rows: Iterable[Row | Refused]) -> Iterator[Row | Refused]:
        """Return rows with the whole names of their objects, and all tags and values that these must have."""
        is_plain = not (self._prefix or self._tags or self._values)
        return iter(rows) if is_plain else map(self._full_row, count(), rows)

    def _full_row(self, number: int, row: Row | Refused) -> Row | Refused:
        if not isinstance(row, Row):
            return row
        if self._prefix:
            name = f"{self._prefix}{row.object}"
            if not is_object_name(name):
                return Refused(number, row.object, f"object is {shown(name)}; allowed are {OBJECT_NAME}")
            row = row._replace(object=name)
        return self._with_others(row) if self._tags or self._values else row

    def _with_others(self, row: Row) -> Row:
        """Return a row with all tags and values that its object must have, or with none if it has just these.

        The earlier rows of a chunk are stored after the later ones are read, so an object that they change is not
        compared.
        """
        tags = (row.tags or []) if self._tags else None
        values = {name: (row.values or {}).get(name) for name in self._values}
        full = row._replace(tags=tags, values=values)
        if row.object not in self._waiting and holds_row(self._index.engine, full._replace(vector=None)):
            return row._replace(tags=None, values=None)
        self._waiting.add(row.object)
        return full
