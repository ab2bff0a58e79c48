"""Case folding of one piece of text, character by character, and a faster function for words in ASCII."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

from sonicpy._native.characters cimport (
    BETWEEN_DIGITS, BETWEEN_LETTERS, BYTE_KINDS, CAPITAL, FOLDS_LONG, IN_DIGITS, IN_LETTERS, IN_WORD, MARK, NO_ASCII,
    NORMALISES, fold_distance, properties,
)
from sonicpy._native.terms cimport HASH_SEED, hash_end, hash_step
from sonicpy._native.utf8 cimport decode, encode


cdef inline Py_ssize_t fold(const uint8_t *piece, Py_ssize_t size, uint8_t *out, bint composes) noexcept nogil:
    """Write the piece case-folded and return its number of bytes; -1: one-to-one folding is not enough, or normalising
    may split the piece.

    With `composes`, characters that NFKC may change, and two marks in a row, are not folded either: -1.
    `out` has room for twice the piece: one-to-one folding turns two bytes into at most three (U+0250 and the like).
    """
    cdef Py_ssize_t at = 0, written = 0
    cdef uint32_t point
    cdef uint16_t found, before = 0
    cdef int width
    while at < size:
        if piece[at] < 0x80:
            if 0x1C <= piece[at] <= 0x1F:  # Python's str.split separates words there
                return -1
            out[written] = piece[at] | 32 if c'A' <= piece[at] <= c'Z' else piece[at]
            before = 0
            written += 1
            at += 1
            continue
        point = decode(piece, at, &width)
        found = properties(point)
        if found & FOLDS_LONG or (composes and (found & NORMALISES or (found & before & MARK))):
            return -1
        before = found
        written += encode(out + written, point + fold_distance(point))
        at += width
    return written


cdef inline Py_ssize_t ascii_word_end(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, uint8_t *out, uint32_t *hashed, bint *has_word
) noexcept nogil:
    """Carry out `word_end`, `fold` and `hash_bytes` for a piece that begins with an ASCII letter, digit or underscore.

    Returns -1 if the end of the piece depends on a character above ASCII. `out` has room for the rest of the text.
    `has_word` has the bit CAPITAL if the piece holds a capital letter.
    """
    cdef Py_ssize_t start = at
    cdef uint8_t kind, before, after, seen = 0, folded
    cdef uint32_t value = HASH_SEED
    while True:
        kind = BYTE_KINDS[text[at]]
        while kind & IN_WORD:
            seen |= kind
            folded = text[at] | (kind & CAPITAL)
            out[at - start] = folded
            value = hash_step(value, folded)
            at += 1
            if at == size:
                break
            kind = BYTE_KINDS[text[at]]
        if at == size:
            break
        if kind & NO_ASCII:
            return -1
        if not kind & (BETWEEN_LETTERS | BETWEEN_DIGITS) or at + 1 == size:
            break
        before = BYTE_KINDS[text[at - 1]]
        after = BYTE_KINDS[text[at + 1]]
        if after & NO_ASCII:
            return -1
        if not (
            (kind & BETWEEN_LETTERS and before & after & IN_LETTERS)  # WB6, WB7
            or (kind & BETWEEN_DIGITS and before & after & IN_DIGITS)  # WB11, WB12
        ):
            break
        out[at - start] = text[at]
        value = hash_step(value, text[at])
        at += 1
    hashed[0] = hash_end(value)
    has_word[0] = seen & (IN_LETTERS | IN_DIGITS | CAPITAL)
    return at
