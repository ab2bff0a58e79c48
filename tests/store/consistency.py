"""A check that all tables of a store agree with each other: every row that should exist does, and no other row.

`faults` returns a sentence for each fault; `check_consistent` is the assertion for tests.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import blake2b

from sonicpy._native.lengths import pack_length
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import RecordRow
from sonicpy._native.postings import POSTINGS_PER_BLOCK, unpack_block
from sonicpy._native.term_rows import WORD_BYTES_MAX, TermInfo, only_refers
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.table_numbers import BUCKET_TABLES, TABLE_NAMES
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import bucket_key, bucket_of, scope_of, word_key
from sonicpy.store.rows.lengths import OBJECTS_PER_ROW
from sonicpy.store.rows.meta import NEXT_BUCKET, read_position
from sonicpy.store.rows.numbered_terms import all_terms
from sonicpy.store.store import Store
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView
from tests.reference.dense_rows import read_names, read_tags, read_values

Rows = dict[bytes, bytes]
JOINT = b"\x02"
"""The first byte of a hidden term that names the joints of a word; records hold it 0 times, its postings count it
once.
"""
Entry = tuple[int, list[tuple[int, int]]]
"""A block's part of a row of impacts: the smallest IID that the block may hold, and its (tf, packed length) pairs."""


def check_consistent(store: Store) -> None:
    """Raise AssertionError unless the tables agree; inside an open write transaction, its changes are checked, too."""
    with store.reading() as view:
        found = list(faults(view))
    assert not found, "\n".join(found[:20])
    with store.reading() as view:
        assert read_position(view.transaction) <= store.log_position, "the environment holds what the log does not"


def faults(view: View) -> Iterator[str]:
    """Yield the faults of the store that `view` shows."""
    if isinstance(view, WriteView):
        view.flush()
    transaction = view.transaction
    for table, name in enumerate(TABLE_NAMES):
        seen = sum(1 for _ in transaction.rows(table, b""))
        if seen != transaction.count(table):
            yield f"{name.decode()} has {seen} rows and counts {transaction.count(table)}"
    yield from _scope_faults(transaction)
    for key, row in transaction.rows(tables.SCOPES, b""):
        state = BucketState.unpack(row)
        for fault in _BucketCheck(transaction, state).faults():
            yield f"{'/'.join(scope_of(key))}: {fault}"
        for fault in (*_TagsCheck(transaction, state).faults(), *_value_faults(transaction, state.bucket)):
            yield f"{'/'.join(scope_of(key))}: {fault}"
        for fault in _digest_faults(transaction, state.bucket):
            yield f"{'/'.join(scope_of(key))}: {fault}"


def _digest_faults(transaction: Transaction, bucket: int) -> Iterator[str]:
    """Yield the faults of the digests of a bucket: a row has 64 digests of eight bytes, and their objects exist."""
    objects = set()
    for key, row in transaction.rows(tables.OBJECTS, bucket_key(bucket)):
        objects |= {16 * int.from_bytes(key[4:], "big") + place for place, _ in RecordRow(row).oids()}
    for key, row in transaction.rows(tables.DIGESTS, bucket_key(bucket)):
        first = 64 * int.from_bytes(key[4:], "big")
        if not 0 < len(row) <= 512 or len(row) % 8 or not any(row[-8:]):
            yield f"the row {key!r} of digests has {len(row)} bytes"
        for place in range(len(row) // 8):
            if any(row[8 * place : 8 * place + 8]) and first + place not in objects:
                yield f"the object {first + place} has a digest and does not exist"


def _scope_faults(transaction: Transaction) -> Iterator[str]:
    scopes = {key: BucketState.unpack(row).bucket for key, row in transaction.rows(tables.SCOPES, b"")}
    names = {bucket_of(key): scope for key, scope in transaction.rows(tables.BUCKETS, b"")}
    dropped = {bucket_of(key) for key, _ in transaction.rows(tables.DROPPED, b"")}
    if {number: scope for scope, number in scopes.items()} != names or len(names) != len(scopes):
        yield f"scopes {scopes} and buckets {names} do not name each other"
    if dropped & set(names):
        yield f"buckets {dropped & set(names)} are dropped and named"
    next_bucket = NEXT_BUCKET.read(transaction) or 0
    if any(number >= next_bucket for number in dropped | set(names)):
        yield f"bucket numbers {dropped | set(names)} are not below the next one, {next_bucket}"
    for table in BUCKET_TABLES:
        strangers = {bucket_of(key) & (2**31 - 1) for key, _ in transaction.rows(table, b"")} - dropped - set(names)
        if strangers:
            yield f"{TABLE_NAMES[table].decode()} has rows of buckets {strangers}, which do not exist"


def unpack_one(row: bytes) -> int:
    """Return the number of a row that holds one varint."""
    return sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(row))


def unpack_impacts(row: bytes) -> list[Entry]:
    """Return the blocks of a row of impacts, by its documented layout. Raises ValueError if its layout differs."""
    entries: list[Entry] = []
    at, lower = 1, 0
    for _ in range(row[0]):
        end = at + 1
        while row[end - 1] & 0x80:
            end += 1
        lower += unpack_one(row[at:end])
        count, at = row[end], end + 1
        entries.append((lower, [(row[at + 2 * pair], row[at + 2 * pair + 1]) for pair in range(count)]))
        at += 2 * count
        if not 0 < count <= 4:
            raise ValueError(f"{count} pairs bound a block")
    if at != len(row) or not 0 < row[0] <= 128:
        raise ValueError("a row of impacts has another length than its blocks")
    return entries


class _BucketCheck:
    """One bucket, read whole into dicts with the bucket's number cut off the keys."""

    def __init__(self, transaction: Transaction, state: BucketState) -> None:
        self.state = state
        self.by_association = View(transaction).by_association
        prefix = bucket_key(state.bucket)
        self._rows = [
            {key[4:]: row for key, row in transaction.rows(table, prefix)} if table in BUCKET_TABLES else {}
            for table in range(len(TABLE_NAMES))
        ]
        self.records = {
            16 * number(key) + place: ObjectRecord.unpack(record, self.by_association)
            for key, row in self._rows[tables.OBJECTS].items()
            for place, record in RecordRow(row).records()
        }
        self.terms = dict(all_terms(transaction, state.bucket))
        self._by_letters = self._rows[tables.FACTS].get(b"\x08", b"\1")[0] >= 8
        common = {number(key): row for key, row in self._rows[tables.COMMON].items()}
        self.references = {key: unpack_one(row) for key, row in self._rows[tables.WORDS].items() if only_refers(row)}
        self.common = set(common)
        self.words = {
            key: TermInfo(row, _shown_bytes(self.terms.get(_term_id(row), key), self._by_letters))
            for key, found in self._rows[tables.WORDS].items()
            if (row := common.get(self.references[key], b"") if key in self.references else found)
        }
        self.holdings: dict[int, list[tuple[int, int, bool, int]]] = defaultdict(list)  # IID, tf, hidden, block
        for iid, record in self.records.items():
            for term_id, tf, stop, block in record.terms():
                self.holdings[term_id].append((iid, tf, stop, block))
        self.half_gone: set[int] = set()
        for key, row in self._rows[tables.REMOVED].items():
            self.half_gone.add(iid := number(key[:5]))
            for term_id, tf, stop, block in ObjectRecord.unpack(row, self.by_association).terms():
                self.holdings[term_id].append((iid, tf, stop, block))
        if any(number(key) * OBJECTS_PER_ROW >= state.next_iid for key in self._rows[tables.LENGTHS]):
            raise ValueError("lengths of objects that do not exist yet")
        self.lengths = b"".join(
            row.ljust(OBJECTS_PER_ROW, b"\0") for row in self._length_rows(self._rows[tables.LENGTHS])
        )
        self.blocks: dict[int, dict[int, list[tuple[int, int]]]] = defaultdict(dict)
        for key, row in self._rows[tables.POSTINGS].items():
            self.blocks[number(key[:5])][number(key[5:])] = unpack_block(row)
        self.impacts: dict[int, list[tuple[int, list[Entry]]]] = defaultdict(list)  # rows, each with its lower IID
        for key, row in self._rows[tables.IMPACTS].items():
            self.impacts[number(key[:5])].append((number(key[5:]), unpack_impacts(row)))

    @staticmethod
    def _length_rows(rows: dict[bytes, bytes]) -> Iterator[bytes]:
        """Yield the rows of lengths by number, with missing rows as empty ones."""
        numbered = {number(key): row for key, row in rows.items()}
        return (numbered.get(place, b"") for place in range(max(numbered, default=-1) + 1))

    def faults(self) -> Iterator[str]:
        if any(iid not in self.records or len(self.records[iid]) for iid in self.half_gone):
            yield f"of the objects {self.half_gone}, which are being removed, some have no record or hold terms"
        yield from self._object_faults()
        yield from self._term_faults()
        for key, word in self.words.items():
            for fault in (*self._word_faults(word), *self._posting_faults(word)):
                yield f"word {key!r}: {fault}"
        yield from self._pending_faults()
        yield from self._counter_faults()
        yield from self._vector_faults()

    def _vector_faults(self) -> Iterator[str]:
        """Yield the faults of vectors: their objects exist, their columns are those of the bucket, and rows have the
        length in their heads.
        """
        columns = {column: bits // 8 for _, bits, column in json.loads(self._rows[tables.FACTS].get(b"\x30", b"[]"))}
        for key, row in self._rows[tables.VECTORS].items():
            size = columns[key[0]]
            places = 32640 // (8 * size + 1)
            head = row[: -(-places // 8)]
            held = [place for place in range(8 * len(head)) if head[place // 8] >> place % 8 & 1]
            if not held or len(row) != len(head) + size * len(held):
                yield f"a row of vectors has {len(row)} bytes for {len(held)} objects"
            if missing := {number(key[1:]) * places + place for place in held} - self.records.keys():
                yield f"the missing objects {missing} have vectors"

    def _object_faults(self) -> Iterator[str]:
        if len({record.oid for record in self.records.values()}) != len(self.records):
            yield f"objects {self.records} share names"
        if any(not row for row in self._rows[tables.OBJECTS].values()):
            yield "a row of objects is empty"
        yield from self._name_faults()
        if any(iid >= self.state.next_iid for iid in self.records):
            yield f"object numbers {set(self.records)} are not below the next one, {self.state.next_iid}"
        held = bytearray(OBJECTS_PER_ROW * (self.state.next_iid // OBJECTS_PER_ROW + 1))
        for key, row in self._rows[tables.LENGTHS].items():
            start = number(key) * OBJECTS_PER_ROW
            if len(row) > OBJECTS_PER_ROW or start + len(row) > len(held):
                yield f"row {number(key)} of lengths has {len(row)} bytes, the next object is {self.state.next_iid}"
            held[start : start + len(row)] = row
        lengths = {iid: packed for iid, packed in enumerate(held) if packed and iid not in self.half_gone}
        expected = {iid: pack_length(record.length) for iid, record in self.records.items() if record.length}
        if lengths != expected:
            yield f"lengths are {lengths} instead of {expected}"
        for iid, record in self.records.items():
            ids = [term_id for term_id, *_ in record.terms()]
            if ids != sorted(set(ids)) or any(term_id not in self.terms for term_id in ids):
                yield f"object {iid} names the terms {ids}, which do not rise or do not exist"

    def _name_faults(self) -> Iterator[str]:
        expected = {
            (number(blake2b(record.oid, digest_size=5).digest()) >> 8 << 8, iid) for iid, record in self.records.items()
        }
        held = []
        for key, row in self._rows[tables.OIDS].items():
            entries = list(_entries(row))
            held += entries
            if not entries or entries != sorted(entries):
                yield f"oids {key!r} has the names {entries}"
            if {_slice(hash, self.state.slices) for hash, _ in entries} != {number(key)}:
                yield f"oids {key!r} of {self.state.slices} has the names {entries} of other rows"
        if len(held) != len(set(held)) or not set(held) <= expected:
            yield f"oids names {held}, objects {expected}"
        if {name for name in expected if name[1] < self.state.named} - set(held):
            yield f"objects before {self.state.named} are not in oids: {held}"
        if self.state.named > self.state.next_iid:
            yield f"objects before {self.state.named} are in oids, the next one is {self.state.next_iid}"

    def _term_faults(self) -> Iterator[str]:
        if len(self.references) != len(self.common) or set(self.references.values()) != self.common:
            yield f"words refers to {sorted(self.references.values())} of common, which has {sorted(self.common)}"
        for key, word in self.words.items():
            if (word.position > 0) != (key in self.references) or self.references.get(key, word.term_id) != (
                word.term_id
            ):
                yield f"word {key!r} with the position {word.position} refers to {self.references.get(key)}"
        ids = Counter(word.term_id for word in self.words.values())
        if set(ids) != set(self.terms) or any(count > 1 for count in ids.values()):
            yield f"words have the term ids {sorted(ids.elements())}, terms {sorted(self.terms)}"
        if any(term_id >= self.state.next_term for term_id in self.terms):
            yield f"term ids {sorted(self.terms)} are not below the next one, {self.state.next_term}"
        for key, word in self.words.items():
            if word.term_id in self.terms and word_key(0, self.terms[word.term_id])[4:] != key:
                yield f"word {key!r} has the term {self.terms[word.term_id]!r}"
        strangers = (set(self.blocks) | set(self.impacts)) - set(self.terms)
        if strangers:
            yield f"postings and impacts have the terms {strangers}, which do not exist"

    def _word_faults(self, word: TermInfo) -> Iterator[str]:
        held = self.holdings.get(word.term_id, [])
        is_joint = self.state.bucket < 1 << 31 and self.terms.get(word.term_id, b"").startswith(JOINT)
        if any((tf == 0) != is_joint or (is_joint and not hidden) for _, tf, hidden, _ in held):
            yield f"is held {held}: the name of joints always hidden and 0 times, another term never"
        counts = (word.df, word.hidden_df)
        expected = (len(held), sum(hidden for _, _, hidden, _ in held))
        if counts != expected:
            yield f"has df and hidden df {counts} instead of {expected}"
        if word.df == 0:
            yield "is held by no object, but is still there"

    def _posting_faults(self, word: TermInfo) -> Iterator[str]:
        full = self.blocks.get(word.term_id, {})
        if any(lower >= word.position for lower in full):
            yield f"has blocks {sorted(full)} that are not before its tail, {word.position}"
        blocks = {**full, word.position: unpack_block(word.tail)} if word.tail else full
        if any(not 0 < len(block) <= POSTINGS_PER_BLOCK for block in blocks.values()):
            yield f"has blocks of {[len(blocks[block]) for block in sorted(blocks)]} postings"
        postings = [(block, *posting) for block in sorted(blocks) for posting in blocks[block]]
        held = [(iid, tf or 1, hidden, block) for iid, tf, hidden, block in self.holdings.get(word.term_id, [])]
        if self.by_association:
            expected = sorted((block, iid, tf) for iid, tf, _, block in held)
            if sorted(postings) != expected:
                yield f"has the (block, iid, tf) {sorted(postings)}, but objects say {expected}"
            if self.impacts.get(word.term_id):
                yield "has impacts, which only lists in the order of objects have"
            return
        if [(iid, tf) for _, iid, tf in postings] != sorted((iid, tf) for iid, tf, *_ in held):
            yield f"has the (block, iid, tf) {postings}, but objects say {held}"
        ends = [*sorted(blocks)[1:], 2**32]
        for lower, end in zip(sorted(blocks), ends, strict=True):
            if not all(lower <= iid < end for iid, _ in blocks[lower]):
                yield f"has {blocks[lower]} in the block for {lower} to {end}"
        yield from self._impact_faults(word, full)

    def _impact_faults(self, word: TermInfo, full: dict[int, list[tuple[int, int]]]) -> Iterator[str]:
        rows = self.impacts.get(word.term_id, [])
        entries = [entry for _, row in rows for entry in row]
        if any(lower != row[0][0] for lower, row in rows):
            yield f"has rows of impacts whose keys {[lower for lower, _ in rows]} do not name their first blocks"
        if [lower for lower, _ in entries] != sorted(full):
            yield f"has impacts of the blocks {[lower for lower, _ in entries]} and the blocks {sorted(full)}"
        for lower, pairs in entries:
            for iid, tf in full.get(lower, []):
                length = pack_length(self.records[iid].length) if iid in self.records else 0
                if iid in self.half_gone:
                    length = self.lengths[iid]
                if not any(most >= tf and least <= length for most, least in pairs):
                    yield f"has the impacts {pairs} for block {lower}, where object {iid} has {tf, length}"

    def _pending_faults(self) -> Iterator[str]:
        pending = self._rows[tables.PENDING]
        live = {key for key, word in self.words.items() if word.live}
        if self.state.lexicon_version == self.state.graph_words == 0 and live - set(pending):
            yield f"words {live - set(pending)} are in no graph and not pending"
        if not self.state.graph_seq <= self.state.pending_seq:
            yield f"the graph holds {self.state.graph_seq} edits of {self.state.pending_seq}"
        numbers = [number(row[:6]) for row in pending.values()]
        if len(set(numbers)) != len(numbers) or not all(0 < edit <= self.state.pending_seq for edit in numbers):
            yield f"pending has the edits {numbers}, the last one is {self.state.pending_seq}"
        if any(len(row) != 7 or row[6] > 2 or len(key) > WORD_BYTES_MAX for key, row in pending.items()):
            yield f"pending has rows that cannot be: {pending}"

    def _counter_faults(self) -> Iterator[str]:
        counted = {
            "objects": len(self.records),
            "total_length": sum(record.length for record in self.records.values()),
            "live_words": sum(word.live for word in self.words.values()),
        }
        for name, expected in counted.items():
            if getattr(self.state, name) != expected:
                yield f"{name} is {getattr(self.state, name)} instead of {expected}"


class _TagsCheck(_BucketCheck):
    """The tags of a bucket: words under another number, held by the objects that the rows of `tags` name."""

    def __init__(self, transaction: Transaction, state: BucketState) -> None:
        self.counts = [*_varints(transaction.get(tables.FACTS, bucket_key(state.bucket) + b"\x29") or b"\0\0\0")]
        super().__init__(transaction, BucketState(state.bucket | 1 << 31, state.next_iid, self.counts[0]))
        self.objects = set(_BucketCheck(transaction, state).records)
        self.held: dict[int, list[int]] = {}
        for key, row in transaction.rows(tables.TAGS, bucket_key(state.bucket)):
            self.held.update((64 * number(key[4:]) + place, ids) for place, ids in read_tags(row).items())
        for iid, ids in self.held.items():
            self.records[iid] = ObjectRecord.of(b"-", [(id, 1, False, 0) for id in ids])
            for id in ids:
                self.holdings[id].append((iid, 1, False, 0))

    def faults(self) -> Iterator[str]:
        if not set(self.held) <= self.objects:
            yield f"objects {set(self.held) - self.objects} have tags, but do not exist"
        if any(ids != sorted(set(ids)) or not set(ids) <= set(self.terms) for ids in self.held.values()):
            yield f"objects have the tags {self.held}, of which some do not exist"
        if self.counts[1:] != [len(self.words), sum(map(len, self.held.values()))]:
            yield f"counts {self.counts} for {len(self.words)} tags of {self.held}"
        yield from self._term_faults()
        for key, word in self.words.items():
            for fault in (*self._word_faults(word), *self._posting_faults(word)):
                yield f"tag {key!r}: {fault}"

    def _impact_faults(self, word: TermInfo, full: dict[int, list[tuple[int, int]]]) -> Iterator[str]:
        entries = [entry for _, row in self.impacts.get(word.term_id, []) for entry in row]
        if entries != [(lower, [(1, 0)]) for lower in sorted(full)]:
            yield f"has the impacts {entries} for the blocks {sorted(full)}"


def _value_faults(transaction: Transaction, bucket: int) -> Iterator[str]:
    fact, at = transaction.get(tables.FACTS, bucket_key(bucket) + b"\x2a") or b"", 0
    counts: dict[int, int] = {}
    while at < len(fact):
        at += 2 + fact[at + 1]
        counts[len(counts)] = int.from_bytes(fact[at : at + 5], "little")
        at += 5
    held = Counter[int]()
    for key, row in transaction.rows(tables.COLUMNS, bucket_key(bucket)):
        held[key[4]] += len(read_values(row))
    if held != Counter(counts):
        yield f"columns have {held} values, the bucket counts {counts}"


def _entries(row: bytes) -> Iterator[tuple[int, int]]:
    """Yield the (hash, IID) pairs of a row of `oids`. Raises ValueError if the row is cut off."""
    if row[:2] == b"\x80\0":
        yield from read_names(row)
        return
    numbers = list(_varints(row))
    if len(numbers) % 2:
        raise ValueError("the last name is cut off")
    hash = 0
    for step, iid in zip(numbers[::2], numbers[1::2], strict=True):
        hash += step
        yield hash >> 8 << 8, iid


def _varints(row: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in row:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0
    if shift:
        raise ValueError("the last number is cut off")


def _slice(hash: int, slices: int) -> int:
    """Return the smallest hash in the same one of `slices` slices, found by the names of slices as strings of bits."""
    bits = f"{hash:040b}"
    whole = slices.bit_length() - 1
    is_split = int(bits[:whole] or "0", 2) < slices - 2**whole
    return int(bits[: whole + is_split].ljust(40, "0"), 2)


def number(key: bytes) -> int:
    """Return the big-endian number in a key or row."""
    return int.from_bytes(key, "big")


def _shown_bytes(word: bytes, by_letters: bool) -> int:
    """Return the size of a word that is compared with the limit of 40 bytes for shown words; newer rules show 50
    letters in at most 160 bytes.
    """
    if by_letters and 40 < len(word) <= 160:
        return 40 if len(word.decode()) <= 50 else 41
    return len(word)


def _term_id(row: bytes) -> int:
    return TermInfo(row, 0).term_id
