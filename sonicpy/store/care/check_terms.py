"""Compares the words and the tags of a bucket with its objects: their names, records, lengths, postings and impacts.

Every row is read once, in order. Memory holds the row of each term of a bucket, and a balance: every posting that the
record of an object names adds its hash, every posting in a block subtracts its hash, so a balance other than 0 is a
fault.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, groupby

from sonicpy._native.impact_rows import ImpactRow
from sonicpy._native.keys import bucket_key
from sonicpy._native.lengths import pack_length
from sonicpy._native.name_rows import slice_start, unpack_names
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow, record_at
from sonicpy._native.postings import POSTINGS_PER_BLOCK, unpack_block
from sonicpy._native.term_rows import WORD_BYTES_MAX, TermInfo, only_refers, shown_bytes, term_id_in
from sonicpy.errors import StoreDamaged
from sonicpy.rules import counts_letters
from sonicpy.store.disk.table_numbers import (
    COMMON,
    FACTS,
    IMPACTS,
    LENGTHS,
    OBJECTS,
    OIDS,
    PENDING,
    POSTINGS,
    REMOVED,
    TAGS,
    WORDS,
)
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.disk.why import Why
from sonicpy.store.rows.bucket_rules import RULES, unpack_rules
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import (
    block_position,
    fact_key,
    iid_of,
    length_key,
    object_key,
    owner_of,
    term_key,
    word_key,
)
from sonicpy.store.rows.lengths import OBJECTS_PER_ROW, read_lengths
from sonicpy.store.rows.meta import is_by_association, uses_of
from sonicpy.store.rows.names import name_hash, stored_names
from sonicpy.store.rows.numbered_terms import all_terms, terms_numbered
from sonicpy.store.rows.objects_there import ObjectsThere
from sonicpy.store.rows.tag_counts import OF_TAGS, OF_TEXTS, Beside, TagCounts, unpack_tag_counts

NO_NAME = b"-"
"""A name for native code that needs the name of an object; this check does not depend on it."""
NUMBER_BYTES = 5
"""The number of bytes of a term id, and of an IID, in a key."""


class TermsCheck:
    """Checks the rows of one bucket, table by table."""

    def __init__(self, transaction: Transaction, state: BucketState) -> None:
        self._transaction = transaction
        self._state = state
        self._by_association = is_by_association(transaction)
        self._lengths = read_lengths(transaction, state.bucket, state.next_iid)
        self._words: dict[int, TermInfo] = {}
        self._holders: Counter[int] = Counter()
        self._hidden: Counter[int] = Counter()
        self._balance: Counter[int] = Counter()
        self._names: set[int] = set()  # as hashes of 64 bits
        self._objects = self._total_length = self._objects_with_length = 0
        self._half_gone: set[int] = set()
        self._letters = counts_letters(unpack_rules(transaction.get(FACTS, fact_key(state.bucket, RULES))))

    def faults(self) -> Iterator[str]:
        """Yield the faults of the bucket, one sentence each."""
        return chain(
            self._word_faults(),
            self._term_faults(),
            self._removed_faults(),
            self._object_faults(),
            self._length_faults(),
            self._posting_faults(),
            self._holder_faults(),
            self._pending_faults(),
            self._counter_faults(),
        )

    def _rows(self, table: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows of the bucket in a table; the number of the bucket is cut off the keys."""
        for key, row in self._transaction.rows(table, bucket_key(self._state.bucket)):
            yield key[4:], row

    def _numbered(self, table: int) -> Iterator[tuple[int, bytes]]:
        for key, row in self._rows(table):
            yield int.from_bytes(key, "big"), row

    def _word_faults(self) -> Iterator[str]:
        live = common = 0
        for key, packed in self._rows(WORDS):
            is_common = only_refers(packed)
            common += is_common
            if is_common:
                term_id = term_id_in(packed)
                found = self._transaction.get(COMMON, term_key(self._state.bucket, term_id))
                if found is None:
                    yield f"word {_shown(key)} with the term id {term_id} is not in common"
                    continue
                packed = found
            row = TermInfo(packed, shown_bytes(key, letters=self._letters))
            if is_common and row.term_id != term_id:
                yield f"word {_shown(key)} refers to the row of the term id {row.term_id}, not {term_id}"
            if is_common != (row.position > 0):
                yield f"word {_shown(key)} with the position {row.position} is in {'common' if is_common else 'words'}"
            live += row.live
            if row.term_id in self._words:
                yield f"word {_shown(key)} has the term id {row.term_id} of another one"
            self._words[row.term_id] = row
            if row.term_id >= self._state.next_term:
                yield f"word {_shown(key)} has the term id {row.term_id}; the next one is {self._state.next_term}"
            if row.live and self._is_forgotten(key):
                yield f"word {_shown(key)} is in no graph and not pending"
        rows = sum(1 for _ in self._rows(COMMON))
        if rows != common:
            yield f"common has {rows} rows, words refers to {common}"
        yield from self._live_faults(live)

    def _live_faults(self, live: int) -> Iterator[str]:
        if live != self._state.live_words:
            yield f"it counts {self._state.live_words} live words instead of {live}"

    def _is_forgotten(self, word: bytes) -> bool:
        """Return whether a bucket without a word graph lacks a word among the pending ones: its first graph would miss
        it."""
        state = self._state
        return not state.lexicon_version and not state.is_graphless and not self._is_pending(word)

    def _is_pending(self, word: bytes) -> bool:
        return self._transaction.get(PENDING, bucket_key(self._state.bucket) + word) is not None

    def _term_faults(self) -> Iterator[str]:
        count = 0
        for term_id, term in all_terms(self._transaction, self._state.bucket):
            count += 1
            packed = self._transaction.get(WORDS, word_key(self._state.bucket, term))
            if packed is None or term_id_in(packed) != term_id:
                yield f"term {term_id}, {_shown(term)}, is not in words"
        if count < len(self._words):
            yield f"terms holds {count} terms for {len(self._words)} words"

    def _removed_faults(self) -> Iterator[str]:
        """Yield the faults of objects that are being removed: table `removed` holds their terms, their records are
        empty."""
        for key, packed in self._transaction.rows(REMOVED, bucket_key(self._state.bucket)):
            iid = iid_of(key)
            part = ObjectRecord.unpack(packed, self._by_association)
            if iid not in self._half_gone:
                self._half_gone.add(iid)
                record = self._record(iid)
                if record is None or len(ObjectRecord.unpack(record, self._by_association)):
                    yield f"object {iid} is being removed, but its record is missing or holds terms"
            yield from self._record_faults(iid, part)

    def _record(self, iid: int) -> bytes | None:
        row = self._transaction.get(OBJECTS, object_key(self._state.bucket, iid // OBJECTS_PER_RECORD_ROW))
        return None if row is None else record_at(row, iid % OBJECTS_PER_RECORD_ROW)

    def _object_faults(self) -> Iterator[str]:
        lengths, held, found = -1, b"", 0
        for iid, packed in self._records():
            record = ObjectRecord.unpack(packed, self._by_association)
            self._objects += 1
            self._total_length += record.length
            self._objects_with_length += record.length > 0 or iid in self._half_gone
            if iid >= self._state.next_iid:
                yield f"object {_shown(record.oid)} has the number {iid}; the next one is {self._state.next_iid}"
            if hash(record.oid) in self._names:
                yield f"two objects are called {_shown(record.oid)}"
            self._names.add(hash(record.oid))
            is_named = iid in stored_names(self._transaction, self._state, name_hash(record.oid))
            found += is_named
            if iid < self._state.named and not is_named:
                yield f"object {_shown(record.oid)} with the number {iid} is not in oids"
            if iid // OBJECTS_PER_ROW != lengths:
                lengths = iid // OBJECTS_PER_ROW
                held = self._transaction.get(LENGTHS, length_key(self._state.bucket, lengths)) or b""
            place = iid % OBJECTS_PER_ROW
            if iid in self._half_gone:
                continue  # it keeps its length, so that the impacts of its blocks stay true
            if (held[place] if place < len(held) else 0) != pack_length(record.length):
                yield f"object {_shown(record.oid)} has the length {record.length}, `lengths` has another one"
            yield from self._record_faults(iid, record)
        yield from self._name_faults(found)

    def _records(self) -> Iterator[tuple[int, bytes]]:
        for number, row in self._numbered(OBJECTS):
            records = RecordRow(row).records()
            if not records:
                raise StoreDamaged(f"row {number} of objects is empty")
            for place, packed in records:
                yield number * OBJECTS_PER_RECORD_ROW + place, packed

    def _name_faults(self, found: int) -> Iterator[str]:
        """Yield the faults of table `oids`, in which `found` of the existing objects were found."""
        state, names = self._state, 0
        if state.named > state.next_iid:
            yield f"oids holds the objects before {state.named}; the next one is {state.next_iid}"
        for start, row in self._numbered(OIDS):
            entries = unpack_names(row)
            names += len(entries)
            if not entries or entries != sorted(set(entries)):
                yield f"the row of oids from {start} on is empty, or its names do not rise"
            if not state.slices or any(slice_start(hash, state.slices) != start for hash, _ in entries):
                yield f"the row of oids from {start} on holds names of other rows"
        if names != found:
            yield f"oids names {names} objects, {found} of them exist"

    def _record_faults(self, iid: int, record: ObjectRecord) -> Iterator[str]:
        words, balance, before = self._words, self._balance, -1
        for term_id, tf, hidden, block in record.terms():
            word = words.get(term_id)
            if word is None or term_id <= before:
                yield f"object {_shown(record.oid)} holds term {term_id}, which does not exist or does not rise"
                continue
            before = term_id
            self._holders[term_id] += 1
            if hidden:
                self._hidden[term_id] += 1
            balance[term_id] += hash((block, iid, max(tf, 1)))

    def _length_faults(self) -> Iterator[str]:
        used = 0
        for number, row in self._numbered(LENGTHS):
            used += len(row) - row.count(0)
            if len(row) > OBJECTS_PER_ROW or number * OBJECTS_PER_ROW + len(row) > self._state.next_iid:
                yield f"row {number} of lengths has {len(row)} bytes; the next object is {self._state.next_iid}"
        if used > self._objects_with_length:
            yield f"lengths has {used} entries for {self._objects_with_length} objects with words"

    def _posting_faults(self) -> Iterator[str]:
        untouched = set(self._words)
        for key, rows in groupby(self._rows(POSTINGS), key=lambda row: row[0][:NUMBER_BYTES]):
            term_id = int.from_bytes(key, "big")
            word = self._words.get(term_id)
            if word is None:
                yield f"postings has rows of term {term_id}, which does not exist"
                continue
            untouched.discard(term_id)
            blocks = [(int.from_bytes(key[NUMBER_BYTES:], "big"), block) for key, block in rows]
            for fault in self._block_faults(word, blocks):
                yield f"word {self._name(term_id)}: {fault}"
        for term_id in untouched:
            for fault in self._block_faults(self._words[term_id], []):
                yield f"word {self._name(term_id)}: {fault}"

    def _block_faults(self, word: TermInfo, blocks: list[tuple[int, bytes]]) -> Iterator[str]:
        if blocks and blocks[-1][0] >= word.position:
            yield f"block {blocks[-1][0]} is not before its tail, {word.position}"
        if not self._by_association:
            yield from self._impact_faults(word, blocks)
        if word.tail:
            blocks.append((word.position, word.tail))
        total = 0
        before = -1
        for number, block in blocks:
            postings = unpack_block(block)
            total += len(postings)
            if not 0 < len(postings) <= POSTINGS_PER_BLOCK:
                yield f"block {number} has {len(postings)} postings"
            if not self._by_association and number <= before:
                yield f"object {before} is in a block before block {number}, where it belongs"
            for iid, tf in postings:
                self._balance[word.term_id] -= hash((number if self._by_association else 0, iid, tf))
                if not self._by_association and iid <= max(before, number - 1):
                    yield f"object {iid} is out of order in block {number}"
                before = iid
        if word.df != total:
            yield f"it has {total} postings and counts {word.df}"

    def _impact_faults(self, word: TermInfo, blocks: list[tuple[int, bytes]]) -> Iterator[str]:
        """Yield the faults of a word's impacts: blocks without them, or with impacts that do not bound their postings'
        scores."""
        pairs: dict[int, list[tuple[int, int]]] = {}
        for key, packed in self._transaction.rows(IMPACTS, term_key(self._state.bucket, word.term_id)):
            row = ImpactRow(packed)
            if row.lower != block_position(key):
                yield f"the row of impacts from {row.lower} on has the key of {block_position(key)}"
            pairs.update((lower, row.pairs(place)) for place, lower in enumerate(row.lowers()))
        if list(pairs) != [lower for lower, _ in blocks]:
            yield f"impacts has {len(pairs)} blocks, postings has {len(blocks)}"
        for lower, block in blocks:
            held = {(tf, self._lengths[iid] if iid < len(self._lengths) else 0) for iid, tf in unpack_block(block)}
            if not all(
                any(most >= tf and least <= length for most, least in pairs.get(lower, [])) for tf, length in held
            ):
                yield f"the impacts of block {lower} do not bound its postings"

    def _holder_faults(self) -> Iterator[str]:
        for term_id, word in self._words.items():
            counted = self._holders[term_id], self._hidden[term_id]
            if (word.df, word.hidden_df) != counted or not word.df:
                yield (
                    f"word {self._name(term_id)} counts {word.df} objects that hold it and {word.hidden_df} "
                    f"that hide it instead of {counted[0]} and {counted[1]}"
                )
            if self._balance[term_id]:
                yield f"word {self._name(term_id)}: its postings are not those that the records of objects name"

    def _pending_faults(self) -> Iterator[str]:
        state, numbers = self._state, set[int]()
        if state.graph_seq > state.pending_seq:
            yield f"its graph holds pending words up to number {state.graph_seq}, the last is {state.pending_seq}"
        for key, row in self._rows(PENDING):
            number = int.from_bytes(row[:6], "big")
            if len(row) != 7 or row[6] > max(Why) or len(key) > WORD_BYTES_MAX or not 0 < number <= state.pending_seq:
                yield f"pending word {_shown(key)} has the row {row.hex()}; the last number is {state.pending_seq}"
            elif number in numbers:
                yield f"pending word {_shown(key)} has the number {number} of another one"
            numbers.add(number)

    def _counter_faults(self) -> Iterator[str]:
        for name, counted in (("objects", self._objects), ("total_length", self._total_length)):
            held = getattr(self._state, name)
            if held != counted:
                yield f"its {name} is {held} instead of {counted}"

    def _name(self, term_id: int) -> str:
        term = terms_numbered(self._transaction, self._state.bucket, [term_id]).get(term_id)
        return f"with the term id {term_id}" if term is None else _shown(term)


class TagsCheck(TermsCheck):
    """Checks the rows of the tags of a bucket, which are like those of its words but have a number of their own."""

    def __init__(self, transaction: Transaction, state: BucketState, counts: TagCounts, beside: Beside) -> None:
        super().__init__(transaction, BucketState(state.bucket | beside.mark, state.next_iid, counts.next_id))
        self._beside = beside
        self._counts = counts
        self._held = 0

    def faults(self) -> Iterator[str]:
        """Yield the faults of the tags, one sentence each."""
        return (
            f"{self._beside.use}: {fault}"
            for fault in chain(
                self._word_faults(),
                self._term_faults(),
                self._row_faults(),
                self._posting_faults(),
                self._holder_faults(),
                self._count_faults(),
            )
        )

    def _live_faults(self, live: int) -> Iterator[str]:
        return iter(())  # tags are not words of the bucket

    def _is_forgotten(self, word: bytes) -> bool:
        return False

    def _row_faults(self) -> Iterator[str]:
        bucket = owner_of(self._state.bucket)
        there = ObjectsThere(self._transaction, bucket)
        terms = all_terms(self._transaction, self._state.bucket)
        times = {id: tf for id, term in terms if (tf := self._beside.frequency_of(term)) > 1}
        for key, packed in self._transaction.rows(TAGS, bucket_key(bucket | self._beside.row_mark)):
            first, row = int.from_bytes(key[4:], "big") * self._beside.per_row, self._beside.row(packed)
            if row.pack() != packed:
                yield f"the row of the objects from {first} on is not written as it is read"
            for place in row.places():
                iid, ids = first + place, row.of(place)
                self._held += len(ids)
                if iid not in there:
                    yield f"object {iid} has {self._beside.use}, but does not exist"
                yield from self._record_faults(
                    iid, ObjectRecord.of(NO_NAME, [(id, times.get(id, 1), False, 0) for id in ids])
                )

    def _count_faults(self) -> Iterator[str]:
        counted = self._counts._replace(live=len(self._words), held=self._held)
        if counted != self._counts:
            held, right = (
                f"{counts.live} {self._beside.use} with {counts.held} holders" for counts in (self._counts, counted)
            )
            yield f"the bucket counts {held} instead of {right}"


def tag_faults(transaction: Transaction, state: BucketState) -> Iterator[str]:
    """Yield the faults of the tags and the named texts of a bucket, one sentence each."""
    return chain(_beside_faults(transaction, state, OF_TAGS), _beside_faults(transaction, state, OF_TEXTS))


def _beside_faults(transaction: Transaction, state: BucketState, beside: Beside) -> Iterator[str]:
    fact = transaction.get(FACTS, fact_key(state.bucket, beside.counts))
    prefix = bucket_key(state.bucket | beside.row_mark), bucket_key(state.bucket | beside.mark)
    rows = [transaction.first(table, key) for table, key in ((TAGS, prefix[0]), (WORDS, prefix[1]))]
    if fact is None:
        if any(row is not None and row[0].startswith(key) for row, key in zip(rows, prefix, strict=True)):
            yield f"it has {beside.use}, and no counters of them"
        return
    if beside.use not in uses_of(transaction):
        yield f"it has {beside.use}, and the row 'uses' of meta does not name them"
    yield from TagsCheck(transaction, state, unpack_tag_counts(fact), beside).faults()


def _shown(name: bytes) -> str:
    return repr(name.decode("utf-8", "replace"))
