"""The facts of buckets in the open write transaction, those that wait for their rows included."""

from collections.abc import Callable

from sonicpy._native.keys import bucket_key
from sonicpy.store.disk.transaction import FACTS, Transaction
from sonicpy.store.rows import uses
from sonicpy.store.rows.keys import fact_key, fact_kind
from sonicpy.store.rows.language_counts import LANGUAGES, add_languages
from sonicpy.store.views.write_cache import WriteCache


class OpenFacts:
    """The part of a `WriteView` for facts."""

    transaction: Transaction
    _write_cache: WriteCache
    _changed_buckets: set[int]
    _facts_read: dict[int, dict[int, bytes | None]]
    """Facts as the tables have them, by bucket and kind: a query asks for some, and most buckets have few."""
    require: Callable[[str], None]

    def fact(self, bucket: int, kind: int) -> bytes | None:
        """Return the fact of a bucket, by its number, of a kind; None: there is none."""
        held = self._write_cache.of(bucket)
        if kind == LANGUAGES and held.languages:
            self._note_languages(bucket)
        return held.facts[kind] if kind in held.facts else self._stored_fact(bucket, kind)

    def _stored_fact(self, bucket: int, kind: int) -> bytes | None:
        known = self._facts_read.setdefault(bucket, {})
        try:
            return known[kind]
        except KeyError:
            fact = known[kind] = self.transaction.get(FACTS, fact_key(bucket, kind))
            return fact

    def facts(self, bucket: int) -> dict[int, bytes]:
        """Return all that is noted of a bucket, by kind."""
        self._put_facts(bucket)
        return {fact_kind(key): value for key, value in self.transaction.rows(FACTS, bucket_key(bucket))}

    def set_fact(self, bucket: int, kind: int, value: bytes | None) -> None:
        """Note something of a bucket, by its number, that exists; it becomes a row at the commit.

        Args:
            kind: a number of 8 bits.
            value: None: nothing is noted any more.
        """
        self.require(uses.FACTS)
        self._changed_buckets.add(bucket)
        self._write_cache.of(bucket).facts[kind] = value

    def languages_waiting(self, bucket: int) -> dict[bytes, int]:
        """Return the languages of texts that the fact does not count yet, see `Terms.languages`, to be added to. The
        caller says so by `note_languages_wait` before the first one."""
        return self._write_cache.of(bucket).languages

    def note_languages_wait(self, bucket: int) -> None:
        """Note that `languages_waiting` of a bucket, by its number, is about to hold something."""
        self.require(uses.FACTS)
        self._changed_buckets.add(bucket)

    def _note_languages(self, bucket: int) -> None:
        """Add the texts that wait to the fact of the languages: once a commit, not at each PUSH."""
        cache = self._write_cache.of(bucket)
        if waiting := cache.languages:
            fact = cache.facts[LANGUAGES] if LANGUAGES in cache.facts else self._stored_fact(bucket, LANGUAGES)
            cache.facts[LANGUAGES] = add_languages(fact, waiting)
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
