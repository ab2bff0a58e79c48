"""Sonic's automaton of the words within an edit distance: its size, and the words that it accepts.

Sonic builds no automaton of more than 10,000 states.

The automaton reads UTF-8 byte by byte. Each of its main states is a row of the table of edit distances between the
typed word and the characters read so far, with their number; values above the distance are equal. At most 2 * distance
+ 1 neighbours in a row are not above the distance, so a row is packed into a number: the number of characters read, the
first of these neighbours, and three bits for each value from there on.

Behind a row, there are states inside characters of several bytes: INSIDE_OTHERS for any character, if a character that
is not in the word leads on from the row; and the states of each character of the word from the places where the row is
not above the distance.

In each state, a byte leads to one other state only. If a row has places of several characters that begin with one byte,
that byte leads into the last of these characters, and the others lead nowhere. So the automaton loses corrections
between such characters, and so does this module.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from sonicpy._native.hash_table cimport (
    HashTable, begin_table, end_table, hash_number, home_slot, next_match, set_slot,
)
from sonicpy._native.utf8 cimport character_bytes, decode, is_utf8, lead_byte

cdef enum:
    DISTANCE_MAX = 3
    WIDTH = 2 * DISTANCE_MAX + 1
    CHARACTERS_MAX = 1000
    STATES_MAX = 10_000
    ROWS_MAX = 16384  # more than STATES_MAX, and those that follow the last of them
    SLOTS = 32768
    INSIDE_OTHERS = 18  # 1 state in characters of two bytes, 2 in each of 4 ranges of three, 3 in each of 3 of four


cdef uint32_t NO_CHARACTER = 0xFFFFFFFF  # any character that is not in the word


cdef struct Row:
    int read  # how many characters led to it
    int first  # the first place whose value is not above the distance
    uint8_t values[WIDTH + 1]  # the values from there on


cdef struct Rows:
    const uint32_t *word
    int size
    int distance
    uint64_t *packed
    uint32_t count
    uint32_t inside  # states inside characters
    HashTable numbers


def count_states(bytes word not None, int distance, int enough) -> int:
    """Return the number of states of Sonic's automaton for the words within `distance` of a word.

    Args:
        distance: the distance in edits.
        enough: at most 10,000: if there are more states than this, any number above it may be returned.

    Raises:
        ValueError: the distance is not 1 to 3, or the word is not UTF-8.
    """
    cdef uint32_t points[CHARACTERS_MAX]
    cdef int size = read_points(word, distance, points)
    return states_of(points, size, distance, min(enough, STATES_MAX))


def accepted(bytes word not None, int distance, list candidates not None) -> list:
    """Return the `candidates`, in their order, that Sonic's automaton of a word accepts.

    Args:
        distance: the distance in edits.

    Raises:
        ValueError: the distance is not 1 to 3, or a word is not UTF-8.
    """
    cdef uint32_t points[CHARACTERS_MAX]
    cdef int size = read_points(word, distance, points)
    return [candidate for candidate in candidates if accepts(points, size, distance, candidate)]


cdef bint accepts(const uint32_t *word, int size, int distance, bytes candidate) except -1:
    cdef const uint8_t *text = <const uint8_t *> candidate
    cdef Py_ssize_t at = 0, end = len(candidate)
    cdef int width, place
    cdef uint32_t point
    cdef Row row = first_row(size, distance)
    if not is_utf8(text, end):
        raise ValueError(f"a word is UTF-8, not {candidate!r}")
    while at < end:
        point = decode(text, at, &width)
        at += width
        place = last_place(word, size, distance, &row, lead_byte(point))
        if place >= 0 and word[place] != point:
            return False
        if place < 0:
            point = NO_CHARACTER
        if not step(word, size, distance, &row, point, &row):
            return False
    place = size - row.first
    return place < WIDTH and row.values[place] <= distance


cdef int last_place(const uint32_t *word, int size, int distance, const Row *row, uint8_t lead) noexcept nogil:
    """Return the last place of a row whose value is within the distance and whose character begins with the byte
    `lead`; -1: there is none."""
    cdef int place
    for place in range(min(row.first + WIDTH, size) - 1, row.first - 1, -1):
        if row.values[place - row.first] <= distance and lead_byte(word[place]) == lead:
            return place
    return -1


cdef int read_points(bytes word, int distance, uint32_t *points) except -1:
    """Read at most CHARACTERS_MAX characters of a word into `points`, and return their number.

    Raises:
        ValueError: the distance is not 1 to DISTANCE_MAX, or the word is not UTF-8.
    """
    cdef const uint8_t *text = <const uint8_t *> word
    cdef Py_ssize_t at = 0, size = len(word)
    cdef int width, count = 0
    if not 1 <= distance <= DISTANCE_MAX:
        raise ValueError(f"a distance is 1 to {DISTANCE_MAX}, not {distance}")
    if not is_utf8(text, size):
        raise ValueError(f"a word is UTF-8, not {word!r}")
    while at < size and count < CHARACTERS_MAX:
        points[count] = decode(text, at, &width)
        at += width
        count += 1
    return count


cdef Py_ssize_t states_of(const uint32_t *word, int size, int distance, int enough) except -1:
    cdef Rows rows
    cdef uint32_t number = 0
    rows.word = word
    rows.size = size
    rows.distance = distance
    rows.count = rows.inside = 0
    rows.packed = <uint64_t *> malloc(ROWS_MAX * sizeof(uint64_t))
    if rows.packed == NULL or not begin_table(&rows.numbers, SLOTS):
        free(rows.packed)
        raise MemoryError
    with nogil:
        begin(&rows)
        while number < rows.count and rows.count + rows.inside <= enough:
            follow(&rows, unpacked(rows.packed[number]))
            number += 1
        end_table(&rows.numbers)
        free(rows.packed)
    return rows.count + rows.inside


cdef void begin(Rows *self) noexcept nogil:
    """Add the row before any character."""
    cdef Row row = first_row(self.size, self.distance)
    add(self, &row)


cdef Row first_row(int size, int distance) noexcept nogil:
    """Return the row before any character: each place costs one edit for each character before it."""
    cdef Row row
    cdef int place
    row.read = row.first = 0
    for place in range(WIDTH + 1):
        row.values[place] = <uint8_t> (min(place, distance + 1) if place <= size else distance + 1)
    return row


cdef void follow(Rows *self, Row row) noexcept nogil:
    """Add the rows that may follow a row, and the states inside the characters that lead to them."""
    cdef int place
    cdef Row following
    if step(self.word, self.size, self.distance, &row, NO_CHARACTER, &following):
        add(self, &following)
        self.inside += INSIDE_OTHERS
    for place in range(row.first, min(row.first + WIDTH, self.size)):
        if row.values[place - row.first] <= self.distance:
            if step(self.word, self.size, self.distance, &row, self.word[place], &following):
                add(self, &following)
            self.inside += character_bytes(lead_byte(self.word[place])) - 1


cdef bint step(
    const uint32_t *word, int size, int distance, const Row *row, uint32_t point, Row *into
) noexcept nogil:
    """Compute the row that follows a character and put it into `into`, which may be the row itself.

    Return whether it has a value within the distance; if not, `into` is unchanged.
    """
    cdef uint8_t above = <uint8_t> (distance + 1), value, before = above, found
    cdef int place, skipped = -1, old
    cdef Row following
    for place in range(WIDTH + 1):
        following.values[place] = above
    for place in range(row.first, min(row.first + WIDTH + 1, size + 1)):
        old = place - row.first
        value = <uint8_t> (row.values[old] + 1)  # the character is one too many
        if old > 0:
            found = <uint8_t> (row.values[old - 1] + (word[place - 1] != point))
            value = min(value, found)
        value = min(value, <uint8_t> (before + 1), above)
        before = value
        if value <= distance and skipped < 0:
            skipped = old
        if skipped >= 0:
            following.values[old - skipped] = value
    if skipped < 0:
        return False
    following.read = row.read + 1
    following.first = row.first + skipped
    into[0] = following
    return True


cdef void add(Rows *self, const Row *row) noexcept nogil:
    cdef uint64_t packed = pack(row)
    cdef uint32_t hashed = hash_number(packed)
    cdef uint32_t slot = home_slot(&self.numbers, hashed)
    cdef long number = next_match(&self.numbers, hashed, &slot)
    while number >= 0:
        if self.packed[number] == packed:
            return
        number = next_match(&self.numbers, hashed, &slot)
    set_slot(&self.numbers, slot, hashed, self.count)
    self.packed[self.count] = packed
    self.count += 1


cdef inline uint64_t pack(const Row *row) noexcept nogil:
    cdef uint64_t packed = <uint64_t> row.read << 20 | row.first
    cdef int place
    for place in range(WIDTH):
        packed = packed << 3 | row.values[place]
    return packed


cdef inline Row unpacked(uint64_t packed) noexcept nogil:
    cdef Row row
    cdef int place
    for place in range(WIDTH):
        row.values[WIDTH - 1 - place] = packed & 7
        packed >>= 3
    row.values[WIDTH] = 7
    row.first = packed & 0xFFFFF
    row.read = <int> (packed >> 20)
    return row
