"""Functions that changes call to read rows, made once for a transaction."""

from functools import partial

from sonicpy.store.disk.table_numbers import OIDS, POSTINGS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.keys import TERM_KEY_BYTES
from sonicpy.store.rows.word_rows import words_reader


class TableReaders:
    """Functions that read rows in a transaction, for all its buckets: without a call in Python around those of the
    transaction, which each change makes.

    Attributes:
        names: returns the row of `oids` under a key, or None.
        words: returns the (key, row) of the words that have a row in the tables, in the order of the keys it is given.
        blocks: returns, for each key, the (key, block) of the last block of its term at or before the key, or None.
    """

    __slots__ = ("blocks", "names", "words")

    def __init__(self, transaction: Transaction) -> None:
        self.names = partial(transaction.get, OIDS)
        self.words = words_reader(transaction)
        self.blocks = partial(transaction.floor_many, POSTINGS, prefix_bytes=TERM_KEY_BYTES)
