"""Finds the nearest corrections of a typed word that objects hold, likeliest first."""

from libc.math cimport log
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memset

from sonicpy._native.bits cimport count_bits
from sonicpy._native.byte_order cimport compare_bytes
from sonicpy._native.memory cimport zeroed
from sonicpy._native.term_rows cimport TermInfo, is_live
from sonicpy._native.utf8 cimport decode, is_utf8

cdef enum:
    PATTERN_MAX = 60  # characters of the typed word: a bit each, in 64
    ERRORS_MAX = 3  # of a beginning
    COUNTED = 256  # words with fewer holders are counted by their holders, so that only words that may stay are sorted


cdef struct Likely:
    Py_ssize_t place  # of the word in the list
    uint64_t holders
    double unlikeness
    int dissimilarity
    const uint8_t *word
    Py_ssize_t size


def nearest_held(
    words_of,
    bytes typed not None,
    list matches not None,
    Py_ssize_t wanted,
    besides,
    *,
    bint live,
    Py_ssize_t examined,
    Py_ssize_t compared,
    double letter_worth,
) -> list:
    """Return the nearest matches that objects hold, at least `wanted` if there are enough, as (word, row, distance).

    Matches at one distance are in the order of `likeliest_first`. The first read covers as many distances as would be
    enough if objects held all of their words; if not, further distances are read.

    Args:
        words_of: a function that returns the rows of words, with None for a word that no object holds.
        matches: (word, distance) pairs by rising distance.
        besides: words to leave out.
        live: whether only live words count; see `term_rows.held_words`.
        examined: the most matches to read.
        compared, letter_worth: see `likeliest_first`.
    """
    cdef list words = [], distances = [], rows = [], found = []
    cdef Py_ssize_t start = 0, end, most, count
    cdef tuple match
    for match in matches:
        if len(words) == examined:
            break
        if match[0] not in besides:
            words.append(match[0])
            distances.append(match[1])
    count = len(words)
    while start < count:
        end = end_of_distance(distances, start)
        if end > len(rows):
            most = end
            while most < wanted and most < count:
                most = end_of_distance(distances, most)
            rows += <list?> words_of(words if most == count and not rows else words[len(rows) : most])
        append_likeliest(found, typed, words, rows, start, end, distances[start], live, compared, letter_worth)
        if len(found) >= wanted:
            break
        start = end
    return found


cdef Py_ssize_t end_of_distance(list distances, Py_ssize_t start) except -1:
    """Return the end of the matches with the same distance as the match at `start`."""
    cdef int distance = distances[start]
    cdef Py_ssize_t end = start + 1
    while end < len(distances) and <int> distances[end] == distance:
        end += 1
    return end


cdef int append_likeliest(
    list found, bytes typed, list words, list rows, Py_ssize_t start, Py_ssize_t end, distance, bint live,
    Py_ssize_t compared, double letter_worth,
) except -1:
    """Append the words from `start` to `end` - 1 that objects hold, likeliest first, with their rows and distance.

    Args:
        live: whether only live words count; see `term_rows.held_words`.
        compared, letter_worth: see `likeliest_first`.
    """
    cdef Likely *held = <Likely *> zeroed(end - start, sizeof(Likely))
    cdef Py_ssize_t number, count = 0
    cdef TermInfo row
    cdef bytes word
    try:
        for number in range(start, end):
            row = rows[number]
            if row is not None and (is_live(&row._word, row._size) if live else row._word.df > 0):
                word = words[number]
                held[count] = Likely(number, row._word.df, 0.0, 0, <const uint8_t *> word, len(word))
                count += 1
        order_likeliest(held, count, typed, compared, letter_worth)
        for number in range(count):
            found.append((words[held[number].place], rows[held[number].place], distance))
    finally:
        free(held)
    return 0


def likeliest_first(
    bytes typed not None, list words not None, list holders not None, Py_ssize_t compared, double letter_worth
) -> list:
    """Return the places of words in a new order: the most likely corrections of the typed word first.

    The words are first ordered by holders; words with equal numbers keep their order. Then the first `compared` words
    are reordered: a word is likely if it keeps the typed letters in their order, most of all the first letter, and has
    many holders. Equally likely words are ordered by `dissimilarity_of`, then by bytes.

    Args:
        typed: the typed word in UTF-8, at most 60 characters.
        words: the words in UTF-8, none of them empty.
        holders: the object frequency of each word.
        compared: the number of most frequent words that are compared with the typed one.
        letter_worth: the weight of a kept letter: it counts as much as e ** letter_worth times as many holders.

    Raises:
        ValueError: the typed word is too long, a word is empty or not UTF-8, or the lists differ in their lengths.
    """
    cdef Py_ssize_t count = len(words), number
    cdef Likely *found
    cdef bytes word
    if count != len(holders):
        raise ValueError(f"there are {count} words, and the holders of {len(holders)}")
    found = <Likely *> zeroed(count, sizeof(Likely))
    try:
        for number in range(count):
            word = words[number]
            found[number] = Likely(number, holders[number], 0.0, 0, <const uint8_t *> word, len(word))
        order_likeliest(found, count, typed, compared, letter_worth)
        return [found[number].place for number in range(count)]
    finally:
        free(found)


cdef int order_likeliest(
    Likely *found, Py_ssize_t count, bytes typed, Py_ssize_t compared, double letter_worth
) except -1:
    qsort(found, count, sizeof(Likely), compare_holders)
    return order_first(found, count, typed, compared, letter_worth)


cdef int order_first(Likely *found, Py_ssize_t count, bytes typed, Py_ssize_t compared, double letter_worth) except -1:
    """Compare the first `compared` words with the typed one, and order them by the result. Raises ValueError if a word
    is empty or not UTF-8.
    """
    cdef uint32_t letters[PATTERN_MAX]
    cdef Py_ssize_t number
    cdef int size
    if count < 2:
        return 0
    size = characters_of(typed, letters)
    for number in range(count):
        if not found[number].size or not is_utf8(found[number].word, found[number].size):
            raise ValueError(f"a word is UTF-8 and not empty, not {found[number].word[: found[number].size]!r}")
    compared = min(compared, count)
    for number in range(compared):
        compare_with(&found[number], typed, letters, size, letter_worth)
    qsort(found, compared, sizeof(Likely), compare_likely)
    return 0


cdef int characters_of(bytes typed, uint32_t *letters) except -1:
    """Read the characters of a typed word, and return their number, at most PATTERN_MAX. Raises ValueError if the word
    is longer, or not UTF-8.
    """
    cdef const uint8_t *text = typed
    cdef Py_ssize_t at = 0
    cdef int width, count = 0
    if not is_utf8(text, len(typed)):
        raise ValueError(f"a word is UTF-8, not {typed!r}")
    while at < len(typed):
        if count == PATTERN_MAX:
            raise ValueError(f"a word has at most {PATTERN_MAX} characters, not {typed!r}")
        letters[count] = decode(text, at, &width)
        at += width
        count += 1
    return count


cdef void compare_with(
    Likely *self, bytes typed, const uint32_t *letters, int count, double letter_worth
) noexcept:
    """Compare a word with the typed one, whose characters are `letters`: set its `unlikeness` and `dissimilarity`."""
    cdef const uint8_t *typed_bytes = typed
    self.unlikeness = (
        -letter_worth * letters_kept(self.word, self.size, letters, count)
        - log(<double> max(self.holders, <uint64_t> 1))
    )
    self.dissimilarity = dissimilarity_of(typed_bytes, len(typed), self.word, self.size)


cdef int kept_letters(bytes typed, bytes word) except? -2:
    """Return how many letters of a typed word another one keeps in their order; all, if it has the same letters and only
    one has moved, as after a swap; one fewer if their first ones differ. Raises ValueError if a word is empty, not
    UTF-8, or the typed one too long.
    """
    cdef uint32_t letters[PATTERN_MAX]
    cdef int count = characters_of(typed, letters)
    if not word or not is_utf8(word, len(word)):
        raise ValueError(f"a word is UTF-8 and not empty, not {word!r}")
    return letters_kept(word, len(word), letters, count)


cdef int letters_kept(const uint8_t *word, Py_ssize_t size, const uint32_t *letters, int count) noexcept nogil:
    cdef uint32_t first, letter
    cdef uint64_t left = ~<uint64_t> 0, mask, matched
    cdef int64_t more = 0  # the sum of the letters of the word, less that of the typed ones
    cdef Py_ssize_t at = 0
    cdef int width, number, kept, others = count
    first = decode(word, 0, &width)
    while at < size:  # the bits that `left` loses are the longest common subsequence (Hyyro 2004)
        letter = decode(word, at, &width)
        at += width
        others -= 1
        more += letter
        mask = 0
        for number in range(count):
            mask |= <uint64_t> (letters[number] == letter) << number
        matched = left & mask
        left = (left + matched) | (left - matched)
    for number in range(count):
        more -= letters[number]
    kept = count_bits(~left & ((<uint64_t> 1 << count) - 1))
    if not others and not more and kept == count - 1:  # the same letters, of which one has moved
        kept = count
    return kept - (count > 0 and letters[0] != first)


cdef int dissimilarity_of(
    const uint8_t *typed, Py_ssize_t typed_size, const uint8_t *word, Py_ssize_t word_size
) noexcept nogil:
    """Return twice the number of bytes that occur in only one of two words, plus one if their first bytes differ.

    A typing mistake mostly swaps, drops or doubles letters of the word, and seldom changes its first letter.
    """
    cdef uint64_t typed_bytes[4]
    cdef uint64_t word_bytes[4]
    cdef int part, different = 0
    read_byte_set(typed, typed_size, typed_bytes)
    read_byte_set(word, word_size, word_bytes)
    for part in range(4):
        different += count_bits(typed_bytes[part] ^ word_bytes[part])
    return 2 * different + (typed_size == 0 or typed[0] != word[0])


cdef void read_byte_set(const uint8_t *text, Py_ssize_t size, uint64_t *bits) noexcept nogil:
    """Set one of 256 bits for each byte of a word."""
    cdef Py_ssize_t place
    memset(bits, 0, 4 * sizeof(uint64_t))
    for place in range(size):
        bits[text[place] >> 6] |= <uint64_t> 1 << (text[place] & 63)


cdef int compare_holders(const void *left, const void *right) noexcept nogil:
    cdef const Likely *one = <const Likely *> left
    cdef const Likely *other = <const Likely *> right
    if one.holders != other.holders:
        return -1 if one.holders > other.holders else 1
    return -1 if one.place < other.place else 1


cdef int compare_likely(const void *left, const void *right) noexcept nogil:
    cdef const Likely *one = <const Likely *> left
    cdef const Likely *other = <const Likely *> right
    if one.unlikeness != other.unlikeness:
        return -1 if one.unlikeness < other.unlikeness else 1
    if one.dissimilarity != other.dissimilarity:
        return one.dissimilarity - other.dissimilarity
    return compare_bytes(one.word, one.size, other.word, other.size)


def most_frequent(list found not None, Py_ssize_t most) -> list:
    """Return the `most` beginnings that the most objects hold, in byte order among equals.

    Args:
        found: the (word, row, errors) of each; returned as it is if there are no more than `most`.

    Raises:
        TypeError: a row is None.
    """
    cdef Py_ssize_t count = len(found), number
    cdef Likely *ordered
    cdef TermInfo row
    cdef bytes word
    if count <= most:
        return found
    ordered = <Likely *> zeroed(count, sizeof(Likely))
    try:
        for number in range(count):
            word, row, _ = found[number]
            if row is None:
                raise TypeError("a beginning has no row")
            ordered[number] = Likely(number, row._word.df, 0.0, 0, <const uint8_t *> word, len(word))
        return [found[ordered[number].place] for number in range(keep_frequent(ordered, count, most))]
    finally:
        free(ordered)


cdef Py_ssize_t keep_frequent(Likely *found, Py_ssize_t count, Py_ssize_t most) noexcept nogil:
    """Move the `most` words with the most holders to the front, in the order of `compare_frequent`, and return how many
    are left; leave `most` words, or fewer, as they are."""
    cdef Py_ssize_t words[COUNTED]  # by their holders
    cdef Py_ssize_t number, above = 0, kept = 0
    cdef uint64_t least = COUNTED - 1
    if count <= most:
        return count
    memset(words, 0, sizeof(words))
    for number in range(count):
        words[min(found[number].holders, <uint64_t> COUNTED - 1)] += 1
    while above + words[least] < most:  # only the words that may be kept are sorted
        above += words[least]
        least -= 1
    for number in range(count):
        if found[number].holders >= least:
            found[kept] = found[number]
            kept += 1
    qsort(found, kept, sizeof(Likely), compare_frequent)
    return most


cdef int compare_frequent(const void *left, const void *right) noexcept nogil:
    cdef const Likely *one = <const Likely *> left
    cdef const Likely *other = <const Likely *> right
    if one.holders != other.holders:
        return -1 if one.holders > other.holders else 1
    return compare_bytes(one.word, one.size, other.word, other.size)


def likeliest_misspelt(
    bytes typed not None, list found not None, taken, Py_ssize_t compared, double letter_worth
) -> list:
    """Return the beginnings with errors, by rising number of errors; those with equal numbers in the order of
    `likeliest_first`.

    Args:
        found: the (word, row, errors) of each, in any order, with at most three errors.
        taken: words to leave out.
        compared, letter_worth: see `likeliest_first`.

    Raises:
        TypeError: a row is None.
    """
    cdef Py_ssize_t all_found = len(found), number, count
    cdef Likely *ordered
    cdef list likeliest = []
    cdef TermInfo row
    cdef bytes word
    cdef int errors, its
    if not all_found:
        return likeliest
    ordered = <Likely *> zeroed(all_found, sizeof(Likely))
    try:
        for errors in range(1, ERRORS_MAX + 1):
            count = 0
            for number in range(all_found):
                word, row, its = found[number]
                if row is None:
                    raise TypeError("a beginning has no row")
                if its == errors and word not in taken:
                    ordered[count] = Likely(number, row._word.df, 0.0, 0, <const uint8_t *> word, len(word))
                    count += 1
            qsort(ordered, count, sizeof(Likely), compare_frequent)
            order_first(ordered, count, typed, compared, letter_worth)
            likeliest += [found[ordered[number].place] for number in range(count)]
        return likeliest
    finally:
        free(ordered)


def held_beginnings(
    list words not None, list rows not None, dict errors, bint live, Py_ssize_t most
) -> list:
    """Return the (word, row, errors of its beginning) of each word that objects hold, in order; those that
    `most_frequent` returns, if there are more than `most`.

    Args:
        rows: the TermInfo of each word; None: no object holds it.
        errors: word -> its number of errors; None: no word has errors.
        live: whether only live words count; see `TermInfo.live`.

    Raises:
        ValueError: the numbers of words and rows differ.
    """
    cdef Py_ssize_t count = len(words), held = 0, number
    cdef list found = []
    cdef Likely *ordered
    cdef TermInfo row
    cdef bytes word
    if count != len(rows):
        raise ValueError(f"{count} words need as many rows, not {len(rows)}")
    ordered = <Likely *> zeroed(count, sizeof(Likely))
    try:
        for number in range(count):
            row = rows[number]
            if row is not None and (is_live(&row._word, row._size) if live else row._word.df > 0):
                word = words[number]
                ordered[held] = Likely(number, row._word.df, 0.0, 0, <const uint8_t *> word, len(word))
                held += 1
        for number in range(keep_frequent(ordered, held, most)):
            word = words[ordered[number].place]
            found.append((word, rows[ordered[number].place], 0 if errors is None else errors[word]))
        return found
    finally:
        free(ordered)
