"""A walk over the words of a graph in byte order; graph.pyx describes the automata."""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp

from sonicpy._native.automaton cimport (
    ENDS_WORD,
    SIGN_HEAD,
    SIGN_LONG,
    SIGN_WORD_MAX,
    WORD_MAX,
    Node,
    edge_of,
    find_label,
    open_node,
    target_of,
)


cdef struct Cursor:
    # The path to the word that was returned last, or to where the search for the first one starts.
    const uint8_t *nodes
    uint32_t root
    uint32_t path[WORD_MAX]  # the nodes on the path,
    uint8_t taken[WORD_MAX]  # the place of the edge taken in each of them,
    uint32_t edges[WORD_MAX]  # that edge,
    uint8_t word[WORD_MAX]  # and its label
    int depth  # the number of nodes on the path
    int floor  # the length of the prefix: the path never gets shorter
    bint is_next  # the path itself is the next word
    bint has_ended


cdef inline uint32_t node_below(const Cursor *self) noexcept nogil:
    """Return the node to which the path leads; 0: no word continues here."""
    if self.depth == 0:
        return self.root
    return target_of(self.edges[self.depth - 1]) if self.depth < WORD_MAX else 0


cdef inline bint ends_word(const Cursor *self) noexcept nogil:
    return self.depth > 0 and self.edges[self.depth - 1] & ENDS_WORD


cdef inline void push(Cursor *self, const Node *node, int step) noexcept nogil:
    self.path[self.depth] = target_of(node.place)
    self.taken[self.depth] = <uint8_t> step
    self.edges[self.depth] = edge_of(node, step)
    self.word[self.depth] = node.labels[step]
    self.depth += 1


cdef inline bint climb(Cursor *self) noexcept nogil:
    """Go to the next edge that is not below the node of the path; return False if there is none within the prefix."""
    cdef Node node
    while self.depth > self.floor:
        self.depth -= 1
        open_node(&node, self.nodes, self.path[self.depth])
        if self.taken[self.depth] + 1 < node.count:
            push(self, &node, self.taken[self.depth] + 1)
            return True
    return False


cdef inline void pass_over(Cursor *self, const uint8_t *after, Py_ssize_t size) noexcept nogil:
    """Follow `after`, which begins with the prefix, as far as any word does, and stop before the first greater word."""
    cdef Node node
    cdef uint8_t label
    cdef int step
    while self.depth < size and node_below(self):
        label = after[self.depth]
        open_node(&node, self.nodes, node_below(self))
        step = 0
        while step < node.count - 1 and node.labels[step] < label:
            step += 1
        push(self, &node, step)
        if node.labels[step] != label:
            self.has_ended = node.labels[step] < label and not climb(self)
            self.is_next = not self.has_ended and ends_word(self)
            return


cdef inline void start_cursor(
    Cursor *self, const uint8_t *prefix, Py_ssize_t prefix_size, const uint8_t *after, Py_ssize_t after_size
) noexcept nogil:
    """Move before the first word that begins with `prefix` and is greater than `after` (NULL: no bound)."""
    cdef Py_ssize_t step
    cdef Node node
    cdef int found
    cdef int order = memcmp(prefix, after, min(prefix_size, after_size)) if after != NULL else 1
    self.depth = 0
    self.is_next = False
    self.has_ended = True
    if prefix_size > WORD_MAX or order < 0:
        return
    for step in range(prefix_size):
        if not node_below(self):
            return
        open_node(&node, self.nodes, node_below(self))
        found = find_label(&node, prefix[step])
        if found < 0:
            return
        push(self, &node, found)
    self.floor = <int> prefix_size
    self.has_ended = False
    if order > 0 or after_size < prefix_size:
        self.is_next = ends_word(self)
    else:
        pass_over(self, after, after_size)


cdef inline bint next_word(Cursor *self) noexcept nogil:
    """Go to the next word; return False if there is none."""
    cdef Node node
    if self.is_next:
        self.is_next = False
        return True
    while not self.has_ended:
        if node_below(self):
            open_node(&node, self.nodes, node_below(self))
            push(self, &node, 0)
        elif not climb(self):
            self.has_ended = True
            return False
        if ends_word(self):
            return True
    return False


cdef inline void go_behind(Cursor *self, const uint8_t *sign) noexcept nogil:
    """Move to the place before the first word greater than that of a sign."""
    cdef int skipped
    if sign[0] != SIGN_LONG:
        start_cursor(self, sign, 0, sign + 1, min(sign[0], SIGN_WORD_MAX))
        return
    start_cursor(self, sign, 0, sign + 1, SIGN_HEAD)
    for skipped in range(sign[1 + SIGN_HEAD] | sign[2 + SIGN_HEAD] << 8):
        if not next_word(self):
            return
