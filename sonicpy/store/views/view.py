"""The view of one transaction: buckets by name, and the rows of their words and objects."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

from sonicpy._native.counters import count_states
from sonicpy._native.keys import bucket_key
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, record_at, row_keys
from sonicpy._native.word_range import WordRange
from sonicpy.ids import Scope
from sonicpy.rules import counts_letters
from sonicpy.store.disk.pages import ROWS_MAX, pages
from sonicpy.store.disk.table_numbers import (
    BUCKETS,
    DIGESTS,
    DROPPED,
    FACTS,
    META,
    OBJECTS,
    ORDERS,
    PENDING,
    SCOPES,
    VECTORS,
    WORDS,
    StoredRow,
)
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_rules import RULES, unpack_rules
from sonicpy.store.rows.bucket_state import COUNTED, FIELD_NAMES, BucketCounts, BucketState
from sonicpy.store.rows.digests import DIGESTS_PER_ROW, NO_DIGEST, digest_at, digest_key
from sonicpy.store.rows.keys import (
    STAGING,
    after_collection,
    collection_prefix,
    fact_key,
    fact_kind,
    object_key,
    scope_key,
    scope_of,
)
from sonicpy.store.rows.known_pending import KnownPending
from sonicpy.store.rows.lengths import read_lengths
from sonicpy.store.rows.meta import EMPTIED, is_by_association, uses_of
from sonicpy.store.rows.names import find_new, name_hash, stored_names
from sonicpy.store.rows.numbered_terms import terms_numbered
from sonicpy.store.rows.synonym_rules import SynonymRule, rules_of, stamp_of
from sonicpy.store.rows.tag_counts import OF_TAGS, Beside
from sonicpy.store.rows.word_rows import stored_word_keys_from, stored_word_range, stored_words, stored_words_from
from sonicpy.store.views.all_words import compared_words
from sonicpy.store.views.bucket_reader import TagReader, tag_counts
from sonicpy.store.views.column_reader import ColumnReader, stored_columns

if TYPE_CHECKING:
    from sonicpy.store.views.beside_words import Owner


class ViewCache:
    """Objects made for buckets, kept for reuse while the view lasts, by scope, or by the number of a bucket and a mark.

    Args:
        entries_max: the most objects; if there are more, all are dropped. 0: nothing is cached.

    Attributes:
        entries: the cached objects.
        entries_max: as given.
    """

    def __init__(self, entries_max: int) -> None:
        self.entries_max = entries_max
        self.entries: dict[tuple[object, ...], object] = {}

    def get(self, scope: tuple[object, ...]) -> object | None:
        """Return the cached object of a bucket, or None."""
        return self.entries.get(scope)

    def put(self, scope: tuple[object, ...], made: object) -> None:
        """Cache an object made for a bucket, if `entries_max` allows it."""
        if not self.entries_max:
            return
        if len(self.entries) >= self.entries_max:
            self.entries.clear()
        self.entries[scope] = made

    def clear(self) -> None:
        """Drop all cached objects."""
        self.entries.clear()


class View:
    """A consistent picture of the store, for reading.

    Args:
        transaction: the transaction that reads the rows.
        cached: the most buckets in `cache`.

    Attributes:
        transaction: reads tables for which the view has no method.
        cache: objects made for buckets; it stays empty if rows may change.
        bucket_counts: results of `count_buckets`, by collection and field.
    """

    def __init__(self, transaction: Transaction, cached: int = 0) -> None:
        self.transaction = transaction
        self.cache = ViewCache(cached)
        self.bucket_counts: BucketCounts = {}
        self._lengths_read: dict[int, bytearray] = {}

    @cached_property
    def by_association(self) -> bool:
        """Whether postings lists are in the order in which objects gained their words, as in Sonic; else by IID."""
        return is_by_association(self.transaction)

    def flush_records(self, bucket: int) -> None:
        """Make sure that `objects` holds every record of a bucket. A view for reading has nothing to do."""

    def terms_numbered(self, bucket: int, term_ids: Iterable[int]) -> dict[int, bytes]:
        """Return the terms of term ids of a bucket, by id; ids without a term are left out."""
        return terms_numbered(self.transaction, bucket, term_ids)

    def bucket(self, collection: str, bucket: str) -> BucketState | None:
        """Return the state of a bucket, or None if it does not exist."""
        row = self.transaction.get(SCOPES, scope_key(collection, bucket))
        return None if row is None else BucketState.unpack(row)

    def scope(self, number: int) -> Scope | None:
        """Return the scope of the bucket with the number `number`, or None if the bucket was flushed."""
        key = self.transaction.get(BUCKETS, bucket_key(number))
        return None if key is None else scope_of(key)

    def bucket_numbered(self, number: int) -> BucketState | None:
        """Return the state of the bucket with the number `number`, or None if the bucket was flushed."""
        scope = self.scope(number)
        return None if scope is None else self.bucket(*scope)

    def buckets(self, collection: str) -> list[BucketState]:
        """Return the states of all buckets of a collection, by name."""
        self._flush_states()
        return [BucketState.unpack(row) for _, row in self.transaction.rows(SCOPES, collection_prefix(collection))]

    def count_buckets(self, collection: str, field: str) -> int:
        """Return how many buckets of a collection have a value other than 0 in the field `field` of their state."""
        self._flush_states()
        count = self.bucket_counts.get((collection, field))
        if count is None:
            prefix = collection_prefix(collection)
            rows = self.transaction.rows_onward(SCOPES, prefix)
            count = self.bucket_counts[collection, field] = count_states(rows, prefix, FIELD_NAMES.index(field))
        return count

    def _recount(self, scope: Scope, state: BucketState | None) -> None:
        """Change the counts of a bucket's collection, before the bucket's row is replaced by `state`; None: deleted."""
        for field in COUNTED:
            if (scope[0], field) in self.bucket_counts:
                row = self.transaction.get(SCOPES, scope_key(*scope))
                before = row is not None and getattr(BucketState.unpack(row), field) > 0
                self.bucket_counts[scope[0], field] += (state is not None and getattr(state, field) > 0) - before

    def has_buckets(self, collection: str) -> bool:
        """Return whether a collection has a bucket."""
        prefix = collection_prefix(collection)
        found = self.transaction.first(SCOPES, prefix)
        return found is not None and found[0].startswith(prefix)

    def has_collection(self, collection: str) -> bool:
        """Return whether a collection exists: from its first PUSH until it is flushed, even without buckets."""
        return self.has_buckets(collection) or self.transaction.get(META, EMPTIED + collection.encode()) is not None

    def count_collections(self) -> int:
        """Return how many collections exist."""
        found = {key.removeprefix(EMPTIED) for key, _ in self.transaction.rows(META, EMPTIED)}
        row = self.transaction.first(SCOPES, after_collection(STAGING))
        while row is not None:
            collection = scope_of(row[0]).collection
            found.add(collection.encode())
            row = self.transaction.first(SCOPES, after_collection(collection))
        return len(found)

    def uses(self) -> frozenset[str]:
        """Return the names of the features of `uses.KNOWN` that the store uses."""
        return uses_of(self.transaction)

    def synonym_stamp(self, collection: str) -> bytes | None:
        """Return the stamp of the synonyms of a collection, which each change of the rules changes; None: there are no
        rules."""
        return stamp_of(self.transaction, collection)

    def synonym_rules(self, collection: str) -> list[SynonymRule]:
        """Return the synonyms of a collection, in the order in which they were given."""
        return rules_of(self.transaction, collection)

    def digest(self, bucket: int, iid: int) -> bytes:
        """Return the digest of the text of an object; NO_DIGEST: the object has none."""
        number, place = divmod(iid, DIGESTS_PER_ROW)
        row = self.transaction.get(DIGESTS, digest_key(bucket, number))
        return NO_DIGEST if row is None else digest_at(row, place)

    def has_digest(self, collection: str, bucket: str, oid: str, digest: bytes) -> bool:
        """Return whether an object exists, and its text has this digest. Digests cover names, so no record has to be
        read."""
        return self.have_digests(collection, bucket, [(oid, digest)])[0]

    def have_digests(self, collection: str, bucket: str, asked: Sequence[tuple[str, bytes]]) -> list[bool]:
        """Return, for each (name, digest) of `asked`, whether the object exists and its text has this digest."""
        state = self.bucket(collection, bucket)
        if state is None:
            return [False] * len(asked)
        get, id, found = self.transaction.get, state.bucket, []
        read, row = -1, None
        for oid, digest in asked:
            name, is_there = oid.encode(), False
            for iid in self.named(state, name, name_hash(name)):
                number, place = divmod(iid, DIGESTS_PER_ROW)
                if number != read:  # rows of a table come in the order in which they came first
                    read, row = number, get(DIGESTS, digest_key(id, number))
                is_there |= row is not None and digest_at(row, place) == digest
            found.append(is_there)
        return found

    def fact(self, bucket: int, kind: int) -> bytes | None:
        """Return the fact `kind` of the bucket with the number `bucket`; None: the bucket has no such fact."""
        return self.transaction.get(FACTS, fact_key(bucket, kind))

    def facts(self, bucket: int) -> dict[int, bytes]:
        """Return all facts of a bucket, by kind."""
        return {fact_kind(key): value for key, value in self.transaction.rows(FACTS, bucket_key(bucket))}

    def vector_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return the rows of vectors with these keys, by key; keys without a row are left out."""
        return dict(self.transaction.get_many(VECTORS, keys))

    def order_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return the rows of orders with these keys, by key; keys without a row are left out."""
        return dict(self.transaction.get_many(ORDERS, keys))

    def rules(self, bucket: int) -> int:
        """Return the version of the rules by which the texts of a bucket are cut."""
        return unpack_rules(self.fact(bucket, RULES))

    def counts_letters(self, bucket: int) -> bool:
        """Return whether the lexicon of a bucket has words of up to 50 letters; if not, of up to 40 bytes."""
        return counts_letters(self.rules(bucket))

    def lengths(self, state: BucketState) -> bytes | bytearray:
        """Return the packed lengths of all objects of a bucket, by IID. The caller must not change them."""
        lengths = self._lengths_read.get(state.bucket)
        if lengths is None:
            lengths = self._lengths_read[state.bucket] = read_lengths(self.transaction, state.bucket, state.next_iid)
        return lengths

    def word_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return the rows of the words with these keys, by key; keys without a row are left out."""
        return dict(stored_words(self.transaction, keys))

    def word_rows_from(self, start: bytes, limit: int, prefix: bytes = b"") -> list[StoredRow]:
        """Return the first `limit` rows of words whose keys are not before `start`, in key order.

        Args:
            prefix: a prefix of `start`; only rows whose keys begin with it are returned.
        """
        return stored_words_from(self.transaction, start, limit, prefix)

    def word_range(self, prefix: bytes, most: int, *, letters: bool) -> WordRange:
        """Return the first `most` words whose keys begin with `prefix`.

        Args:
            letters: True: words of up to 50 letters are in the lexicon; False: words of up to 40 bytes.
        """
        return stored_word_range(self.transaction, prefix, most, letters=letters)

    def word_keys_from(self, start: bytes, limit: int, prefix: bytes = b"") -> list[bytes]:
        """Return the keys of the rows that `word_rows_from` would return, in less time."""
        return stored_word_keys_from(self.transaction, start, limit, prefix)

    def record_rows(self, bucket: int, iids: list[int], *, names: bool = False) -> dict[bytes, bytes]:
        """Return the rows with the records of some objects of a bucket, by key.

        Args:
            names: only the OIDs in the rows are needed; terms of large objects may be missing.
        """
        return dict(self.transaction.get_many(OBJECTS, row_keys(bucket, iids)))

    def record(self, bucket: int, iid: int) -> bytes | None:
        """Return the record of an object, or None. Raises DamagedBytes if its row cannot be read."""
        row = self.transaction.get(OBJECTS, object_key(bucket, iid // OBJECTS_PER_RECORD_ROW))
        return None if row is None else record_at(row, iid % OBJECTS_PER_RECORD_ROW)

    def named(self, state: BucketState, oid: bytes, hash: int) -> Iterable[int]:
        """Return the IIDs of the objects that may have the OID whose `name_hash` is `hash`."""
        return chain(self.stored_named(state, hash), self.new_named(state, oid))

    def stored_named(self, state: BucketState, hash: int) -> tuple[int, ...]:
        """Return the IIDs of the objects in the rows of names whose `name_hash` is `hash`."""
        return stored_names(self.transaction, state, hash)

    def new_named(self, state: BucketState, oid: bytes) -> Iterable[int]:
        """Return the IID of the object with an OID, if the rows of names may lack it."""
        return find_new(self.transaction, state, oid)

    def pending_words(self, state: BucketState) -> list[bytes]:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once."""
        if state.is_graphless:
            return compared_words(self, state)
        self._flush_pending()
        return [key[4:] for key, _ in self.transaction.rows(PENDING, bucket_key(state.bucket))]

    def growing_pending_words(self, state: BucketState) -> KnownPending | None:
        """Return the list of `pending_words` as the object that later commits extend; None: a plain view caches no
        list."""
        return None

    def tag_reader(self, owner: "Owner", beside: Beside = OF_TAGS) -> TagReader | None:
        """Return a reader of the tags of the bucket that `owner` reads; None: no object has a tag.

        Args:
            beside: the kind of terms: OF_TAGS, or OF_TEXTS for those of named texts.
        """
        counts = tag_counts(owner, beside)
        return None if counts is None else TagReader(self, owner, counts, beside)

    def column_reader(self, owner: "Owner") -> ColumnReader | None:
        """Return a reader of the values of the bucket that `owner` reads; None: no object has a value."""
        columns = stored_columns(owner)
        return None if columns is None else ColumnReader(self.transaction, owner.state, columns)

    # -- for maintenance and reports: what committed tables hold ---------------------------------------------------

    def _flush_states(self) -> None:
        """Write changed states of buckets. A view for reading has none."""

    def _flush_pending(self) -> None:
        """Write the pending words that wait to be written. A view for reading has none."""

    def all_states(self, collection: str | None = None) -> Iterator[tuple[Scope, BucketState]]:
        """Yield every bucket of the store, or of a collection, with its state, by name."""
        prefix = b"" if collection is None else collection_prefix(collection)
        for key, row in self.transaction.rows(SCOPES, prefix):
            yield scope_of(key), BucketState.unpack(row)

    def count_scopes(self) -> int:
        """Return the number of buckets in the store."""
        return self.transaction.count(SCOPES)

    def count_terms(self) -> int:
        """Return the number of terms in all buckets, including flushed ones that are not swept yet."""
        return self.transaction.count(WORDS)

    def count_pending(self) -> int:
        """Return the number of pending words in all buckets, including flushed ones that are not swept yet."""
        self._flush_pending()
        return self.transaction.count(PENDING)

    def has_dropped(self) -> bool:
        """Return whether rows of flushed buckets wait for the sweeper."""
        return self.transaction.count(DROPPED) > 0

    def all_word_rows(self, bucket: int) -> Iterator[StoredRow]:
        """Yield the rows of a bucket's words in `words`; those of common words only refer to their rows in `common`."""
        return self.transaction.rows(WORDS, bucket_key(bucket))

    def pending_rows(self, bucket: int) -> Iterator[StoredRow]:
        """Yield the rows of a bucket's pending words in key order."""
        self._flush_pending()
        return self.transaction.rows(PENDING, bucket_key(bucket))

    def some_pending_rows(self, bucket: int, start: bytes, limit: int) -> list[StoredRow]:
        """Return the first `limit` rows of a bucket's pending words in key order, from key `start` on."""
        self._flush_pending()
        prefix = bucket_key(bucket)
        rows = self.transaction.some_rows(PENDING, start or prefix, limit)
        return rows if rows and rows[-1][0].startswith(prefix) else [row for row in rows if row[0].startswith(prefix)]

    def pending_changes(self, bucket: int) -> dict[bytes, int]:
        """Return each pending word of a bucket with its last change, a `Why`."""
        self._flush_pending()
        prefix = bucket_key(bucket)
        state = self.bucket_numbered(bucket)
        # A small bucket is read at once, and not those behind it.
        size = ROWS_MAX if state is None else min(state.pending_seq - state.graph_seq + 1, ROWS_MAX)
        return {
            key[4:]: row[6]
            for rows in pages(partial(self.transaction.some_rows, PENDING), prefix, max(size, 1))
            for key, row in rows
            if key.startswith(prefix)
        }

    def pending_since(self, bucket: int, seq: int) -> list[bytes]:
        """Return the pending words of a bucket with a larger number than `seq`."""
        self._flush_pending()
        prefix, first = bucket_key(bucket), (seq + 1).to_bytes(6, "big")
        return [
            key[4:]
            for rows in pages(partial(self.transaction.some_rows, PENDING), prefix)
            for key, row in rows
            if row >= first and key.startswith(prefix)
        ]

    def pending_in_order(self, bucket: int) -> list[bytes]:
        """Return the pending words of a bucket in the order of their last changes."""
        self._flush_pending()
        return [
            key[4:] for key, _ in sorted(self.transaction.rows(PENDING, bucket_key(bucket)), key=lambda row: row[1])
        ]

    def is_pending(self, bucket: int, word: bytes) -> bool:
        """Return whether a word of a bucket is pending."""
        self._flush_pending()
        return self.transaction.get(PENDING, bucket_key(bucket) + word) is not None
