"""Facts, and rows of orders and vectors, as the open write transaction shows them: rows that wait in its cache come
first."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sonicpy._native.varint import DamagedBytes
from sonicpy.late_logger import LateLogger
from sonicpy.store.disk.table_numbers import FACTS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_rules import RULES, unpack_rules
from sonicpy.store.rows.keys import bucket_key, bucket_of, fact_key, fact_kind
from sonicpy.store.rows.language_counts import LANGUAGES, add_languages
from sonicpy.store.views.write_cache import WriteCache

if TYPE_CHECKING:
    from sonicpy.store.views.growing_orders import OrderRows

logger = LateLogger(__name__)


class OpenOrders:
    """The part of a `WriteView` for orders and vectors."""

    transaction: Transaction
    _write_cache: WriteCache
    _changed_buckets: set[int]
    require: Callable[[str], None]

    def vector_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return the rows of vectors with these keys, by key; keys without a row are left out."""
        found = ((key, self._write_cache.of(bucket_of(key)).vectors.get(self.transaction, key)) for key in keys)
        return {key: row for key, row in found if row is not None}

    def order_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return the rows of orders with these keys, by key; keys without a row are left out."""
        found = ((key, self._write_cache.of(bucket_of(key)).orders.get(self.transaction, key)) for key in keys)
        return {key: row for key, row in found if row}

    def facts_to_change(self, bucket: int) -> dict[int, bytes | None]:
        """Return the facts of a bucket that wait for the commit; changes to the dict are committed, too."""
        self.require(uses.FACTS)
        self._changed_buckets.add(bucket)
        return self._write_cache.of(bucket).facts

    def orders_to_change(self, bucket: int) -> "OrderRows":
        """Return the rows of orders of a bucket for changes, which the commit writes."""
        self._changed_buckets.add(bucket)
        return self._write_cache.of(bucket).orders


class OpenFacts:
    """The part of a `WriteView` for facts."""

    transaction: Transaction
    _write_cache: WriteCache
    _changed_buckets: set[int]
    _facts_read: dict[int, dict[int, bytes | None]]
    """Facts as the tables hold them, by bucket and kind. Kept because a query reads some, and most buckets have few."""
    require: Callable[[str], None]

    def fact(self, bucket: int, kind: int) -> bytes | None:
        """Return the fact `kind` of the bucket with the number `bucket`; None: the bucket has no such fact."""
        held = self._write_cache.of(bucket)
        if kind == LANGUAGES and held.languages:
            self._note_languages(bucket)
        return held.facts[kind] if kind in held.facts else self._stored_fact(bucket, kind)

    def rules(self, bucket: int) -> int:
        """Return the version of the rules by which the texts of a bucket are cut."""
        known = self._write_cache.rules
        rules = known.get(bucket)
        if rules is None:
            facts = self._write_cache.of(bucket).facts
            row = facts[RULES] if RULES in facts else self.transaction.get(FACTS, fact_key(bucket, RULES))
            rules = known[bucket] = unpack_rules(row)
        return rules

    def _stored_fact(self, bucket: int, kind: int) -> bytes | None:
        known = self._facts_read.setdefault(bucket, {})
        try:
            return known[kind]
        except KeyError:
            fact = known[kind] = self.transaction.get(FACTS, fact_key(bucket, kind))
            return fact

    def facts(self, bucket: int) -> dict[int, bytes]:
        """Return all facts of a bucket, by kind."""
        self._put_facts(bucket)
        return {fact_kind(key): value for key, value in self.transaction.rows(FACTS, bucket_key(bucket))}

    def set_fact(self, bucket: int, kind: int, value: bytes | None) -> None:
        """Set a fact of an existing bucket; it becomes a row at the commit.

        Args:
            kind: the kind of the fact, a number of 8 bits.
            value: the value of the fact; None: delete it.
        """
        self.require(uses.FACTS)
        self._changed_buckets.add(bucket)
        self._write_cache.of(bucket).facts[kind] = value
        if kind == RULES:
            self._write_cache.rules.pop(bucket, None)

    def languages_waiting(self, bucket: int) -> dict[bytes, int]:
        """Return the languages that the fact does not count yet: `Terms.languages` -> number of texts. A caller may add
        to the dict, and calls `note_languages_wait` before the first addition."""
        return self._write_cache.of(bucket).languages

    def note_languages_wait(self, bucket: int) -> None:
        """Note that texts of a bucket are about to be added to `languages_waiting`."""
        self.require(uses.FACTS)
        self._changed_buckets.add(bucket)

    def _note_languages(self, bucket: int) -> None:
        """Add the waiting texts to the fact that counts languages: once a commit, not at each PUSH."""
        cache = self._write_cache.of(bucket)
        if waiting := cache.languages:
            fact = cache.facts[LANGUAGES] if LANGUAGES in cache.facts else self._stored_fact(bucket, LANGUAGES)
            try:
                cache.facts[LANGUAGES] = add_languages(fact, waiting)
            except DamagedBytes as error:  # the texts are acknowledged, and only the set of languages matters
                logger.warning("bucket %d: %s; its languages are counted anew", bucket, error)
                cache.facts[LANGUAGES] = add_languages(None, waiting)
            waiting.clear()

    def _put_facts(self, bucket: int) -> None:
        self._note_languages(bucket)
        waiting = self._write_cache.of(bucket).facts
        self._facts_read.pop(bucket, None)
        for kind, value in waiting.items():
            if value is None:
                self.transaction.delete(FACTS, fact_key(bucket, kind))
            else:
                self.transaction.put(FACTS, fact_key(bucket, kind), value)
        waiting.clear()
