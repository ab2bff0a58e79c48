"""The targets of `sonicpy mirror`: an index in a folder, or a server."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Protocol

from sonicpy.api.rows import OnProgress, Refused, Row, Shape, read_rows
from sonicpy.client.blocking.client import Client
from sonicpy.index.index import Index
from sonicpy.index.mirrored import Mirror, MirrorReport

NAMES_AT_ONCE = 1_000


def _shape_of(columns: Mapping[str, Any]) -> Shape:
    return Shape(**{name: value for name, value in columns.items() if name != "prefix"}, is_one_bucket=True)


class MirrorTarget(Protocol):
    """A bucket that `sonicpy mirror` keeps in step with a table."""

    @property
    def changed(self) -> int | None:
        """How many rows of the pass have changed their object so far; None: this is not known."""

    @property
    def gone(self) -> int:
        """How many objects the pass has erased so far."""

    def take(self, rows: Iterable[Mapping[str, Any]], *, whole: bool, progress: OnProgress) -> MirrorReport:
        """Bring the objects in step with rows, and return a report; see `Index.mirror`."""

    def erase(self, names: Iterable[str], note: Callable[[], object]) -> int:
        """Erase objects; return how many there were. `note` is called when some of them are gone."""

    def watermark(self, column: str) -> Any:
        """Return the greatest value of a column so far; None: no pass has noted one, or the next has to be whole."""

    def note_watermark(self, column: str, value: Any) -> None:
        """Store the value of the column with which the next pass begins."""

    def doubt(self) -> None:
        """Take note that the target was away: it may have lost rows that it had."""


class FolderTarget:
    """A bucket of an index.

    Args:
        columns: the columns of rows, as `Index.mirror` takes them.
        owner: the name of the source.
    """

    def __init__(self, index: Index, columns: Mapping[str, Any], owner: str) -> None:
        self._shape = _shape_of(columns)
        self._mirror = Mirror(index, self._shape, owner, columns["prefix"])

    @property
    def changed(self) -> int | None:
        """How many rows of the pass have changed their object so far."""
        return self._mirror.changed

    @property
    def gone(self) -> int:
        """How many objects the pass has erased so far."""
        return self._mirror.gone

    def take(self, rows: Iterable[Mapping[str, Any]], *, whole: bool, progress: OnProgress) -> MirrorReport:
        """Bring the objects in step with rows, and return a report.

        Args:
            whole: whether the rows are all rows, so that other objects are removed.
            progress: called from time to time with the number of rows that are done.
        """
        return self._mirror.take(read_rows(rows, self._shape), whole=whole, progress=progress)

    def erase(self, names: Iterable[str], note: Callable[[], object]) -> int:
        """Erase objects; return how many there were. `note` is called when some of them are gone."""
        return self._mirror.erase(names, note)

    def watermark(self, column: str) -> Any:
        """Return the value of the watermark that the index holds; None: it holds none of this column."""
        return self._mirror.watermark(column)

    def note_watermark(self, column: str, value: Any) -> None:
        """Store the value of the watermark in the index."""
        self._mirror.note_watermark(column, value)

    def doubt(self) -> None:
        """Do nothing: the watermark and the rows are in one log, and so are lost together."""


class ServerTarget:
    """A bucket of a server, which compares the digests of texts itself. The watermark lasts as long as this process.

    Args:
        columns, owner: as in `FolderTarget`.
    """

    def __init__(self, client: Client, columns: Mapping[str, Any], owner: str) -> None:
        self._client = client
        self._owner = owner
        self._columns = columns
        self._watermark: Any = None
        self.changed: int | None = None
        self.gone = 0
        self._held: tuple[set[str], ...] | None = None  # the names of all objects; None: not known

    def take(self, rows: Iterable[Mapping[str, Any]], *, whole: bool, progress: OnProgress) -> MirrorReport:
        """Bring the objects in step with rows, and return a report; see `Index.mirror`. The report lacks the number of
        unchanged objects, because the server answers OK to each.
        """
        collection, bucket, prefix = self._columns["collection"], self._columns["bucket"], self._columns["prefix"]
        shape = _shape_of(self._columns)
        self.gone = 0
        self._client.claim(collection, bucket, self._owner, prefix=prefix)
        before = set(self._client.iterate_objects(collection, bucket, prefix=prefix)) if whole else set()
        seen, has_nameless = set[str](), False
        self._held = (before, seen) if whole else None

        def named() -> Iterable[Row | Refused]:
            nonlocal has_nameless
            for row in read_rows(rows, shape):
                has_nameless |= not row.object
                seen.add(f"{prefix}{row.object}")
                if isinstance(row, Refused):
                    yield row
                else:
                    yield self._with_all(row._replace(object=f"{prefix}{row.object}"), shape)

        pushed = self._client.push_many(named(), upsert=True, progress=progress)
        counts = (pushed.refused_count, pushed.failed_count)
        report = MirrorReport(pushed.rows, pushed.indexed, 0, 0, pushed.refused, *counts)
        if whole and not has_nameless:
            report.gone = self.erase(before - seen, lambda: progress(pushed.rows))
        return report

    def erase(self, names: Iterable[str], note: Callable[[], object]) -> int:
        """Erase objects; return how many there were. `note` is called when some of them are gone."""
        collection, bucket = self._columns["collection"], self._columns["bucket"]
        gone, held = 0, self._held
        left = (name for name in names if held is None or any(name in some for some in held))
        while some := list(islice(left, NAMES_AT_ONCE)):
            for name in some:
                if self._client.exists(collection, bucket, name):
                    self._client.flush_object(collection, bucket, name)
                    gone += 1
            self.gone = gone
            note()
        return gone

    def watermark(self, column: str) -> Any:
        """Return the value of the watermark; None: the next pass has to be whole, because none has ended since the
        server was away, or the bucket is empty.
        """
        return self._watermark if self._watermark is not None and self._has_bucket() else None

    def note_watermark(self, column: str, value: Any) -> None:
        """Keep the value of the watermark until the process ends, or a pass fails."""
        self._watermark = value

    def doubt(self) -> None:
        """Forget the watermark, so that the next pass is whole."""
        self._watermark = None

    def _has_bucket(self) -> bool:
        collection, bucket, prefix = self._columns["collection"], self._columns["bucket"], self._columns["prefix"]
        return bool(self._client.objects(collection, bucket, prefix=prefix, limit=1))

    def _with_all(self, row: Row, shape: Shape) -> Row:
        """Return a row with all tags and values that its object must have."""
        tags = (row.tags or []) if shape.tag_columns else None
        given = row.values or {}
        return row._replace(tags=tags, values={name: given.get(name) for name in shape.value_columns} or None)
