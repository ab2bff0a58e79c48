"""Finds the words that begin as a typed word does, without accents or in another spelling, too."""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint8_t, uint32_t

from sonicpy._native.word_walks cimport EDGES_MAX, walk_all

from sonicpy._native.parts import nearest_parts


cdef dict begun_in(list sources, bytes word, int distance, bytes besides, rules):
    """Return the words of sources that begin with a typed word, perhaps without accents or in another spelling. Each
    has the least number of errors of such a beginning.

    Args:
        distance: the most errors of a beginning.
        besides: words with this beginning are left out.
    """
    cdef bint is_ascii = word.isascii()
    cdef Rules known = known_rules(rules)
    cdef dict found = walk_all(
        sources, [word if is_ascii else rules.folded(word)], known.plain, distance, True, True, False, False, besides,
        BEGUN, EDGES_MAX, None, b"",
    )
    other = None if is_ascii and not known.has_pair(word) else rules.other_spelling(word)
    if other is not None:
        found.update(
            walk_all(sources, other[0], other[1], 0, True, True, False, False, besides, BEGUN, EDGES_MAX, None, b"")
        )
    return nearest_parts(found)


cdef class Rules:
    """The part of the rules of languages that words of only ASCII letters need; see `_Rules` in bucket_words.pyi."""

    cdef bint has_pair(self, bytes word):
        """Return whether a word of ASCII letters may have another spelling."""
        cdef const uint8_t *letters = <const uint8_t *> PyBytes_AS_STRING(word)
        cdef Py_ssize_t number
        for number in range(len(word) - 1):
            if c"a" <= letters[number] <= c"z" and c"a" <= letters[number + 1] <= c"z":
                if self.seconds[letters[number] - c"a"] >> (letters[number + 1] - c"a") & 1:
                    return True
        return False


cdef Rules last_rules = Rules()


cdef Rules known_rules(rules):
    """Return the `Rules` for rules of languages; all buckets share the object."""
    global last_rules
    cdef Rules known = last_rules
    cdef bytes pair
    if known.rules is rules:
        return known
    known = Rules()
    known.rules, known.plain = rules, rules.plain_folding()
    for pair in rules.pairs:
        known.seconds[pair[0] - c"a"] |= <uint32_t> 1 << (pair[1] - c"a")
    last_rules = known
    return known
