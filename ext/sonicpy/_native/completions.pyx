"""Completions of a word in a bucket that is spread over nodes: each part packs its words, and the likely words of all
parts are chosen from them.

    packed   v(words), then for each word v(bytes behind the prefix) these bytes v(df) v(hidden df)
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport UINT64_MAX, uint8_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcpy

from sonicpy._native.byte_order cimport compare_bytes
from sonicpy._native.memory cimport zeroed
from sonicpy._native.term_rows cimport SHOWN_LETTERS, Likely, Word, compare_likely, is_live, read_word, shown_size
from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.varint import DamagedBytes

cdef enum:
    VARINT_BYTES = 10  # at most
    BUCKET_BYTES = 4  # of a key


cdef struct Held:  # a word of a part
    const uint8_t *rest  # behind the prefix
    Py_ssize_t size
    uint64_t df
    uint64_t hidden_df


def pack_completions(list rows not None, Py_ssize_t prefix_bytes, *, bint letters) -> bytes:
    """Return packed words for `likely_of_all`, with their object frequencies. Words too long for the lexicon are
    hidden.

    Args:
        rows: (key, row) pairs of `words`, whose keys begin with the same prefix.
        prefix_bytes: the length of that prefix.
        letters: True: words of up to 50 letters are in the lexicon; False: words of up to 40 bytes.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    cdef bytes key, row, packed
    cdef Word word
    cdef Py_ssize_t most = VARINT_BYTES, size
    cdef const uint8_t *key_bytes
    cdef uint8_t *start
    cdef uint8_t *out
    for key, row in rows:
        most += 3 * VARINT_BYTES + len(key) - prefix_bytes
    start = out = <uint8_t *> zeroed(most, 1)
    try:
        out = put_varint(out, len(rows))
        for key, row in rows:
            read_word(row, &word)
            key_bytes = <const uint8_t *> <const char *> key
            if not is_live(&word, shown_size(key_bytes + BUCKET_BYTES, len(key) - BUCKET_BYTES, letters)):
                word.hidden_df = word.df
            size = len(key) - prefix_bytes
            out = put_varint(out, size)
            memcpy(out, <const char *> key + prefix_bytes, size)
            out = put_varint(put_varint(out + size, word.df), word.hidden_df)
        return PyBytes_FromStringAndSize(<const char *> start, out - start)
    finally:
        free(start)


def likely_of_all(list packed not None, bytes word not None, Py_ssize_t limit, Py_ssize_t examined) -> list:
    """Return live words of all parts: `word` itself, then the others by object frequency.

    Words of equal frequency are ordered by length in bytes, then by bytes.

    Args:
        packed: the words of each part, by `pack_completions` with `word` as the prefix.
        limit: the most words to return.
        examined: the most words to compare, the first ones in byte order.

    Raises:
        DamagedBytes: the words of a part are cut off.
    """
    cdef Py_ssize_t number, end, count = 0, found = 0, seen = 0
    cdef uint64_t df, hidden_df
    cdef bytes one
    cdef Held *held = NULL
    cdef Likely *likely = NULL
    for one in packed:
        count += count_of(one)
    try:
        held = <Held *> zeroed(count + 1, sizeof(Held))
        likely = <Likely *> zeroed(count + 1, sizeof(Likely))
        number = 0
        for one in packed:
            number += read_packed(one, held + number)
        qsort(held, count, sizeof(Held), compare_held)
        number = 0
        while number < count and seen < examined:
            df = hidden_df = 0
            end = number
            while end < count and compare_held(&held[end], &held[number]) == 0:
                df += held[end].df
                hidden_df += held[end].hidden_df
                end += 1
            if df > hidden_df and shown_letters(word, &held[number]) <= SHOWN_LETTERS:
                likely[found] = Likely(df if held[number].size else UINT64_MAX, held[number].size, number)
                found += 1
            seen += 1
            number = end
        qsort(likely, found, sizeof(Likely), compare_likely)
        return [
            word + PyBytes_FromStringAndSize(<const char *> held[likely[number].place].rest, likely[number].size)
            for number in range(min(found, limit))
        ]
    finally:
        free(held)
        free(likely)


cdef Py_ssize_t shown_letters(bytes word, const Held *held) noexcept:
    """Return the number of letters of a word. It is needed because parts of version 1.0 do not hide words that are too
    long."""
    cdef Py_ssize_t at, count = 0
    for at in range(len(word)):
        count += ((<const uint8_t *> <const char *> word)[at] & 0xC0) != 0x80
    for at in range(held.size):
        count += (held.rest[at] & 0xC0) != 0x80
    return count


cdef Py_ssize_t count_of(bytes packed) except -1:
    cdef const uint8_t *at = <const uint8_t *> <const char *> packed
    cdef uint64_t count
    # Each word takes three bytes or more.
    if get_varint(&at, at + len(packed), &count) < 0 or count > <uint64_t> len(packed):
        raise DamagedBytes("the completions of a part are cut off")
    return <Py_ssize_t> count


cdef Py_ssize_t read_packed(bytes packed, Held *held) except -1:
    """Read the words of a part; return their number. Raises DamagedBytes.

    Args:
        packed: the words, packed; it must outlive `held`, and `count_of` must accept it.
        held: room for as many words as `count_of` returns.
    """
    cdef const uint8_t *at = <const uint8_t *> <const char *> packed
    cdef const uint8_t *end = at + len(packed)
    cdef uint64_t count, number, size
    get_varint(&at, end, &count)
    for number in range(count):
        if get_varint(&at, end, &size) < 0 or size > <uint64_t> (end - at):
            raise DamagedBytes("the completions of a part are cut off")
        held[number].rest, held[number].size = at, <Py_ssize_t> size
        at += size
        if get_varint(&at, end, &held[number].df) < 0 or get_varint(&at, end, &held[number].hidden_df) < 0:
            raise DamagedBytes("the completions of a part are cut off")
    return <Py_ssize_t> count


cdef int compare_held(const void *left, const void *right) noexcept nogil:
    cdef const Held *one = <const Held *> left
    cdef const Held *other = <const Held *> right
    return compare_bytes(one.rest, one.size, other.rest, other.size)
