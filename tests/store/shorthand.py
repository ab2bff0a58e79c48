"""Short ways to write texts, to open stores and to read back everything that a bucket shows."""

from pathlib import Path

from sonicpy._native.lengths import pack_length
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import RecordRow
from sonicpy._native.postings import unpack_block
from sonicpy._native.terms import PART, STOP, Terms
from sonicpy.store.changing.any_store import Readable
from sonicpy.store.changing.mutations import PushTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.keys import bucket_key
from sonicpy.store.rows.meta import BY_ASSOCIATION, BY_OBJECT, ORDER
from sonicpy.store.rows.numbered_terms import all_terms
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView
from tests.reference.store import ExportedObject

ANALYSER = {"lexer": "1", "stopwords.mode": "weigh"}
ORDERS = (BY_OBJECT, BY_ASSOCIATION)
"""The orders of postings lists; tests that make sense for both orders run for both."""
MAP_BYTES = 64 << 20


def open_store(
    folder: Path, *, map_bytes: int = MAP_BYTES, durability: str = "interval", order: str = BY_OBJECT
) -> Store:
    return Store(folder, analyser(order), map_bytes=map_bytes, durability=durability)


def analyser(order: str) -> dict[str, str]:
    """Return the analysis settings of stores with an order of postings lists."""
    return {**ANALYSER, ORDER: order} if order == BY_ASSOCIATION else ANALYSER


def terms(text: str) -> Terms:
    """Return the terms of a text like "fox*3 the! 天气?": with a count of three, a stop word, and a part of a run."""
    words, counts, flags = [], [], []
    for piece in text.split():
        word, _, count = piece.rstrip("!?").partition("*")
        words.append(word.encode())
        counts.append(int(count or 1))
        flags.append({"!": STOP, "?": PART}.get(piece[-1], 0))
    return Terms(words, bytes(counts), bytes(flags))


def push(oid: str, text: str, window: int = 0, bucket: str = "b", collection: str = "c") -> PushTerms:
    return PushTerms(collection, bucket, oid, terms(text), window)


def found(store: Readable, word: str, bucket: str = "b", collection: str = "c") -> list[str]:
    """Return the objects that a word finds according to its postings list, newest first."""
    with store.reading() as view:
        state = view.bucket(collection, bucket)
        if state is None:
            return []
        reader = BucketReader(view, state)
        return _found(reader, [word.encode()])[word.encode()]


def picture(view: View, collection: str, bucket: str) -> dict[str, object]:
    """Return the content of a bucket in a store, in the form of `reference.store.Bucket.picture`."""
    state = view.bucket(collection, bucket)
    assert state is not None
    reader = BucketReader(view, state)
    prefix = bucket_key(state.bucket)
    if isinstance(view, WriteView):
        view.flush()
    terms_by_id = dict(all_terms(view.transaction, state.bucket))
    records = {
        16 * _number(key[4:]) + place: ObjectRecord.unpack(record, view.by_association)
        for key, row in view.transaction.rows(tables.OBJECTS, prefix)
        for place, record in RecordRow(row).records()
    }
    words = list(terms_by_id.values())
    rows = {word: row for word, row in zip(words, reader.words(words), strict=True) if row is not None}
    packed = view.lengths(state)
    lengths = {}
    for iid, record in records.items():
        lengths[record.oid.decode()] = record.length
        assert (packed[iid] if iid < len(packed) else 0) == pack_length(record.length)
    return {
        "objects": {
            record.oid.decode(): {
                terms_by_id[term_id]: ExportedObject(tf, stop) for term_id, tf, stop, _ in record.terms()
            }
            for record in records.values()
        },
        "found": _found(reader, list(rows)),
        "df": {word: row.df for word, row in rows.items()},
        "hidden df": {word: row.hidden_df for word, row in rows.items() if row.hidden_df},
        "live": {word for word, row in reader.lexicon(b"") if row.live},
        "lengths": lengths,
    }


def count_objects(transaction: Transaction) -> int:
    """Return the number of objects in the rows of a transaction."""
    return sum(len(RecordRow(row)) for _, row in transaction.rows(tables.OBJECTS, b""))


def _found(reader: BucketReader, words: list[bytes]) -> dict[bytes, list[str]]:
    found = {}
    for word, row in zip(words, reader.words(words), strict=True):
        postings = [posting for block in reader.blocks(row) for posting in unpack_block(block)] if row else []
        assert row is None or row.df == len(postings)
        found[word] = reader.oids([iid for iid, _ in reversed(postings)])
    return found


def _number(key: bytes) -> int:
    return int.from_bytes(key, "big")
