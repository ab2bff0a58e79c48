"""Restore: collections of a backup replace those of a store, all at once or none.

    fill      copy each bucket of the backup, in small steps, into a bucket with a fresh number and a staged name
    (graphs   the owner builds the word graphs of the staged buckets)
    switch    one transaction forgets the old buckets and gives the staged ones their names

A staged name has the empty collection, which no client can name. If the restore ends before the switch, even by a
crash, staged buckets remain, and `drop_staged` deletes them: at the next restore, and when an index is opened.

The log does not contain a restore: steps are committed directly. A recovery of the store (see `Store`) undoes
uncommitted steps, so `Restoration` keeps steps until a commit has passed, and repeats them after a recovery.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from sonicpy._native.keys import bucket_key
from sonicpy.errors import StoreError
from sonicpy.ids import Scope
from sonicpy.late import late
from sonicpy.store.changing.any_store import Maintainable
from sonicpy.store.changing.mutations import FlushCollection
from sonicpy.store.disk.table_numbers import BUCKET_TABLES, PENDING, SCOPES, StoredRow
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import BESIDE_MARKS, STAGING, collection_prefix, is_staged, scope_of
from sonicpy.store.rows.synonym_rules import collections_with, put_rules
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView

if TYPE_CHECKING:
    from sonicpy.store.changing.apply import apply_all
else:
    apply_all = late("sonicpy.store.changing.apply", "apply_all", __name__)

STEP_ROWS = 200
"""The number of rows copied in one step, between turns of clients; they take about 0.3 ms."""
COMMIT_STEPS = 5
"""The number of steps of a restore between two commits; they take about 2 ms."""
TRIES = 3

RestoreStep = Callable[[WriteView], None]


def drop_staged(store: Maintainable) -> None:
    """Delete the staged buckets of an unfinished restore. Raises StoreError if the commit fails."""
    with store.reading() as view:
        staged = [scope_of(key) for key, _ in view.transaction.rows(SCOPES, collection_prefix(STAGING))]
    if staged:
        store.maintain(lambda view: _forget(view, staged))
        store.commit()


class Restoration:
    """Restores a backup into a store, step by step.

    Args:
        store: the store to write; the thread that owns it calls the methods.
        source: a view of the backup.
        commit: a function that makes changes visible; it raises StoreError if that fails.
    """

    def __init__(self, store: Maintainable, source: View, commit: Callable[[], None]) -> None:
        self._store = store
        self._source = source
        self._commit = commit
        self._steps: list[RestoreStep] = []  # since the last commit that passed
        self._recoveries = store.recoveries
        self._synonyms = {name: source.synonym_rules(name) for name in collections_with(source.transaction)}
        scopes = ((scope_of(key), BucketState.unpack(row)) for key, row in source.transaction.rows(SCOPES, b""))
        self._scopes = [(scope, state) for scope, state in scopes if not is_staged(scope)]

    def fill(self) -> Iterator[None]:
        """Copy the buckets of the backup under staged names; yield after each step, so that the store may be used in
        between.

        Raises:
            StoreError: the store could not be written.
        """
        drop_staged(self._store)
        self._do(_using(self._source.uses()))
        for number, (_, state) in enumerate(self._scopes):
            is_small = self._source.transaction.is_small(bucket_key(state.bucket))
            self._do(_staging(_staged(number), state, is_small=is_small))
            for table in BUCKET_TABLES:
                if table == PENDING:  # the graphs that are built will hold every word
                    continue
                for mark in (0, *BESIDE_MARKS):
                    rows = self._source.transaction.rows(table, bucket_key(state.bucket | mark))
                    while some := [(key[4:], row) for key, row in islice(rows, STEP_ROWS)]:
                        self._do(_copying(_staged(number), table, mark, some))
                        yield
        self._finish_steps()

    def staged_buckets(self) -> list[int]:
        """Return the numbers of the staged buckets that need a graph."""
        with self._store.reading() as view:
            states = [view.bucket(*_staged(number)) for number in range(len(self._scopes))]
            is_small = view.transaction.is_small
            return [state.bucket for state in states if state is not None and not is_small(bucket_key(state.bucket))]

    def switch(self) -> None:
        """Replace the collections that the backup holds by the staged buckets.

        Raises:
            StoreError: the commit failed, or a staged bucket is not complete; nothing was replaced.
        """
        self._do(self._switch)
        self._finish_steps()

    def _switch(self, view: WriteView) -> None:
        states = [view.bucket(*_staged(number)) for number in range(len(self._scopes))]
        if self._scopes and not any(states):
            return  # done already
        for (scope, _), state in zip(self._scopes, states, strict=True):
            if state is None or (state.live_words and not state.lexicon_version and not state.is_graphless):
                raise StoreError(f"{'/'.join(scope)} was not restored whole, so nothing was; try again")
        apply_all(view, map(FlushCollection, dict.fromkeys(scope.collection for scope, _ in self._scopes)))
        for number, (scope, _) in enumerate(self._scopes):
            view.rename_bucket(_staged(number), scope)
        for collection, rules in self._synonyms.items():
            put_rules(view.transaction, collection, rules)
        view.read_removals()  # the backup may have been made while something was half gone

    def _do(self, step: RestoreStep) -> None:
        if not self._steps:
            self._recoveries = self._store.recoveries
        elif self._store.recoveries != self._recoveries:
            self._finish_steps()
        self._steps.append(step)
        try:
            self._store.maintain(step)
        except StoreError:
            if len(self._steps) == 1 or self._store.recoveries == self._recoveries:
                raise
            self._finish_steps()  # a recovery has undone the steps before, on which this one depends
        if len(self._steps) >= COMMIT_STEPS:
            self._finish_steps()

    def _finish_steps(self) -> None:
        self._commit()
        for _ in range(TRIES):
            if self._store.recoveries == self._recoveries:
                self._steps.clear()
                return
            self._recoveries = self._store.recoveries
            for step in self._steps:
                self._store.maintain(step)
            self._commit()
        raise StoreError("the store had to recover again and again while a backup was restored into it; try again")


def _staged(number: int) -> Scope:
    return Scope(STAGING, str(number))


def _using(names: frozenset[str]) -> RestoreStep:
    def use(view: WriteView) -> None:
        for name in sorted(names):
            view.require(name)

    return use


def _staging(scope: Scope, source: BucketState, *, is_small: bool) -> RestoreStep:
    def stage(view: WriteView) -> None:
        if view.bucket(*scope) is not None:
            return  # repeated behind a commit that holds it, perhaps with rows
        state = view.bucket_to_change(*scope)
        fresh = BucketState.unpack(source.pack())
        fresh.bucket = state.bucket
        fresh.lexicon_version = fresh.graph_words = fresh.graph_seq = 0
        if is_small:
            view.begin_small(fresh)
        view.set_bucket(scope, fresh)

    return stage


def _copying(scope: Scope, table: int, mark: int, rows: list[StoredRow]) -> RestoreStep:
    def copy(view: WriteView) -> None:
        state = view.bucket(*scope)
        if state is None:
            raise StoreError("a bucket that was being restored is gone; try again")
        prefix = bucket_key(state.bucket | mark)
        view.transaction.put_many(table, [(prefix + key, row) for key, row in rows])

    return copy


def _forget(view: WriteView, scopes: list[Scope]) -> None:
    for scope in scopes:
        view.forget_bucket(*scope)
