"""The layout of every key. All numbers are big-endian, so that rows sort as their numbers do.

    table      key
    meta       name
    scopes     length of collection u8 | collection | bucket name     (a name may contain a NUL, so no separator)
    buckets    bucket u32
    words      bucket u32 | term (UTF-8; over 500 bytes: its first 466, 0xFF, BLAKE2b-256 of the whole)
    terms      bucket u32 | term id u40
    postings   bucket u32 | term id u40 | smallest IID that the block may hold, or its number, u32
    impacts    as postings: the key of the first block that the row covers
    objects    bucket u32 | IID // 16 u40
    lengths    bucket u32 | IID // 4000 u40
    oids       bucket u32 | smallest hash of the slice u40
    pending    as words
    removed    bucket u32 | IID u40 | number of the part u32
    facts      bucket u32 | kind u8
    digests    bucket u32 | IID // 64 u40
    vectors    bucket u32 | column u8 | number of the row u40
    tags       bucket u32 | IID // 64 u40
    columns    bucket u32 | number of the column u8 | IID // 128 u40
    doomed     bucket u32        (dropped buckets whose rows are still to be deleted)

The words, terms and postings of the tags of a bucket have the number of the bucket + 2**31, so that they are apart from
its words. Those of its named texts, and the rows of their ids in `tags`, have that number + 2**30.

The packers of the hot path are native (sonicpy._native.keys); the others are here.
"""

from sonicpy._native.keys import block_key, bucket_key, object_key, scope_key, term_key, word_key
from sonicpy.errors import StoreDamaged
from sonicpy.ids import Scope
from sonicpy.store.rows.marks import BESIDE_MARKS, TAGS_MARK, TEXTS_MARK, VALUES_MARK

__all__ = [
    "BESIDE_MARKS",
    "BUCKET_MAX",
    "STAGING",
    "TAGS_MARK",
    "TERM_KEY_BYTES",
    "TEXTS_MARK",
    "VALUES_MARK",
    "after_collection",
    "block_key",
    "block_position",
    "bucket_key",
    "bucket_of",
    "collection_prefix",
    "column_key",
    "column_row_of",
    "columns_prefix",
    "fact_key",
    "fact_kind",
    "iid_of",
    "is_staged",
    "length_key",
    "length_row_of",
    "part_number",
    "object_key",
    "owner_of",
    "scope_key",
    "scope_of",
    "tag_key",
    "term_key",
    "window_id",
    "word_key",
]

BUCKET_MAX = VALUES_MARK - 1
TERM_KEY_BYTES = 9
"""The number of bytes of the bucket and the term in the keys of `postings` and `impacts`."""

STAGING = ""
"""The collection of the staged buckets of a restore; see `restore`."""

length_key = object_key  # the row number takes the place of an IID
tag_key = object_key  # here, too


def length_row_of(key: bytes) -> int:
    """Return the number of the row in a key of `lengths`."""
    return int.from_bytes(key[4:], "big")


def collection_prefix(collection: str) -> bytes:
    """Return the prefix of the keys of all scopes of a collection."""
    name = collection.encode()
    return bytes((len(name),)) + name


def after_collection(collection: str) -> bytes:
    """Return a key between the scopes of a collection and those of the next one."""
    return collection_prefix(collection) + b"\xff"  # names are ASCII


def scope_of(key: bytes) -> Scope:
    """Return the scope in a key of `scopes`. Raises StoreDamaged if there is none."""
    end = 1 + key[0] if key else 1
    try:
        scope = Scope(key[1:end].decode("ascii"), key[end:].decode("ascii"))
    except UnicodeDecodeError as error:
        raise StoreDamaged(f"the key {key!r} of the table scopes is damaged: it names no bucket") from error
    if end >= len(key):
        raise StoreDamaged(f"the key {key!r} of the table scopes is damaged: it is cut off")
    return scope


def is_staged(scope: Scope) -> bool:
    """Return whether a bucket is still being restored."""
    return scope.collection == STAGING


def fact_key(bucket: int, kind: int) -> bytes:
    """Return the key of a fact of a bucket; kinds are numbers of 8 bits."""
    return bucket_key(bucket) + bytes((kind,))


def fact_kind(key: bytes) -> int:
    """Return the kind of fact in a key of `facts`."""
    return key[4]


def columns_prefix(bucket: int, column: int) -> bytes:
    """Return the prefix of the keys of the rows of a column."""
    return fact_key(bucket, column)


def column_key(bucket: int, column: int, number: int) -> bytes:
    """Return the key of a row of a column; `number` is IID // 128 of the objects in the row."""
    return columns_prefix(bucket, column) + number.to_bytes(5, "big")


def column_row_of(key: bytes) -> int:
    """Return the number of the row in a key of `columns`."""
    return int.from_bytes(key[5:], "big")


def window_id(column: int, iid: int) -> int:
    """Return the number of the window of a column that holds an object: the key of caches and of noted changes."""
    return column << 20 | iid >> 12


def owner_of(number: int) -> int:
    """Return the number of the bucket to which the rows under `number` belong: rows of its own, of its tags or of its
    named texts."""
    return number & BUCKET_MAX


def block_position(key: bytes) -> int:
    """Return the last part of a key of `postings`: the smallest IID that the block may hold, or its number."""
    return int.from_bytes(key[TERM_KEY_BYTES:], "big")


def bucket_of(key: bytes) -> int:
    """Return the bucket id at the beginning of a key."""
    return int.from_bytes(key[:4], "big")


def iid_of(key: bytes) -> int:
    """Return the IID in a key of `removed`."""
    return int.from_bytes(key[4:TERM_KEY_BYTES], "big")


def part_number(key: bytes) -> int:
    """Return the number of the part in a key of `removed`."""
    return int.from_bytes(key[TERM_KEY_BYTES:], "big")
