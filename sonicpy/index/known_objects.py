"""The objects of a bucket when a pass of a mirror begins, and those of them that rows name."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sonicpy._native.known_digests import KnownDigests
from sonicpy.api.rows import Refused, Row
from sonicpy.index.ingest.row_digests import Digest
from sonicpy.store.rows.digests import digest_rows
from sonicpy.store.views import name_pages

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine

ROWS_AT_ONCE = 64
"""The most rows of records that one read of the store returns."""
KNOWN_MAX = 1 << 24
"""The most objects of a bucket whose digests are held in memory, in up to 500 MB; those of a larger one are looked up
row by row."""


class KnownObjects:
    """The objects of a bucket when a pass begins, with their digests in memory.

    Args:
        engine: holds the bucket; its changes are committed.
        collection, bucket: the names of the bucket.
        prefix: the names of the mirror's objects begin with it; those of refused rows lack it.
        changed: returns the rows, of those at some places, whose objects do not surely hold just their text now; see
            `changed_rows`.

    Attributes:
        end: the IID of the next new object when the pass began; 0: the bucket was empty.
        has_nameless: whether a row named no object: it may be the row of any object.
    """

    def __init__(
        self,
        engine: "Engine",
        collection: str,
        bucket: str,
        prefix: str,
        changed: Callable[[list[Row | Refused], list[Digest], list[int]], list[int]],
    ) -> None:
        self._engine = engine
        self._scope = (collection, bucket)
        self._prefix = prefix
        self._changed = changed
        self._names = set[int]()
        self.has_nameless = False
        with engine.snapshot_of_now() as view:
            state = view.bucket(collection, bucket)
            self.end = 0 if state is None else state.next_iid
            self._bucket, self._count = (-1, 0) if state is None else (state.bucket, state.objects)
            self._known = KnownDigests(self.end)
            if state is not None and state.objects <= KNOWN_MAX:
                for first, row in digest_rows(view.transaction, state.bucket):
                    self._known.add(first, row)

    def changed(self, rows: list[Row | Refused], digests: list[Digest]) -> list[int]:
        """Return the places of the rows to write: all but those whose object is known to hold just their text.

        The names of all rows are noted. An object that held its text when the pass began counts as unchanged, unless
        the pass has changed it since.
        """
        if not self.end:
            return list(range(len(rows)))
        places = self._known.others(rows, digests, self._names)
        for place in places:
            row = rows[place]
            if isinstance(row, Row):
                self._names.add(hash(row.object))
            else:
                self.has_nameless |= not row.object
                self._names.add(hash(f"{self._prefix}{row.object}"))
        return self._changed(rows, digests, places) if places else places

    def without_row(self) -> Iterator[str]:
        """Yield the names of the objects that no row named, if they begin with the prefix."""
        known, number = self._known, 0
        while known.marked < self._count and (numbers := known.unmarked_rows(number, ROWS_AT_ONCE)):
            with self._engine.read() as view:
                state = view.bucket(*self._scope)
                if state is None or state.bucket != self._bucket:  # flushed during the pass
                    return
                page = name_pages.numbered_in(view, self._bucket, numbers)
            for iid, name in page:
                is_old = iid < self.end and not known.is_marked(iid)
                if is_old and name.startswith(self._prefix) and hash(name) not in self._names:
                    yield name
            number = numbers[-1] + 1
