"""Checks the tables of a store against each other; each fault is one line."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

from sonicpy._native.keys import bucket_key
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.ids import Scope
from sonicpy.store.care.check_columns import column_faults
from sonicpy.store.care.check_terms import TermsCheck, tag_faults
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.slices import lasting_faults, slices
from sonicpy.store.disk.table_numbers import BUCKET_TABLES, BUCKETS, DROPPED, SCOPES, SMALL, TABLE_NAMES
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.all_fields import FIELDS
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import (
    BUCKET_MAX,
    bucket_of,
    is_staged,
    owner_of,
    scope_key,
    scope_of,
)
from sonicpy.store.rows.meta import ANALYZER, FORMAT, KEYS, LISTED_FORMAT, NEXT_BUCKET, POSITION, uses_of
from sonicpy.store.rows.synonym_rules import synonym_faults
from sonicpy.store.rows.table_checks import buckets_in, miscounted_table, miscounted_tables
from sonicpy.store.views.view import View

ALWAYS_THERE = (FORMAT, ANALYZER, POSITION)
"""The rows of `meta` that every store has from its first commit on."""


def table_faults(transaction: Transaction) -> Iterator[str]:
    """Yield the faults of the tables, as the snapshot of a transaction shows them."""
    yield from miscounted_tables(transaction)
    yield from _meta_faults(transaction)
    yield from scope_faults(transaction)
    for scope in readable_scopes(transaction):
        yield from bucket_faults(transaction, scope)


def faults_beside_a_writer(environment: Environment) -> Iterator[str]:
    """Yield the faults of the tables, without holding a snapshot for long; see `disk/slices.py`."""
    with slices(environment) as sliced:
        checks: list[Callable[[Transaction], Iterable[str]]] = [
            *(partial(miscounted_table, table=table) for table in range(len(TABLE_NAMES))),
            _meta_faults,
            scope_faults,
            *(partial(bucket_faults, scope=scope) for scope in readable_scopes(sliced)),
        ]
        for check in checks:
            yield from lasting_faults(environment, sliced, check)


def readable_scopes(transaction: Transaction) -> list[Scope]:
    """Return the names of the buckets whose rows in `scopes` can be read; a staged bucket may be incomplete."""
    scopes = [scope for scope, state in _states(transaction) if isinstance(state, BucketState)]
    return [scope for scope in scopes if not is_staged(scope)]


def bucket_faults(transaction: Transaction, scope: Scope) -> Iterator[str]:
    """Yield the faults of the rows of a bucket; none if there is no such bucket."""
    name = "/".join(scope)
    try:
        state = View(transaction).bucket(*scope)
        if state is not None:
            found = (field.faults(transaction, state) for field in FIELDS.values())
            checked = TermsCheck(transaction, state).faults()
            for fault in chain(checked, tag_faults(transaction, state), column_faults(transaction, state), *found):
                yield f"{name}: {fault}"
    except (DamagedBytes, StoreError) as error:
        yield f"{name}: cannot be read to its end: {error}"


def scope_faults(transaction: Transaction) -> Iterator[str]:
    """Yield the faults in the names and the numbers of buckets."""
    states: dict[Scope, BucketState] = {}
    for scope, state in _states(transaction):
        if isinstance(state, BucketState):
            states[scope] = state
        else:
            yield state
    yield from _number_faults(transaction, states)


def _states(transaction: Transaction) -> Iterator[tuple[Scope, BucketState | str]]:
    """Yield every bucket with its state, or with the fault of a row that cannot be read."""
    for key, row in transaction.rows(SCOPES, b""):
        try:
            yield scope_of(key), BucketState.unpack(row)
        except StoreDamaged as error:
            yield Scope("", ""), f"the row {key!r} of scopes cannot be read: {error}"


def _meta_faults(transaction: Transaction) -> Iterator[str]:
    for key in KEYS:
        try:
            if key.read(transaction) is None and key in ALWAYS_THERE:
                yield f"the row {key.name.decode()!r} of meta is missing"
        except StoreDamaged as error:
            if key is not NEXT_BUCKET:  # the numbers of buckets are compared with it
                yield str(error)
    yield from _uses_faults(transaction)
    yield from synonym_faults(transaction)


def _uses_faults(transaction: Transaction) -> Iterator[str]:
    try:
        names, found = uses_of(transaction), FORMAT.read(transaction)
    except StoreDamaged:  # `_meta_faults` names the row
        return
    if (found == str(LISTED_FORMAT)) != bool(names):
        yield f"meta has format version {found}, and its row 'uses' names {uses.listed(sorted(names)) or 'nothing'}"


def _number_faults(transaction: Transaction, states: dict[Scope, BucketState]) -> Iterator[str]:
    named = {state.bucket: scope for scope, state in states.items()}
    if len(named) < len(states):
        yield "two rows of scopes have the number of one bucket"
    for number, scope in named.items():
        if transaction.get(BUCKETS, bucket_key(number)) != scope_key(*scope):
            yield f"{'/'.join(scope)}: its number {number} is not in buckets"
    if transaction.count(BUCKETS) > len(named):
        yield f"buckets has {transaction.count(BUCKETS)} rows for {len(named)} in scopes"
    dropped = {bucket_of(key) for key, _ in transaction.rows(DROPPED, b"")}
    for number in dropped & set(named):
        yield f"{'/'.join(named[number])}: its number {number} is marked as flushed"
    try:
        following = NEXT_BUCKET.read(transaction) or 0
    except StoreDamaged as error:
        yield str(error)
        following = BUCKET_MAX + 1
    for number in dropped | set(named):
        if number >= following:
            yield f"bucket number {number} is not below the next one, {following}"
    for table in (*BUCKET_TABLES, SMALL):
        try:
            for number in buckets_in(transaction, table):
                if (owner := owner_of(number)) not in named and owner not in dropped:
                    yield f"table {TABLE_NAMES[table].decode()} has rows of bucket {number}, which does not exist"
        except StoreDamaged as error:
            yield str(error)
