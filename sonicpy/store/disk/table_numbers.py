"""The tables of a store: their numbers and names."""

from typing import Final

# Tables, in the order of docs/storage-format.md.
META: Final = 0
SCOPES: Final = 1
BUCKETS: Final = 2
WORDS: Final = 3
COMMON: Final = 4
TERMS: Final = 5
POSTINGS: Final = 6
IMPACTS: Final = 7
OBJECTS: Final = 8
LENGTHS: Final = 9
OIDS: Final = 10
PENDING: Final = 11
DROPPED: Final = 12
REMOVED: Final = 13
FACTS: Final = 14
DIGESTS: Final = 15
VECTORS: Final = 16
TAGS: Final = 17
COLUMNS: Final = 18
ORDERS: Final = 19
SMALL: Final = 20

TABLE_NAMES: Final = (
    b"meta", b"scopes", b"buckets", b"words", b"common", b"terms", b"postings", b"impacts", b"objects", b"lengths",
    b"oids", b"pending", b"doomed", b"removed", b"facts", b"digests", b"vectors", b"tags", b"columns", b"orders",
    b"small",
)  # fmt: skip

# The tables whose keys begin with a bucket id: their rows are deleted when a bucket is flushed.
BUCKET_TABLES: Final = (
    WORDS, COMMON, TERMS, POSTINGS, IMPACTS, OBJECTS, LENGTHS, OIDS, PENDING, REMOVED, FACTS, DIGESTS, VECTORS, TAGS,
    COLUMNS, ORDERS,
)  # fmt: skip
# Those of the tables above whose rows, if they are of a small bucket, share one row of `small`.
SMALL_TABLES: Final = (WORDS, COMMON, TERMS, POSTINGS, IMPACTS, OBJECTS, LENGTHS, OIDS)

SMALL_COUNTS: Final = b"small"
"""The key of the row of `meta` with the numbers of rows in small buckets, by table of SMALL_TABLES."""

StoredRow = tuple[bytes, bytes]
