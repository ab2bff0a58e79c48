"""Whether all tables of a store agree with each other: every row must be there that should be, and no other.

`faults` says in one sentence each what is wrong; `check_consistent` is the assertion for tests.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import blake2b

from sonicpy._native.lengths import pack_length
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import RecordRow
from sonicpy._native.postings import POSTINGS_PER_BLOCK, unpack_block
from sonicpy._native.term_rows import WORD_BYTES_MAX, TermInfo
from sonicpy.store import environment as tables
from sonicpy.store.bucket_state import BucketState
from sonicpy.store.environment import BUCKET_TABLES, TABLE_NAMES, Transaction
from sonicpy.store.keys import bucket_key, bucket_of, scope_of, word_key
from sonicpy.store.lengths import OBJECTS_PER_ROW
from sonicpy.store.meta import NEXT_BUCKET, read_position
from sonicpy.store.store import Store
from sonicpy.store.view import View
from sonicpy.store.write_view import WriteView

Rows = dict[bytes, bytes]


def check_consistent(store: Store) -> None:
    """Raise AssertionError unless the tables agree; inside an open write transaction its changes count."""
    with store.reading() as view:
        found = list(faults(view))
    assert not found, "\n".join(found[:20])
    with store.reading() as view:
        assert read_position(view.transaction) <= store.log_position, "the environment holds what the log does not"


def faults(view: View) -> Iterator[str]:
    """Yield what is wrong with the store that `view` shows."""
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
        strangers = {bucket_of(key) for key, _ in transaction.rows(table, b"")} - dropped - set(names)
        if strangers:
            yield f"{TABLE_NAMES[table].decode()} has rows of buckets {strangers}, which do not exist"


def unpack_one(row: bytes) -> int:
    """Return the number of a row that holds one varint."""
    return sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(row))


class _BucketCheck:
    """One bucket, read whole into dicts with the bucket's number cut off the keys."""

    def __init__(self, transaction: Transaction, state: BucketState) -> None:
        self.state = state
        prefix = bucket_key(state.bucket)
        self._rows = [
            {key[4:]: row for key, row in transaction.rows(table, prefix)} if table in BUCKET_TABLES else {}
            for table in range(len(TABLE_NAMES))
        ]
        self.records = {
            16 * number(key) + place: ObjectRecord.unpack(record)
            for key, row in self._rows[tables.OBJECTS].items()
            for place, record in RecordRow(row).records()
        }
        self.terms = {number(key): term for key, term in self._rows[tables.TERMS].items()}
        common = {number(key): row for key, row in self._rows[tables.COMMON].items()}
        self.references = {
            key: unpack_one(row) for key, row in self._rows[tables.WORDS].items() if len(list(_varints(row))) == 1
        }
        self.common = set(common)
        self.words = {
            key: TermInfo(row, len(self.terms.get(_term_id(row), key)))
            for key, found in self._rows[tables.WORDS].items()
            if (row := common.get(self.references[key], b"") if key in self.references else found)
        }
        self.holdings: dict[int, list[tuple[int, int, bool, int]]] = defaultdict(list)  # IID, tf, hidden, block
        for iid, record in self.records.items():
            for term_id, tf, stop, block in record.terms():
                self.holdings[term_id].append((iid, tf, stop, block))
        self.blocks: dict[int, dict[int, list[tuple[int, int]]]] = defaultdict(dict)
        for key, row in self._rows[tables.POSTINGS].items():
            self.blocks[number(key[:5])][number(key[5:])] = unpack_block(row)
        self.strays = [
            word for word in self.words.values() if any(n >= word.last_block for n in self.blocks.get(word.term_id, ()))
        ]
        for word in self.words.values():
            if word.tail:
                self.blocks[word.term_id][word.last_block] = unpack_block(word.tail)

    def faults(self) -> Iterator[str]:
        yield from self._object_faults()
        yield from self._term_faults()
        for key, word in self.words.items():
            for fault in (*self._word_faults(word), *self._posting_faults(word)):
                yield f"word {key!r}: {fault}"
        yield from self._pending_faults()
        yield from self._counter_faults()

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
        lengths = {iid: packed for iid, packed in enumerate(held) if packed}
        expected = {iid: pack_length(record.length) for iid, record in self.records.items() if record.length}
        if lengths != expected:
            yield f"lengths are {lengths} instead of {expected}"
        for iid, record in self.records.items():
            ids = [term_id for term_id, *_ in record.terms()]
            if ids != sorted(set(ids)) or any(term_id not in self.terms for term_id in ids):
                yield f"object {iid} names the terms {ids}, which do not rise or do not exist"

    def _name_faults(self) -> Iterator[str]:
        expected = {(number(blake2b(record.oid, digest_size=5).digest()), iid) for iid, record in self.records.items()}
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
            if (word.last_block > 1) != (key in self.references) or self.references.get(key, word.term_id) != (
                word.term_id
            ):
                yield f"word {key!r} of {word.last_block} blocks refers to {self.references.get(key)}"
        ids = Counter(word.term_id for word in self.words.values())
        if set(ids) != set(self.terms) or any(count > 1 for count in ids.values()):
            yield f"words have the term ids {sorted(ids.elements())}, terms {sorted(self.terms)}"
        if any(term_id >= self.state.next_term for term_id in self.terms):
            yield f"term ids {sorted(self.terms)} are not below the next one, {self.state.next_term}"
        for key, word in self.words.items():
            if word.term_id in self.terms and word_key(0, self.terms[word.term_id])[4:] != key:
                yield f"word {key!r} has the term {self.terms[word.term_id]!r}"
        if self.strays:
            yield f"the words {[word.term_id for word in self.strays]} have blocks that are not before their last ones"
        strangers = set(self.blocks) - set(self.terms)
        if strangers:
            yield f"postings have the terms {strangers}, which do not exist"

    def _word_faults(self, word: TermInfo) -> Iterator[str]:
        held = self.holdings.get(word.term_id, [])
        hidden = sum(hidden for _, _, hidden, _ in held)
        counts = (word.holders, word.hidden_holders)
        if counts != (len(held), hidden):
            yield f"counts {counts} holders and hidden ones instead of {(len(held), hidden)}"
        if word.holders == 0:
            yield "is held by no object, but is still there"

    def _posting_faults(self, word: TermInfo) -> Iterator[str]:
        blocks = self.blocks.get(word.term_id, {})
        numbers = sorted(blocks)
        postings = [(block, *posting) for block in numbers for posting in blocks[block]]
        if any(not 0 < len(block) <= POSTINGS_PER_BLOCK for block in blocks.values()):
            yield f"has blocks of {[len(blocks[block]) for block in numbers]} postings"
        if len({iid for _, iid, _ in postings}) != len(postings):
            yield f"has an object twice: {postings}"
        if word.df != len(postings) - word.dead:
            yield f"has df {word.df} with {len(postings)} postings and {word.dead} dead"
        if not numbers:
            if (word.first_block, word.dead, word.first_count) != (word.last_block + 1, 0, 0):
                yield f"has no postings, but first {word.first_block}, last {word.last_block}, dead {word.dead}"
        elif numbers[0] != word.first_block or numbers[-1] > word.last_block:
            yield f"has blocks {numbers}, but first {word.first_block}, last {word.last_block}"
        elif word.first_count != len(blocks[numbers[0]]) or not word.dead < word.first_count:
            yield f"counts {word.first_count} postings ({word.dead} dead) in a first block of {len(blocks[numbers[0]])}"
        held = self.holdings.get(word.term_id, [])
        expected = {(block, iid, tf) for iid, tf, _, block in held if block >= word.first_block}
        if set(postings) != expected:
            yield f"has the (block, iid, tf) {sorted(postings)}, but objects say {sorted(expected)}"

    def _pending_faults(self) -> Iterator[str]:
        pending = self._rows[tables.PENDING]
        live = {key for key, word in self.words.items() if word.live}
        if self.state.lexicon_version == 0 and live - set(pending):
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


def _entries(row: bytes) -> Iterator[tuple[int, int]]:
    """Yield the (hash, IID) pairs of a row of `oids`."""
    numbers = list(_varints(row))
    if len(numbers) % 2:
        raise ValueError("the last name is cut off")
    hash = 0
    for step, iid in zip(numbers[::2], numbers[1::2], strict=True):
        hash += step
        yield hash, iid


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
    """Return the smallest hash that belongs to the same one of so many slices: by their names as strings of bits."""
    bits = f"{hash:040b}"
    whole = slices.bit_length() - 1
    is_split = int(bits[:whole] or "0", 2) < slices - 2**whole
    return int(bits[: whole + is_split].ljust(40, "0"), 2)


def number(key: bytes) -> int:
    """Return the big-endian number that a key or row is."""
    return int.from_bytes(key, "big")


def _term_id(row: bytes) -> int:
    return TermInfo(row, 0).term_id
