"""The rows of words: in `words` by their letters; the rows of common words in `common` by their term ids.

    word   v(term id) v(df) v(hidden df) v(position)
           and then its tail, the block with its newest postings, if there are any
    short  v(term id) 0 and then the tail of a word whose df is the number of its postings, and whose hidden df and
           position are 0: that of nearly every word

v() is a varint (varint.pxd). No other row has a df of 0 and bytes behind it, because a word that no object holds has no
tail. df counts the objects that hold the word; hidden df the objects that hold it only as a stop word or as a part of a
run without blanks. The word's own row holds the tail, so that most words are read and written with one row; `postings`
holds the full blocks. The position is the last part of the tail's later key in `postings`:

    lists in the order of objects        the smallest IID that the tail may hold: smaller ones belong to full blocks
    lists in the order of association    the number of the tail, which counts the blocks from 0

A word that has a full block, or had one, is common: its row is in `common`, and its row in `words` is only v(term id).
Common words change with nearly every text, and their rows in `common` fill a few pages.

In a store at rest, the tail may be a dense block (dense_block.pxd); PUSH makes it a plain one again.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from sonicpy._native.dense_block cimport is_dense
from sonicpy._native.keys cimport is_shortened, term_key, word_key
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, count_postings, read_block, write_dense_block
from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.varint import DamagedBytes

cdef enum:
    WORD_FIELDS = 4
    SHORT_FIELDS = 2
    BUCKET_BYTES = 4

WORD_BYTES_MAX = SHOWN_BYTES
SONIC_BYTES_MAX = SHOWN
"""The largest number of bytes of a word of the lexicon, by the rules of 1.0 and in compat mode."""


def shown_bytes(bytes word not None, *, bint letters) -> int:
    """Return the size of a word that decides whether it is in the lexicon, for `TermInfo`.

    Args:
        letters: True: words of up to 50 letters are in the lexicon; False: words of up to 40 bytes.
    """
    return shown_size(<const uint8_t *> <const char *> word, len(word), letters)


cdef Py_ssize_t read_word(bytes row, Word *word) except -1:
    """Read the numbers of a row, and return the index at which its tail begins. Raises DamagedBytes."""
    cdef const uint8_t *at = <const uint8_t *> row
    cdef const uint8_t *end = at + len(row)
    cdef uint64_t *fields = <uint64_t *> word
    cdef int step, count
    for step in range(SHORT_FIELDS):
        if get_varint(&at, end, &fields[step]) < 0:
            raise DamagedBytes("the row of a word is cut off")
    if not word.df and at < end and at[0]:  # a tail, because a hidden df cannot be larger
        count = count_postings(at, end - at)
        if count < 0:
            raise DamagedBytes("the row of a word is cut off")
        word.df, word.hidden_df, word.position = count, 0, 0
        return at - <const uint8_t *> row
    for step in range(SHORT_FIELDS, WORD_FIELDS):
        if get_varint(&at, end, &fields[step]) < 0:
            raise DamagedBytes("the row of a word is cut off")
    return at - <const uint8_t *> row


def term_id_in(bytes row not None) -> int:
    """Return the term id at the beginning of a row of `words`.

    Raises:
        DamagedBytes: the row is cut off.
    """
    cdef const uint8_t *at = <const uint8_t *> <const char *> row
    cdef uint64_t term_id
    if get_varint(&at, at + len(row), &term_id) < 0:
        raise DamagedBytes("the row of a word is cut off")
    return term_id


def only_refers(bytes row not None) -> bool:
    """Return whether a row of `words` belongs to a common word: the row is then only the term id."""
    return referred_term(row) >= 0


cdef int64_t referred_term(bytes row) noexcept:
    """Return the term id of a row of `words` that is only a term id; -1: the row holds more."""
    cdef const uint8_t *at = <const uint8_t *> <const char *> row
    cdef const uint8_t *end = at + len(row)
    cdef uint64_t term_id
    if get_varint(&at, end, &term_id) < 0 or at != end:
        return -1
    return <int64_t> term_id


cdef uint32_t bucket_in(bytes key) noexcept:
    cdef const uint8_t *at = <const uint8_t *> <const char *> key
    return <uint32_t> at[0] << 24 | <uint32_t> at[1] << 16 | <uint32_t> at[2] << 8 | at[3]


def common_keys(list rows not None) -> list:
    """Return the keys in `common` to which (key, row) pairs of `words` refer."""
    cdef bytes key, row
    cdef int64_t term_id
    cdef list keys = []
    for key, row in rows:
        term_id = referred_term(row)
        if term_id >= 0:
            keys.append(term_key(bucket_in(key), term_id))
    return keys


def with_common(list rows not None, list common not None) -> list:
    """Return `rows`, (key, row) pairs of `words`, with each row that refers to `common` replaced by the row there.

    Args:
        common: the (key, row) pairs found for `common_keys(rows)`, in their order.

    Raises:
        DamagedBytes: a row is missing, or belongs to another word.
    """
    cdef Py_ssize_t number, at = 0
    cdef int64_t term_id
    cdef bytes key, row
    for number in range(len(rows)):
        key, row = <tuple> rows[number]
        term_id = referred_term(row)
        if term_id >= 0:
            rows[number] = (key, row_of_common(common, at, term_key(bucket_in(key), term_id)))
            at += 1
    return rows


cdef bytes row_of_common(list common, Py_ssize_t at, bytes key):
    """Return the row at a place of (key, row) pairs of `common`. Raises DamagedBytes unless its key is `key`."""
    cdef bytes row
    cdef const uint8_t *in_row
    cdef uint64_t wanted = 0, term_id
    cdef Py_ssize_t step
    if at == len(common) or (<tuple> common[at])[0] != key:
        raise DamagedBytes("the row of a common word is missing")
    row = (<tuple> common[at])[1]
    for step in range(BUCKET_BYTES, len(key)):
        wanted = wanted << 8 | (<const uint8_t *> <const char *> key)[step]
    in_row = <const uint8_t *> <const char *> row
    if get_varint(&in_row, in_row + len(row), &term_id) < 0:
        raise DamagedBytes("the row of a word is cut off")
    if term_id != wanted:
        raise DamagedBytes(f"the row of the common word {wanted} is that of {term_id}")
    return row


cdef bytes write_word(const Word *word, const uint8_t *tail, Py_ssize_t tail_size):
    cdef uint8_t room[10 * WORD_FIELDS]
    cdef uint8_t *out = room
    cdef const uint64_t *fields = <const uint64_t *> word
    cdef int step
    cdef bytes row
    if tail_size and not word.hidden_df and not word.position and count_postings(tail, tail_size) == <int64_t> word.df:
        out = put_varint(put_varint(out, word.term_id), 0)
    else:
        for step in range(WORD_FIELDS):
            out = put_varint(out, fields[step])
    row = PyBytes_FromStringAndSize(NULL, (out - room) + tail_size)
    memcpy(<char *> row, room, out - room)
    if tail_size:
        memcpy(<char *> row + (out - room), tail, tail_size)
    return row


def row_at_rest(bytes row not None) -> bytes:
    """Return a row of `words` or `common` with its tail as a dense block, if that is shorter. Only for lists by IID.

    A damaged row is returned unchanged: the next look-up of the word reports it.
    """
    cdef Word word
    cdef Posting postings[BLOCK_POSTINGS]
    cdef Py_ssize_t tail_at
    cdef int count
    cdef bytes tail
    if referred_term(row) >= 0:
        return row
    try:
        tail_at = read_word(row, &word)
    except DamagedBytes:
        return row
    count = read_block(<const uint8_t *> <const char *> row + tail_at, len(row) - tail_at, postings)
    if count < 1:
        return row
    tail = write_dense_block(postings, count)
    if not is_dense(<const uint8_t *> <const char *> tail) or len(tail) >= len(row) - tail_at:
        return row
    return row[:tail_at] + tail


cdef class TermInfo:
    """The decoded row of a word: the fields of the layout, and whether the word is in the lexicon."""

    def __init__(self, bytes row not None, Py_ssize_t term_bytes):
        self._tail_at = read_word(row, &self._word)
        self._row = row
        self._size = term_bytes

    @property
    def tail(self) -> bytes:
        """The block with the newest postings; empty if the word has no tail."""
        return self._row[self._tail_at :]

    @property
    def term_id(self) -> int:
        return self._word.term_id

    @property
    def df(self) -> int:
        """The number of objects that hold the word."""
        return self._word.df

    @property
    def hidden_df(self) -> int:
        """The number of objects that hold the word only as a stop word or as a part of a run without blanks."""
        return self._word.hidden_df

    @property
    def position(self) -> int:
        """The last part of the tail's later key in `postings`; 0: all postings are in the tail."""
        return self._word.position

    @property
    def live(self) -> bool:
        """Whether the word is in the lexicon: an object holds it as a word of its own, and it is short enough."""
        return is_live(&self._word, self._size)


def infos_of(uint32_t bucket, list terms not None, list rows not None, *, bint letters=False) -> list:
    """Return the decoded row of each term; None: the term has no row.

    Args:
        letters: see `shown_bytes`.
        rows: the (key, row) of the terms that have a row, in the order of `terms`.

    Raises:
        DamagedBytes: a row cannot be read.
        ValueError: `rows` has a row of another term, or another order.
    """
    cdef Py_ssize_t at = 0, count = len(rows)
    cdef list found = []
    cdef bytes term
    cdef TermInfo one
    for term in terms:
        if at == count or <bytes> (<tuple> rows[at])[0] != word_key(bucket, term):
            found.append(None)
            continue
        one = TermInfo.__new__(TermInfo)
        one._row = (<tuple> rows[at])[1]
        one._tail_at = read_word(one._row, &one._word)
        one._size = shown_size(<const uint8_t *> <const char *> term, len(term), letters)
        found.append(one)
        at += 1
    if at != count:
        raise ValueError(f"{count} rows are not those of {len(terms)} terms, in their order")
    return found


def infos_found(list terms not None, list keys not None, dict rows not None, *, bint letters=False) -> list:
    """Return the decoded row of each term; None: the term has no row.

    Args:
        keys: the keys of the terms.
        rows: key -> row.
        letters: see `shown_bytes`.

    Raises:
        DamagedBytes: a row cannot be read.
        ValueError: the numbers of terms and keys differ.
    """
    cdef list found = []
    cdef TermInfo one
    cdef bytes term
    cdef Py_ssize_t number
    if len(terms) != len(keys):
        raise ValueError(f"{len(terms)} terms need as many keys, not {len(keys)}")
    for number in range(len(terms)):
        row = rows.get(keys[number])
        if row is None:
            found.append(None)
            continue
        term = terms[number]
        one = TermInfo.__new__(TermInfo)
        one._row = row
        one._tail_at = read_word(one._row, &one._word)
        one._size = shown_size(<const uint8_t *> <const char *> term, len(term), letters)
        found.append(one)
    return found


def held_forms(dict others not None, list rows not None, Py_ssize_t at) -> dict:
    """Return number of a term -> the other words of the term that objects hold, each with its row. Terms without such
    words are left out.

    Args:
        others: number of a term -> its other words, as a tuple.
        rows: the TermInfo of all these words, in their order, from place `at` on; None: no object holds the word.

    Raises:
        ValueError: the numbers of words and rows differ.
    """
    cdef dict found = {}
    cdef list held
    cdef tuple words
    cdef TermInfo row
    for number, words in others.items():
        held = []
        for word in words:
            if at == len(rows):
                raise ValueError("there are fewer rows than words")
            row = rows[at]
            at += 1
            if row is not None and row._word.df:
                held.append((word, row))
        if held:
            found[number] = held
    return found


def held_words(list words not None, list rows not None, bint live) -> list:
    """Return the words that objects hold, with their rows, in order.

    Args:
        rows: the TermInfo of each word; None: no object holds it.
        live: whether only live words count; see `TermInfo.live`.

    Raises:
        ValueError: the numbers of words and rows differ.
    """
    cdef list held = []
    cdef TermInfo row
    cdef Py_ssize_t number
    if len(words) != len(rows):
        raise ValueError(f"{len(words)} words need as many rows, not {len(rows)}")
    for number in range(len(words)):
        row = rows[number]
        if row is not None and (is_live(&row._word, row._size) if live else row._word.df > 0):
            held.append((words[number], row))
    return held


cdef int compare_likely(const void *left, const void *right) noexcept nogil:
    cdef const Likely *one = <const Likely *> left
    cdef const Likely *other = <const Likely *> right
    if one.df != other.df:
        return -1 if one.df > other.df else 1
    if one.size != other.size:
        return -1 if one.size < other.size else 1
    return -1 if one.place < other.place else 1


def rows_with(rows, bytes prefix not None, Py_ssize_t limit) -> list:
    """Return the first rows of an iterator, at most `limit`, before the first whose key does not begin with `prefix`.

    No row behind these is taken from the iterator, because each row costs a read.

    Args:
        rows: (key, row) pairs, or only keys.
    """
    cdef Py_ssize_t size = len(prefix)
    cdef bytes key
    cdef list found = []
    if limit <= 0:
        return found
    for row in rows:
        key = (<tuple> row)[0] if type(row) is tuple else <bytes?> row
        if len(key) < size or memcmp(<const char *> key, <const char *> prefix, size) != 0:
            break
        found.append(row)
        if len(found) == limit:
            break
    return found


def live_words(list rows not None, bytes prefix not None, *, bint letters=False) -> list:
    """Return the live words in rows of `words`, up to the first row of another bucket.

    Args:
        letters: see `shown_bytes`.
        rows: (key, row) pairs in key order, from `prefix` on.
        prefix: the number of the bucket, with which its keys begin.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    cdef Py_ssize_t size = len(prefix)
    cdef list words = []
    cdef bytes key
    cdef Word word
    for key, row in rows:
        if len(key) < size or memcmp(<const char *> key, <const char *> prefix, size) != 0:
            break
        read_word(row, &word)
        if is_live(&word, shown_size(<const uint8_t *> <const char *> key + size, len(key) - size, letters)):
            words.append(key[size:])
    return words


def terms_held(list rows not None, bytes prefix not None) -> list:
    """Return the terms of `rows` that at least one object holds, including terms that are not in the lexicon, but none
    that is too long for its key.

    Args:
        rows: (key, row) pairs by key, the first ones not before `prefix`.
        prefix: the beginning of the keys: the number of the bucket, and the beginning of the terms.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    cdef list terms = []
    cdef bytes key
    cdef Word word
    for key, row in rows:
        if not key.startswith(prefix):
            break
        read_word(row, &word)
        if word.df and not is_shortened(<const uint8_t *> <const char *> key, len(key)):
            terms.append(key[BUCKET_BYTES:])
    return terms
