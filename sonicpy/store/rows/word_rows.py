"""The rows of words: in `words` by their letters; the rows of common words in `common` by their term ids.

Common words change with nearly every text. Ordered by letters, they would be spread over all pages of a table, which
every commit would have to write; ordered by term ids, they fill a few pages.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sonicpy._native.table_access import words_found
from sonicpy._native.term_rows import common_keys, with_common
from sonicpy._native.word_range import WordRange
from sonicpy.store.disk.table_numbers import COMMON, WORDS, StoredRow

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction


def stored_words(transaction: "Transaction", keys: list[bytes]) -> list[StoredRow]:
    """Return the (key, row) of each word that exists, in the order of `keys`.

    Raises:
        DamagedBytes: the row of a common word is missing.
    """
    return words_found(transaction, WORDS, COMMON, keys)


def words_reader(transaction: "Transaction") -> Callable[[list[bytes]], list[StoredRow]]:
    """Return `stored_words` of a transaction, for callers that call it with each change."""
    return partial(words_found, transaction, WORDS, COMMON)


def stored_words_from(transaction: "Transaction", start: bytes, limit: int, prefix: bytes) -> list[StoredRow]:
    """Return the (key, row) of the first `limit` words whose keys are not before `start`, in key order.

    Args:
        prefix: a prefix of `start`; only words whose keys begin with it are returned.

    Raises:
        DamagedBytes: the row of a common word is missing.
    """
    return _whole(transaction, transaction.some_rows(WORDS, start, limit, prefix))


def stored_word_range(transaction: "Transaction", prefix: bytes, most: int, *, letters: bool) -> WordRange:
    """Return the first `most` words whose keys begin with `prefix`, with their object frequencies.

    Args:
        letters: True: words of up to 50 letters are in the lexicon; False: words of up to 40 bytes.

    Raises:
        DamagedBytes: the row of a common word is missing.
    """
    found = transaction.word_range(WORDS, prefix, most, letters=letters)
    if found.common is not None:
        found.take_common(transaction.get_many(COMMON, found.common))
    return found


def stored_word_keys_from(transaction: "Transaction", start: bytes, limit: int, prefix: bytes) -> list[bytes]:
    """Return the keys of at most `limit` words that begin with `prefix`, from `start` on."""
    return transaction.some_keys(WORDS, start, limit, prefix)


def _whole(transaction: "Transaction", rows: list[StoredRow]) -> list[StoredRow]:
    keys = common_keys(rows)
    return with_common(rows, transaction.get_many(COMMON, keys)) if keys else rows
