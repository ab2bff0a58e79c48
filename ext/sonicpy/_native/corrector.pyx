"""Correction: the words of a graph within an edit distance of a typed word; graph.pyx describes the automata.

A walk follows the edges of an automaton with the bit-parallel NFA of Wu and Manber (1992): for each number of errors,
the bits of a word mark the beginnings of the typed word (the pattern) that match the characters read so far.
`search_all` explains why there are two walks.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcmp, memcpy, memset

from sonicpy._native.automaton cimport (
    ENDS_WORD,
    WIDTH_1,
    WIDTH_2,
    WIDTH_MORE,
    WORD_MAX,
    Automata,
    Node,
    edge_of,
    find_label,
    open_node,
    reverse,
    target_of,
    width_flag,
)
from sonicpy._native.bits cimport lowest_bit
from sonicpy._native.byte_order cimport compare_bytes
from sonicpy._native.memory cimport reserve
from sonicpy._native.utf8 cimport character_bytes, decode, is_utf8, lead_bits, lead_byte

cdef enum:
    DISTANCE_MAX = 3
    PATTERN_MAX = 60  # characters: one bit each and one for the end, in 64
    WIDE_SLOTS = 128
    MATCHES_MORE = 16  # that the search makes room for at once
    MATCH_COST = 50  # edges: sorting and returning a match takes as long as visiting 50 edges

EDGE_BUDGET = 100_000
"""The most edges that a correction visits by default: half a millisecond, five times as many as a word needs among
250,000."""


# -- the typed word -----------------------------------------------------------------------------------------------

cdef struct Pattern:
    # Bit j of a mask: the character is at place j of the pattern.
    uint64_t first[256]  # of an ASCII character; of a lead byte: of all characters that begin with it
    uint64_t wide[WIDE_SLOTS]  # of any other character: a table with linear probing
    uint32_t points[WIDE_SLOTS]  # its keys, code points; 0 is an empty slot
    uint8_t leads[PATTERN_MAX]  # the first byte of each character
    int size
    uint32_t main_width  # the width that most characters have
    uint64_t few[DISTANCE_MAX + 1]  # bit j of few[e]: at most e characters of that width from place j on


cdef bint read_pattern(Pattern *self, const uint8_t *text, Py_ssize_t size, bint backward) noexcept nogil:
    """Read a word in valid UTF-8; return False if it has too many characters."""
    cdef uint32_t points[PATTERN_MAX]
    cdef uint32_t slot
    cdef Py_ssize_t at = 0
    cdef int number, place, width, count = 0
    memset(self, 0, sizeof(Pattern))
    while at < size:
        if count == PATTERN_MAX:
            return False
        points[count] = decode(text, at, &width)
        at += width
        count += 1
    self.size = count
    for number in range(count):
        place = count - 1 - number if backward else number
        self.leads[place] = lead_byte(points[number])
        self.first[self.leads[place]] |= <uint64_t> 1 << place
        if points[number] >= 0x80:
            slot = wide_slot(self, points[number])
            self.points[slot] = points[number]
            self.wide[slot] |= <uint64_t> 1 << place
    count_widths(self)
    return True


cdef inline uint32_t wide_slot(const Pattern *self, uint32_t point) noexcept nogil:
    cdef uint32_t slot = point & (WIDE_SLOTS - 1)
    while self.points[slot] and self.points[slot] != point:
        slot = (slot + 1) & (WIDE_SLOTS - 1)
    return slot


cdef void count_widths(Pattern *self) noexcept nogil:
    cdef int counts[WIDTH_MORE + 1]
    cdef int place, errors, left
    memset(counts, 0, sizeof(counts))
    for place in range(self.size):
        counts[width_flag(self.leads[place])] += 1
    self.main_width = WIDTH_1 if counts[WIDTH_1] >= counts[WIDTH_2] else WIDTH_2
    if counts[WIDTH_MORE] > counts[self.main_width]:
        self.main_width = WIDTH_MORE
    left = counts[self.main_width]
    for place in range(self.size + 1):
        for errors in range(left, DISTANCE_MAX + 1):
            self.few[errors] |= <uint64_t> 1 << place
        if place < self.size:
            left -= width_flag(self.leads[place]) == self.main_width


# -- the walk -----------------------------------------------------------------------------------------------------

cdef struct State:
    # Bit j of row[d]: the characters read so far are the first j of the pattern with d errors.
    # Bit j of swap[d]: all of them but the last are the first j of the pattern with d - 1 errors, and the last one is
    # the character at place j + 1 of the pattern; if the character at place j comes next, the two were swapped.
    uint64_t row[DISTANCE_MAX + 1]
    uint64_t swap[DISTANCE_MAX + 1]


cdef struct Front:
    # A state, and the values derived from it, for every node that the walk reaches in this state.
    State state
    uint64_t wanted  # places of the pattern whose characters make a difference
    bint is_open  # the other characters lead on, too
    bint is_far  # more characters of the main width must follow than errors are left


cdef struct Match:
    uint8_t word[WORD_MAX]
    uint8_t size
    uint8_t distance


cdef struct Search:
    const Pattern *pattern
    const uint8_t *nodes
    bint backward
    int distance
    # By the number of errors:
    uint64_t enter[DISTANCE_MAX + 1]  # the places that may be reached by going on in the pattern,
    uint64_t stay[DISTANCE_MAX + 1]  # those that may be reached by an insertion there,
    uint64_t begin[DISTANCE_MAX + 1]  # those where the swap may begin that is the last of the errors,
    uint64_t near[DISTANCE_MAX + 1]  # those with at most as many characters of the main width to come as errors left
    int64_t budget  # edges that may still be visited; below zero the search ends
    bint failed  # there was no memory
    uint8_t word[WORD_MAX]  # the bytes on the path of the walk
    Match *matches
    Py_ssize_t count, capacity


cdef void search_all(
    Search *self, const Automata *automata, const uint8_t *word, Py_ssize_t size, int distance, bint swaps
) noexcept nogil:
    """Collect the words within the distance of `word`, each once, in byte order; `swaps`: two swapped neighbours count
    as one error.

    Split the typed word into two parts. Of n errors, either at most n // 2 are in the first part, or at most (n - 1) //
    2 are in the second. So two walks together find every word: one over the words, which allows n // 2 errors in the
    first part, and one over the reversed words, which allows (n - 1) // 2 errors in their first part. Both stay narrow
    near the root, where the automata are wide. For two errors the two limits differ, and a first part that is one
    character longer than half was measured to be the fastest.
    """
    cdef Pattern pattern
    cdef int part
    if not read_pattern(&pattern, word, size, False):
        return
    part = min(pattern.size // 2 + (distance == 2), pattern.size)
    self.distance = distance
    set_bounds(self, pattern.size, distance // 2, part, False, swaps)
    walk(self, &pattern, automata.forward, automata.forward_root)
    if distance > 0:
        read_pattern(&pattern, word, size, True)
        set_bounds(self, pattern.size, (distance - 1) // 2, pattern.size - part, True, swaps)
        self.backward = True
        walk(self, &pattern, automata.backward, automata.backward_root)
        merge_matches(self)


cdef void set_bounds(Search *self, int size, int allowed, int part, bint has_border, bint swaps) noexcept nogil:
    """Allow only `allowed` errors in the first `part` of `size` characters.

    Each error counts for one part. With `has_border`, the first part counts an insertion between the parts and a swap
    across their border; else the second part counts them.
    """
    cdef int errors, limited
    for errors in range(1, DISTANCE_MAX + 1):
        limited = part if errors > allowed else -2
        self.enter[errors] = from_place(limited + 1, size)
        self.stay[errors] = from_place(limited + has_border, size)
        self.begin[errors] = from_place(limited + 1 + has_border, size) >> 2 if swaps else 0
        if errors > self.distance:
            self.enter[errors] = self.stay[errors] = self.begin[errors] = 0


cdef inline uint64_t from_place(int first, int size) noexcept nogil:
    """Return the places of a pattern from `first` on, including its end, as bits."""
    return ((<uint64_t> 2 << size) - 1) & ~((<uint64_t> 1 << max(first, 0)) - 1)


cdef void walk(Search *self, const Pattern *pattern, const uint8_t *nodes, uint32_t root) noexcept nogil:
    cdef Front front
    cdef int errors
    self.pattern = pattern
    self.nodes = nodes
    memset(&front, 0, sizeof(Front))
    for errors in range(DISTANCE_MAX + 1):
        self.near[errors] = pattern.few[self.distance - errors] if errors <= self.distance else 0
    front.state.row[0] = 1
    for errors in range(1, DISTANCE_MAX + 1):
        front.state.row[errors] = front.state.row[errors - 1] << 1 & self.enter[errors]
    look_ahead(self, &front)
    if root:
        visit(self, root, &front, 0)


cdef inline void step_over(const Search *self, const State *old, uint64_t mask, State *new) noexcept nogil:
    """Read one more character; `mask` holds the places of this character in the pattern."""
    cdef uint64_t reached
    cdef int errors
    new.row[0] = (old.row[0] & mask) << 1
    new.swap[0] = 0
    for errors in range(1, DISTANCE_MAX + 1):
        reached = ((old.row[errors] & mask) | old.row[errors - 1] | new.row[errors - 1]) << 1
        reached |= (old.swap[errors] & mask) << 2
        new.row[errors] = reached & self.enter[errors] | old.row[errors - 1] & self.stay[errors]
        new.swap[errors] = old.row[errors - 1] & mask >> 1 & self.begin[errors]


cdef inline void look_ahead(const Search *self, Front *front) noexcept nogil:
    """Compute the derived values of a front."""
    cdef const State *state = &front.state
    cdef uint64_t wanted = state.row[0], open_at = 0, near = state.row[0] & self.near[0]
    cdef int errors
    for errors in range(1, DISTANCE_MAX + 1):
        wanted |= state.row[errors] | state.swap[errors] | (state.row[errors - 1] & self.begin[errors]) << 1
        open_at |= state.row[errors - 1] & (self.stay[errors] | self.enter[errors] >> 1)
        near |= (state.row[errors] | state.swap[errors] << 2) & self.near[errors]
    front.wanted = wanted & ((<uint64_t> 1 << self.pattern.size) - 1)
    front.is_open = open_at != 0
    front.is_far = near == 0


cdef void visit(Search *self, uint32_t place, const Front *front, int depth) noexcept nogil:
    """Visit a node behind a whole character, and the nodes below it."""
    cdef Node node
    cdef uint64_t wanted = front.wanted, mask
    cdef uint8_t label
    cdef int step
    open_node(&node, self.nodes, place)
    self.budget -= node.count
    if self.budget < 0:
        return
    if front.is_open:
        visit_all(self, &node, front, depth)
        return
    while wanted:
        label = self.pattern.leads[lowest_bit(wanted)]
        mask = self.pattern.first[label]
        wanted &= ~mask
        step = find_label(&node, label)
        if step >= 0:
            if label < 0x80:
                follow(self, front, mask, label, edge_of(&node, step), depth)
            else:
                spell(
                    self, front, NULL, lead_bits(label), character_bytes(label) - 1, label, edge_of(&node, step), depth
                )


cdef void visit_all(Search *self, const Node *node, const Front *front, int depth) noexcept nogil:
    """Follow every edge of a node."""
    cdef Front other  # after any character that makes no difference
    cdef uint8_t label
    cdef uint64_t mask
    cdef int step
    step_over(self, &front.state, 0, &other.state)
    look_ahead(self, &other)
    for step in range(node.count):
        label = node.labels[step]
        mask = self.pattern.first[label]
        if label >= 0x80:
            spell(self, front, &other, lead_bits(label), character_bytes(label) - 1, label, edge_of(node, step), depth)
        elif mask & front.wanted:
            follow(self, front, mask, label, edge_of(node, step), depth)
        else:
            arrive(self, &other, label, edge_of(node, step), depth)


cdef void spell(
    Search *self, const Front *front, const Front *other, uint32_t begun, int missing, uint8_t label, uint32_t edge,
    int depth,
) noexcept nogil:
    """Read the `missing` bytes of a character behind an edge inside it; `begun` are the bits of the character's bytes
    before that edge.

    `other` is the front after a character that makes no difference; NULL: no such character leads on.
    """
    cdef Node node
    cdef uint32_t point
    cdef uint64_t mask
    cdef int step
    if target_of(edge) == 0 or depth + 1 == WORD_MAX:
        return
    if label >= 0xC0 and front.is_far and not (edge | width_flag(label)) & self.pattern.main_width:
        return
    self.word[depth] = label
    open_node(&node, self.nodes, target_of(edge))
    self.budget -= node.count
    if self.budget < 0:
        return
    for step in range(node.count):
        label = node.labels[step]
        point = begun << 6 | (label & 0x3F)
        if missing > 1:
            spell(self, front, other, point, missing - 1, label, edge_of(&node, step), depth + 1)
            continue
        mask = self.pattern.wide[wide_slot(self.pattern, point)]
        if mask & front.wanted:
            follow(self, front, mask, label, edge_of(&node, step), depth + 1)
        elif other != NULL:
            arrive(self, other, label, edge_of(&node, step), depth + 1)


cdef inline void follow(
    Search *self, const Front *old, uint64_t mask, uint8_t label, uint32_t edge, int depth
) noexcept nogil:
    cdef Front front
    step_over(self, &old.state, mask, &front.state)
    look_ahead(self, &front)
    arrive(self, &front, label, edge, depth)


cdef inline void arrive(Search *self, const Front *front, uint8_t label, uint32_t edge, int depth) noexcept nogil:
    """Take an edge: collect the word that ends with it, if it is near enough, and go on if a longer word can be near
    enough."""
    self.word[depth] = label
    if edge & ENDS_WORD:
        match(self, &front.state, depth + 1)
    if (
        target_of(edge) and depth + 1 < WORD_MAX and (front.wanted or front.is_open)
        and (edge & self.pattern.main_width or not front.is_far)
    ):
        visit(self, target_of(edge), front, depth + 1)


cdef inline void match(Search *self, const State *state, int size) noexcept nogil:
    """Collect the word on the path if it is within the distance."""
    cdef int errors
    for errors in range(DISTANCE_MAX + 1):
        if state.row[errors] >> self.pattern.size & 1:
            collect(self, size, errors)
            return


cdef void collect(Search *self, int size, int distance) noexcept nogil:
    cdef Match *match
    self.budget -= MATCH_COST
    if self.count == self.capacity and not reserve(
        <void **> &self.matches, &self.capacity, self.count + MATCHES_MORE, sizeof(Match)
    ):
        self.failed = True
        self.budget = -1
        return
    match = &self.matches[self.count]
    if self.backward:
        reverse(self.word, size, match.word)
    else:
        memcpy(match.word, self.word, size)
    match.size = <uint8_t> size
    match.distance = <uint8_t> distance
    self.count += 1


cdef void merge_matches(Search *self) noexcept nogil:
    """Sort the matches of both walks by words; of equal words, keep the one with the smaller distance."""
    cdef Py_ssize_t number, count = 0
    cdef const Match *match
    if self.count:
        qsort(self.matches, self.count, sizeof(Match), compare_matches)
    for number in range(self.count):
        match = &self.matches[number]
        if count == 0 or not is_same_word(match, &self.matches[count - 1]):
            self.matches[count] = match[0]
            count += 1
    self.count = count


cdef inline bint is_same_word(const Match *one, const Match *other) noexcept nogil:
    return one.size == other.size and memcmp(one.word, other.word, one.size) == 0


cdef int compare_matches(const void *left, const void *right) noexcept nogil:
    cdef const Match *one = <const Match *> left
    cdef const Match *other = <const Match *> right
    cdef int order = compare_bytes(one.word, one.size, other.word, other.size)
    return order if order else <int> one.distance - <int> other.distance


# -- the answer ---------------------------------------------------------------------------------------------------

cdef class Corrections:
    """The results of a correction: `matches` are pairs of word and distance; `whole` is whether the edge budget was
    enough.

    If not, words are missing, and a word may have a greater distance than its true one.
    """

    def __repr__(self) -> str:
        return f"Corrections({self.matches!r}, whole={self.whole})"


cdef Corrections correct(
    const Automata *automata, bytes word, int distance, bint transpositions, Py_ssize_t limit, int64_t edge_budget
):
    """Return the result of `PackedGraph.correct`; raise the errors of that method. A negative limit means no limit."""
    cdef Search search
    cdef const uint8_t *text = <const uint8_t *> word
    cdef Py_ssize_t size = len(word)
    if not 0 <= distance <= DISTANCE_MAX:
        raise ValueError(f"a distance is 0 to {DISTANCE_MAX}, not {distance}")
    if not is_utf8(text, size):
        raise ValueError(f"a word is UTF-8, not {word!r}")
    memset(&search, 0, sizeof(Search))
    search.budget = edge_budget
    try:
        if distance < 2:
            search_all(&search, automata, text, size, distance, transpositions)
        else:
            with nogil:
                search_all(&search, automata, text, size, distance, transpositions)
        if search.failed:
            raise MemoryError
        return nearest_first(&search, distance, limit)
    finally:
        free(search.matches)


cdef Corrections nearest_first(const Search *search, int distance, Py_ssize_t limit):
    cdef Corrections result = Corrections.__new__(Corrections)
    cdef list matches = []
    cdef const Match *match
    cdef int wanted
    cdef Py_ssize_t number
    for wanted in range(distance + 1):
        for number in range(search.count):
            match = &search.matches[number]
            if match.distance == wanted:
                if limit == 0:
                    break
                matches.append((PyBytes_FromStringAndSize(<const char *> match.word, match.size), wanted))
                limit -= 1
    result.matches = matches
    result.whole = search.budget >= 0
    return result
