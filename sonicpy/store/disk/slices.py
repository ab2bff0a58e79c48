"""Long reads beside a writer: a transaction that takes a new snapshot again and again.

While a snapshot is open, the writer cannot reuse its pages, and the file grows. So a long check reads through slices. A
fault may then be a difference between two commits, so the check is repeated in one snapshot before it reports.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.table_numbers import StoredRow
from sonicpy.store.disk.transaction import Transaction

SLICE_S = 0.5
"""The longest time in seconds for which a snapshot is used. LMDB takes about 10 us to begin the next one."""
PAGE_ROWS = 500


class SlicedTransaction(Transaction):
    """A transaction that reads a commit which was the last one SLICE_S ago or later, with the methods that checks need.

    Args:
        environment: the environment to read.
    """

    __slots__ = ("_began_s", "_environment", "_reading", "_slice")

    def __init__(self, environment: Environment) -> None:
        super().__init__([], None, write=False)  # each read asks the transaction of a slice
        self._environment = environment
        self._slice: Transaction | None = None
        self._reading: AbstractContextManager[Transaction] | None = None  # of the slice
        self._began_s = 0.0

    def _now(self) -> Transaction:
        now = time.monotonic()
        if self._slice is None or now - self._began_s > SLICE_S:
            self.end()
            self._reading = self._environment.reading()
            self._slice = self._reading.__enter__()
            self._began_s = now
        return self._slice

    def end(self) -> None:
        """End reading; a later read takes a new snapshot."""
        ended, self._slice, self._reading = self._reading, None, None
        if ended is not None:
            ended.__exit__(None, None, None)

    @property
    def number(self) -> int:
        """The number of the commit that is read at present."""
        return self._now().number

    def get(self, table: int, key: bytes) -> bytes | None:
        """Return the value under `key`, or None."""
        return self._now().get(table, key)

    def get_many(self, table: int, keys: list[bytes]) -> list[StoredRow]:
        """Return the (key, value) of each key that exists, in the order of `keys`."""
        return self._now().get_many(table, keys)

    def first(self, table: int, start: bytes) -> StoredRow | None:
        """Return the first row whose key is not before `start`, or None."""
        return self._now().first(table, start)

    def some_rows(self, table: int, start: bytes, limit: int, prefix: bytes = b"") -> list[StoredRow]:
        """Return the first `limit` rows whose keys are not before `start`, in key order."""
        return self._now().some_rows(table, start, limit, prefix)

    def rows(self, table: int, prefix: bytes, start: bytes | None = None) -> Iterator[StoredRow]:
        """Yield the rows whose keys begin with `prefix`, in key order, from `start` on; rows may change meanwhile."""
        after: bytes | None = start or prefix
        while after is not None:
            rows = self._now().some_rows(table, after, PAGE_ROWS, prefix)
            after = rows[-1][0] + b"\0" if len(rows) == PAGE_ROWS else None
            for row in rows:
                if not row[0].startswith(prefix):
                    return
                yield row

    def count(self, table: int) -> int:
        """Return the number of rows of a table."""
        return self._now().count(table)


@contextmanager
def slices(environment: Environment) -> Iterator[SlicedTransaction]:
    """Yield a sliced transaction, which ends with the `with` block."""
    transaction = SlicedTransaction(environment)
    try:
        yield transaction
    finally:
        transaction.end()


def lasting_faults(
    environment: Environment, sliced: SlicedTransaction, check: Callable[[Transaction], Iterable[str]]
) -> list[str]:
    """Return the faults that a check finds in one snapshot; no snapshot is held if the check finds no fault in
    slices."""
    if not any(True for _ in check(sliced)):
        return []
    sliced.end()  # two snapshots would hold more pages than one
    with environment.reading() as transaction:
        return list(check(transaction))
