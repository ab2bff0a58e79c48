"""Sources of words for walks: an automaton, or a sorted array that is walked as if it were a trie.

A place in the words is a Spot: all words that begin with the same letters. `open_spot` opens the letters that follow
there, `next_child` and `find_child` go to them.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

from sonicpy._native.automaton cimport ENDS_WORD, Node, edge_of, find_label, open_node, target_of


cdef struct Words:
    const uint8_t *nodes  # of an automaton; NULL: the words are sorted
    uint32_t root
    uint8_t *letters
    uint32_t *starts  # of each word in order, in `letters`
    uint16_t *sizes
    uint32_t count


cdef struct Spot:
    uint32_t place  # a node, 0 if no word goes on; or the first of sorted words
    uint32_t end  # behind the last of these


cdef struct Child:
    Spot spot
    uint8_t label
    bint ends_word
    bint goes_on


cdef struct Children:
    const Words *words
    Node node
    int step
    uint32_t first, at, end  # of sorted words: the first one, and those that are still to come
    int depth


cdef class WordSource:
    cdef object _owner
    cdef Words words


cdef bint is_in_some(list sources, const uint8_t *word, Py_ssize_t size) except -1
cdef bint are_two(list sources, const uint8_t *word, Py_ssize_t size, Py_ssize_t least) except -1


cdef inline Spot root_of(const Words *words) noexcept nogil:
    return Spot(words.root, 0) if words.nodes != NULL else Spot(0, words.count)


cdef inline bint is_empty(const Words *words, Spot spot) noexcept nogil:
    return spot.place == 0 if words.nodes != NULL else spot.place == spot.end


cdef inline void open_spot(Children *self, const Words *words, Spot spot, int depth) noexcept nogil:
    """Open the letters behind a spot that is not empty; `depth` bytes lead to the spot."""
    self.words = words
    self.step = self.depth = 0
    self.first = self.at = self.end = 0
    if words.nodes != NULL:
        open_node(&self.node, words.nodes, spot.place)
    else:
        self.at, self.end, self.depth = spot.place, spot.end, depth
        if words.sizes[self.at] <= depth:  # the word that ends at the spot
            self.at += 1
        self.first = self.at


cdef inline uint8_t letter_at(const Words *words, uint32_t number, int depth) noexcept nogil:
    return words.letters[words.starts[number] + depth]


cdef inline uint32_t first_not_before(const Children *self, uint32_t first, uint32_t label) noexcept nogil:
    """Return the first of the words from `first` on whose letter is not before a label."""
    cdef uint32_t last = self.end, middle
    while first < last:
        middle = first + (last - first >> 1)
        if letter_at(self.words, middle, self.depth) < label:
            first = middle + 1
        else:
            last = middle
    return first


cdef inline uint32_t take_group(const Children *self, uint32_t first, uint8_t label, Child *child) noexcept nogil:
    """Take the sorted words whose next letter is `label`, from `first` on; return the end of these words."""
    cdef uint32_t end = first_not_before(self, first, label + 1)
    child.label = label
    child.ends_word = self.words.sizes[first] == self.depth + 1
    child.goes_on = end - first > child.ends_word
    child.spot = Spot(first, end)
    return end


cdef inline void take_edge(const Node *node, int step, Child *child) noexcept nogil:
    cdef uint32_t edge = edge_of(node, step)
    child.label = node.labels[step]
    child.ends_word = edge & ENDS_WORD != 0
    child.spot = Spot(target_of(edge), 0)
    child.goes_on = child.spot.place != 0


cdef inline bint next_child(Children *self, Child *child) noexcept nogil:
    """Go to the next letter; return False if there is none."""
    if self.words.nodes != NULL:
        if self.step == self.node.count:
            return False
        take_edge(&self.node, self.step, child)
        self.step += 1
        return True
    if self.at == self.end:
        return False
    self.at = take_group(self, self.at, letter_at(self.words, self.at, self.depth), child)
    return True


cdef inline bint find_child(const Children *self, uint8_t label, Child *child) noexcept nogil:
    """Go to a letter; return False if no word has it there."""
    cdef int step
    cdef uint32_t first
    if self.words.nodes != NULL:
        step = find_label(&self.node, label)
        if step < 0:
            return False
        take_edge(&self.node, step, child)
        return True
    first = first_not_before(self, self.first, label)
    if first == self.end or letter_at(self.words, first, self.depth) != label:
        return False
    take_group(self, first, label, child)
    return True


cdef inline void skip_to(Children *self, uint8_t label) noexcept nogil:
    """Pass over the letters before a label."""
    if self.words.nodes != NULL:
        if self.node.count == 0 or self.node.labels[self.node.count - 1] < label:  # as in most nodes
            self.step = self.node.count
        while self.step < self.node.count and self.node.labels[self.step] < label:
            self.step += 1
    elif self.at < self.end:
        if letter_at(self.words, self.end - 1, self.depth) < label:  # as in most words
            self.at = self.end
        else:
            self.at = first_not_before(self, self.at, label)
