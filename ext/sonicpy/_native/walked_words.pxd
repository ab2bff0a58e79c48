"""The words that a walk finds, with the state of the walk; word_walks.pyx describes walks."""

from libc.stdint cimport int64_t, uint8_t, uint16_t
from libc.string cimport memcpy

from sonicpy._native.letter_folding cimport Folded
from sonicpy._native.letter_steps cimport Pattern
from sonicpy._native.memory cimport reserve
from sonicpy._native.stem_ends cimport pair_of
from sonicpy._native.word_source cimport Child, Children, Words, next_child, open_spot

cdef enum:
    BYTES_MAX = 400  # of a word, with the key before it
    LETTERS_OF_ENDS = 3  # of a word, which StemEnds look at


cdef struct Ends:  # see `StemEnds`
    const uint8_t *taken  # NULL: every word may have the stem
    const uint8_t *changed
    uint8_t stem[BYTES_MAX]
    int before  # letters of the stem before its last one


cdef struct Table:  # of a Folding
    const uint8_t *pages
    const uint16_t *numbers
    const Folded *folded
    const bint *leads
    const bint *seconds


cdef struct Walk:
    const Pattern *pattern
    const Words *words
    const Table *table
    const Ends *ends
    int distance
    bint swaps  # two neighbours that are swapped are one error
    bint spelled  # only words of letters and apostrophes, as far as ASCII goes
    bint joined  # no words of the letters a to z alone
    const uint8_t *besides  # words that begin with these bytes are left out; NULL: none are
    int besides_size
    bint begins  # words that begin as the pattern does, too
    bint leading  # words that the pattern begins with, each with the number of its letters there
    int64_t budget  # letters that may still be looked at; below zero the walk ends
    int64_t wanted  # words that may still be collected
    bint failed  # there was no memory
    uint8_t word[BYTES_MAX]  # the bytes on the path of the walk
    uint8_t *letters  # of the words that were found,
    Py_ssize_t used, letters_room
    uint16_t *marks  # for each, its number of bytes and its distance
    Py_ssize_t marked, marks_room


cdef inline bint is_spelled(uint8_t label) noexcept nogil:
    """Return whether a byte of a word belongs to a letter, or is an apostrophe."""
    return label >= 0x80 or c'a' <= label <= c'z' or label == c"'"


cdef inline bint has_only_letters(const uint8_t *word, int size) noexcept nogil:
    """Return whether a word consists of the letters a to z."""
    cdef int at
    for at in range(size):
        if not c'a' <= word[at] <= c'z':
            return False
    return True


cdef inline bint may_have(const Walk *self, int size) noexcept nogil:
    """Return whether a word of which `size` bytes are known may have the stem; see `StemEnds`."""
    cdef const Ends *ends = self.ends
    cdef uint8_t first, second
    cdef int place
    for place in range(min(size, ends.before + LETTERS_OF_ENDS)):
        if not c'a' <= self.word[place] <= c'z':
            return True
    if size <= ends.before:
        return False
    for place in range(ends.before):
        if self.word[place] != ends.stem[place]:
            return False
    if self.word[ends.before] != ends.stem[ends.before]:
        return ends.changed[pair_of(ends.stem[ends.before], self.word[ends.before])]
    first = self.word[ends.before + 1] if size > ends.before + 1 else 0
    second = self.word[ends.before + 2] if size > ends.before + 2 else 0
    return ends.taken[pair_of(first, second)]


cdef inline void add(Walk *self, int size, int distance) noexcept nogil:
    """Add the word whose bytes are on the path to the found words."""
    if self.wanted <= 0 or (self.ends.taken != NULL and not may_have(self, size)):
        return
    if self.joined and has_only_letters(self.word, size):
        self.wanted -= 1
        return
    if not (
        reserve(<void **> &self.letters, &self.letters_room, self.used + size, 1)
        and reserve(<void **> &self.marks, &self.marks_room, self.marked + 2, sizeof(uint16_t))
    ):
        self.failed = True
        self.wanted = 0
        return
    memcpy(self.letters + self.used, self.word, size)
    self.marks[self.marked] = <uint16_t> size
    self.marks[self.marked + 1] = <uint16_t> distance
    self.used += size
    self.marked += 2
    self.wanted -= 1


cdef inline void collect(Walk *self, const Child *first, int depth, int distance) noexcept nogil:
    """Collect the word that ends with a letter, and all words that continue behind it.

    Args:
        first: the last byte of the letter.
        depth: the number of bytes of the word before that byte.
        distance: the distance of all these words.
    """
    cdef Children children
    cdef Child child
    cdef bint spelled = self.spelled
    if spelled and not is_spelled(first.label):
        if first.label:
            return
        self.spelled = False  # of a word, the part counts that leads to it
    self.word[depth] = first.label
    depth += 1
    if first.ends_word:
        add(self, depth, distance)
    if not first.goes_on or depth == BYTES_MAX or self.budget < 0 or self.wanted <= 0:
        self.spelled = spelled
        return
    if self.ends.taken != NULL and depth == self.ends.before + LETTERS_OF_ENDS and not may_have(self, depth):
        return
    open_spot(&children, self.words, first.spot, depth)
    while next_child(&children, &child):
        self.budget -= 1
        collect(self, &child, depth, distance)
    self.spelled = spelled
