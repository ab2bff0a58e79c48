"""Walks over the words of a bucket: finds words that equal folded letters, or begin with them, perhaps with typing
errors.

A walk reads a word letter by letter, each as it is folded (letter_folding.pyx), and steps through an NFA
(letter_steps.pxd). Where the last bit of a row is set, all words that continue from there begin as the pattern does.

Where no more errors are allowed, only the letters of the pattern, and those that fold to them, lead on: the walk then
looks only for these.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from sonicpy._native.automaton cimport Node, open_node, prefetch_target
from sonicpy._native.bits cimport lowest_bit
from sonicpy._native.letter_folding cimport Folded, Folding, folded_of
from sonicpy._native.letter_steps cimport (
    DISTANCE_MAX,
    NOT_FOUND,
    Pattern,
    State,
    accepted,
    begin_state,
    last_state,
    leads_on,
    places_of,
    read_pattern,
    step_over,
)
from sonicpy._native.stem_ends cimport StemEnds
from sonicpy._native.utf8 cimport character_bytes, decode, is_utf8, lead_bits, lead_byte
from sonicpy._native.walked_words cimport BYTES_MAX, Ends, Table, Walk, add, collect
from sonicpy._native.word_source cimport (
    Child,
    Children,
    Spot,
    WordSource,
    find_child,
    is_empty,
    next_child,
    open_spot,
    root_of,
    skip_to,
    take_edge,
)

EDGE_BUDGET = EDGES_MAX
"""The most letters that one walk examines by default: about a millisecond."""


# -- the walk ------------------------------------------------------------------------------------------------------

cdef void visit(Walk *self, Spot spot, const State *state, int depth, int best) noexcept nogil:
    """Examine the letters behind a spot to which complete letters lead.

    Args:
        best: the least number of errors with which the pattern matches a beginning of the letters read so far;
            NOT_FOUND: it matches none.
    """
    cdef Children children
    cdef Child child
    if best > self.distance and not leads_on(state, self.distance - 1):
        descend(self, spot, state.row[self.distance], state.swap[self.distance], depth)
        return
    if depth >= BYTES_MAX - 4 or self.budget < 0 or self.wanted <= 0:
        return
    open_spot(&children, self.words, spot, depth)
    if not self.begins and accepted(self.pattern, self.distance, state) <= self.distance and find_child(&children, 0, &child):
        collect(self, &child, depth, accepted(self.pattern, self.distance, state))
    visit_all(self, &children, state, depth, best)


cdef void visit_all(Walk *self, Children *children, const State *state, int depth, int best) noexcept nogil:
    """Follow every letter, because more errors are allowed, or the letters follow a beginning that is near enough."""
    cdef Child child
    cdef State other  # behind a letter that is none of the next ones of the pattern
    cdef uint64_t places, next_places = 0
    cdef bint is_known = False, is_last = False
    cdef int errors, step
    for errors in range(self.distance + 1):
        next_places |= state.row[errors] | state.swap[errors]
    if self.words.nodes != NULL:
        for step in range(children.node.count):
            prefetch_target(&children.node, self.words.nodes, step)
    while next_child(children, &child):
        self.budget -= 1
        if child.label == 0:
            if best <= self.distance:
                collect(self, &child, depth, best)
        elif child.label < 0x80:
            places = self.pattern.first[child.label]
            if (places | places >> 1) & next_places:
                read_letter(self, &child, child.label, state, depth, best)
                continue
            if not is_known:
                is_known = True
                step_over(self.pattern, self.distance, self.swaps, state, child.label, &other)
                is_last = best > self.distance and not leads_on(&other, self.distance - 1)
            if is_last:
                arrive_last(self, &child, other.row[self.distance], depth)
            else:
                arrive(self, &child, &other, depth, best)
        else:
            spell_all(self, &child, lead_bits(child.label), character_bytes(child.label) - 1, state, depth, best)


cdef void descend(Walk *self, Spot spot, uint64_t row, uint64_t swap, int depth) noexcept nogil:
    """Follow the letters of the pattern, and letters that fold to others, where no more errors are allowed.

    Args:
        row, swap: the parts of the state for the most errors; its other parts are 0, and nothing is found so far.
    """
    cdef Child child
    cdef Node node
    cdef const uint64_t *first = self.pattern.first
    cdef uint64_t wanted = row | swap, places
    cdef uint8_t steps[256]
    cdef int step, found = 0, number
    if depth >= BYTES_MAX - 4 or self.budget < 0 or self.wanted <= 0:
        return
    if self.words.nodes == NULL or not self.begins or self.distance == 0:
        descend_wanted(self, spot, row, swap, depth)
        return
    open_node(&node, self.words.nodes, spot.place)
    if node.labels[node.count - 1] >= 0x80:
        descend_wanted(self, spot, row, swap, depth)
        return
    self.budget -= node.count
    for step in range(node.count):  # without branches, because none could be foretold
        steps[found] = <uint8_t> step
        found += first[node.labels[step]] & wanted != 0
    for number in range(found):
        prefetch_target(&node, self.words.nodes, steps[number])
    for number in range(found):
        places = first[node.labels[steps[number]]]
        take_edge(&node, steps[number], &child)
        arrive_last(self, &child, (row & places) << 1 | (swap & places) << 2, depth)


cdef void descend_wanted(Walk *self, Spot spot, uint64_t row, uint64_t swap, int depth) noexcept nogil:
    """Visit the children of a node, as `descend` does, by looking for each letter that the pattern may have next."""
    cdef Children children
    cdef Child child
    cdef State state
    cdef uint64_t wanted = (row | swap) & ((<uint64_t> 1 << self.pattern.size) - 1), places
    cdef uint32_t point
    open_spot(&children, self.words, spot, depth)
    if not self.begins and row >> self.pattern.size & 1 and find_child(&children, 0, &child):
        collect(self, &child, depth, self.distance)
    while wanted:
        point = self.pattern.points[lowest_bit(wanted)]
        places = places_of(self.pattern, point)
        wanted &= ~places
        self.budget -= 1
        if find_child(&children, lead_byte(point), &child):
            if point < 0x80:
                arrive_last(self, &child, (row & places) << 1 | (swap & places) << 2, depth)
            else:
                spell(self, &child, point, last_state(&state, self.distance, row, swap), depth, NOT_FOUND)
    skip_to(&children, 0xC0)
    while next_child(&children, &child):
        self.budget -= 1
        if self.table.leads[child.label]:
            spell_folded(self, &child, last_state(&state, self.distance, row, swap), depth, NOT_FOUND)


cdef void spell(
    Walk *self, Child *child, uint32_t point, const State *state, int depth, int best
) noexcept nogil:
    """Follow the other bytes of a character, the first of which leads to `child`, and read it."""
    cdef Children children
    cdef int missing = character_bytes(child.label) - 1
    while missing:
        if not child.goes_on:
            return
        self.word[depth] = child.label
        depth += 1
        open_spot(&children, self.words, child.spot, depth)
        missing -= 1
        if not find_child(&children, <uint8_t> (0x80 | point >> 6 * missing & 0x3F), child):
            return
    read_letter(self, child, point, state, depth, best)


cdef void spell_folded(Walk *self, const Child *lead, const State *state, int depth, int best) noexcept nogil:
    """Read the characters that begin with the byte of `lead` and fold to others."""
    cdef Children children
    cdef Child child
    cdef int width = character_bytes(lead.label)
    if not lead.goes_on:
        return
    self.word[depth] = lead.label
    open_spot(&children, self.words, lead.spot, depth + 1)
    while next_child(&children, &child):
        self.budget -= 1
        if self.table.seconds[lead.label << 6 | child.label & 0x3F]:
            spell_rest(
                self, &child, lead_bits(lead.label) << 6 | child.label & 0x3F, width - 2, True, state, depth + 1, best
            )


cdef void spell_all(
    Walk *self, const Child *child, uint32_t begun, int missing, const State *state, int depth, int best
) noexcept nogil:
    """Read all characters that begin with the bytes up to `child`; `missing` bytes are still to come."""
    spell_rest(self, child, begun, missing, False, state, depth, best)


cdef void spell_rest(
    Walk *self, const Child *last, uint32_t begun, int missing, bint only_folded, const State *state, int depth,
    int best,
) noexcept nogil:
    cdef Children children
    cdef Child child
    if missing == 0:
        if not only_folded or folded_of(self.table.pages, self.table.numbers, self.table.folded, begun) != NULL:
            read_letter(self, last, begun, state, depth, best)
        return
    if not last.goes_on:
        return
    self.word[depth] = last.label
    open_spot(&children, self.words, last.spot, depth + 1)
    while next_child(&children, &child):
        self.budget -= 1
        spell_rest(self, &child, begun << 6 | child.label & 0x3F, missing - 1, only_folded, state, depth + 1, best)


cdef void read_letter(
    Walk *self, const Child *child, uint32_t point, const State *state, int depth, int best
) noexcept nogil:
    """Read a character in its folded form; its last byte leads to `child`."""
    cdef const Folded *folded
    cdef State states[2]
    cdef int place
    if point < 0x80:
        step_over(self.pattern, self.distance, self.swaps, state, point, &states[0])
        arrive(self, child, &states[0], depth, best)
        return
    folded = folded_of(self.table.pages, self.table.numbers, self.table.folded, point)
    if folded == NULL:
        step_over(self.pattern, self.distance, self.swaps, state, point, &states[0])
        arrive(self, child, &states[0], depth, best)
        return
    states[0] = state[0]
    for place in range(folded.count):
        step_over(self.pattern, self.distance, self.swaps, &states[place & 1], folded.points[place], &states[place + 1 & 1])
        if self.begins:  # the pattern may end inside the folded form of a letter
            best = min(best, accepted(self.pattern, self.distance, &states[place + 1 & 1]))
    arrive(self, child, &states[folded.count & 1], depth, best)


cdef void arrive(Walk *self, const Child *child, const State *state, int depth, int best) noexcept nogil:
    """Collect words that end or continue with a letter, if they are near enough, and go on if more words can be.

    With `leading`, a word is also collected if its folded letters are a beginning of the pattern, with their number in
    place of a distance.

    Args:
        child: the last byte of the letter.
        state: the state behind the letter.
        depth: the number of bytes of the word before that byte.
        best: as in `visit`.
    """
    cdef int found = accepted(self.pattern, self.distance, state)
    self.word[depth] = child.label
    if self.besides != NULL and depth + 1 == self.besides_size and not memcmp(self.word, self.besides, depth + 1):
        return
    if self.begins:
        best = min(best, found)
        if best <= self.distance:
            if not leads_on(state, best - 1):
                collect(self, child, depth, best)
                return
            found = best
    if child.ends_word and (found <= self.distance or (self.leading and state.row[0])):
        add(self, depth + 1, lowest_bit(state.row[0]) if self.leading else found)
    if child.goes_on and leads_on(state, min(self.distance, best - 1)):
        visit(self, child.spot, state, depth + 1, best)


cdef inline void arrive_last(Walk *self, const Child *child, uint64_t row, int depth) noexcept nogil:
    """Arrive at a child, as `arrive` does, with a state whose other parts are 0: `row` is that for the most errors."""
    cdef bint is_found = row >> self.pattern.size & 1
    self.word[depth] = child.label
    if self.besides != NULL and depth + 1 == self.besides_size and not memcmp(self.word, self.besides, depth + 1):
        return
    if is_found and self.begins:
        collect(self, child, depth, self.distance)
        return
    if child.ends_word and (is_found or (self.leading and row)):
        add(self, depth + 1, lowest_bit(row) if self.leading else self.distance)
    if child.goes_on and row:
        descend(self, child.spot, row, 0, depth + 1)


# -- asking --------------------------------------------------------------------------------------------------------

def find_words(
    list sources not None, list patterns not None, Folding folding not None, *, int distance=0, bint begins=False,
    bint swaps=True, bint spelled=False, bint joined=False, bytes besides=b"", int64_t most=100_000, int64_t budget=EDGE_BUDGET, StemEnds ends=None, bytes stem=b"",
) -> dict:
    """Return the words that equal a pattern of folded letters, or begin with it, each with its distance from the
    pattern.

    Args:
        sources: the sources of words, WordSource.
        patterns: folded words in UTF-8; those of more than 60 characters find nothing.
        folding: the folding for the letters of words.
        distance: the most errors of a word, or of its beginning, 0 to 3.
        begins: whether to return words that begin with a pattern, too.
        swaps: whether a swap of two neighbours is one error, not two.
        spelled: whether to return only words whose ASCII characters are small letters and apostrophes.
        joined: whether to leave out words that consist of the letters a to z; they still count for `most`.
        besides: words that begin with exactly these bytes are left out; b"": no words are.
        most: the number of words of a pattern in a source after which its walk ends.
        budget: the most letters to examine for a pattern in a source.
        ends: the test whether a word of the letters a to z may have a stem; None: all words may.
        stem: the stem for `ends`: at least one of the letters a to z.

    Raises:
        ValueError: the distance is out of range, a pattern is not UTF-8, or the stem is empty.
    """
    return walk_all(
        sources, patterns, folding, distance, begins, swaps, spelled, joined, besides, most, budget, ends, stem
    )


cdef dict walk_all(
    list sources, list patterns, Folding folding, int distance, bint begins, bint swaps, bint spelled, bint joined,
    bytes besides, int64_t most, int64_t budget, StemEnds ends, bytes stem, bint leading=False,
):
    """Return the result of `find_words` for the same arguments.

    Args:
        leading: also find the words that are a beginning of a pattern, and return for each word the number of its
            folded letters in place of its distance; `distance` must be 0 and `begins` must be false.

    Raises:
        ValueError: the distance is out of range, or a word is not UTF-8.
    """
    cdef Pattern read
    cdef Ends kept
    cdef Table table
    cdef Walk walk
    cdef dict found = {}
    cdef WordSource source
    cdef bytes pattern
    if not 0 <= distance <= DISTANCE_MAX:
        raise ValueError(f"a distance is 0 to {DISTANCE_MAX}, not {distance}")
    if ends is not None and len(stem) > BYTES_MAX:
        return found  # no stored word is as long, as for a pattern
    read_ends(&kept, ends, stem)
    table.pages, table.numbers, table.folded = folding.pages, folding.numbers, folding.folded
    table.leads, table.seconds = folding.leads, folding.seconds
    memset(&walk, 0, sizeof(Walk))
    walk.pattern, walk.table, walk.ends = &read, &table, &kept
    walk.distance, walk.begins, walk.swaps, walk.spelled, walk.joined = distance, begins, swaps, spelled, joined
    walk.leading = leading
    if besides:
        walk.besides, walk.besides_size = <const uint8_t *> besides, <int> len(besides)
    try:
        for pattern in patterns:
            if not is_utf8(<const uint8_t *> pattern, len(pattern)):
                raise ValueError(f"a word is UTF-8, not {pattern!r}")
            if not read_pattern(&read, pattern, len(pattern)):
                continue
            for source in sources:
                walk.words, walk.budget, walk.wanted = &source.words, budget, most
                walk_through(&walk)
                if walk.failed:
                    raise MemoryError
                take_found(&walk, found)
        return found
    finally:
        free(walk.letters)
        free(walk.marks)


cdef int read_ends(Ends *self, StemEnds ends, bytes stem) except -1:
    self.taken = NULL
    if ends is not None:
        if not stem:
            raise ValueError("a stem is empty")
        self.taken, self.changed = ends._taken, ends._changed
        memcpy(self.stem, <const uint8_t *> stem, len(stem))
        self.before = <int> len(stem) - 1
    return 0


cdef void walk_through(Walk *self) noexcept nogil:
    cdef State state
    cdef Spot root = root_of(self.words)
    begin_state(&state, self.distance)
    if not is_empty(self.words, root):
        visit(self, root, &state, 0, accepted(self.pattern, self.distance, &state) if self.begins else NOT_FOUND)


cdef int take_found(Walk *self, dict found) except -1:
    """Put the words that were found into a dict, each with its smallest distance."""
    cdef Py_ssize_t number, at = 0
    cdef bytes word
    for number in range(self.marked // 2):
        word = PyBytes_FromStringAndSize(<const char *> self.letters + at, self.marks[2 * number])
        at += self.marks[2 * number]
        distance = self.marks[2 * number + 1]
        known = found.get(word)
        if known is None or distance < known:
            found[word] = distance
    self.used = self.marked = 0
    return 0
