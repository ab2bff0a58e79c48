"""Guesses the language of a text from its script and its letters: naive Bayes over n-grams of one to three letters.

The table (ext/tables/languages.py draws it) is mapped read-only, so processes share it and only the pages in use
are in memory. Invariant: the answer depends on the text and the table alone; every n-gram counts once, in whole
numbers, without chance and without rounding.

The text is read once: each character becomes a class (script and letter), runs of others one BREAK. The script with
the most weight decides which languages are candidates; where it has one language, that is the answer. Otherwise the
rows of all n-grams of the words in that script are added up, and the highest sum wins.
"""

import mmap
import os
import zlib

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    VERSION = 1
    MAX_CHARS = 1024        # of one text, the rest is not looked at; 1024 * 3 n-grams * 255 fit into 31 bits
    MAX_SCRIPTS = 64
    NARROW_ROW = 8          # bytes of a row, one for each language of the script, by the build
    WIDE_ROW = 48
    LATIN = 0               # the first script of every table
    BREAK = 0
    MARK = 0xFFFF
    BORDER = 1
    NONE = -1
    NO_SCORE = -(1 << 30)   # below all that priors and n-grams add up to

cdef double SCALE = 25.0    # steps of the table to one nat

MAGIC = b"sonicLNG"

cdef struct Head:
    char magic[8]
    uint32_t version
    uint32_t crc32
    uint64_t size
    uint32_t languages_at
    uint32_t language_count
    uint32_t scripts_at
    uint32_t script_count
    uint32_t page_map_at
    uint32_t pages_at
    uint32_t han_and_kana
    uint32_t unused

cdef struct Language:
    char code[4]
    int32_t prior

cdef struct Script:
    uint32_t weight
    uint32_t first_language
    uint32_t language_count
    uint32_t row_bytes
    uint32_t slot_bits
    uint32_t slots_at
    uint32_t rows_at
    uint32_t unused

cdef struct Slot:
    uint32_t gram
    uint32_t row

cdef struct Table:
    const uint8_t* data
    const Language* languages
    const Script* scripts
    const uint8_t* page_map
    const uint16_t* pages
    int script_count
    int han
    int kana

cdef struct Counter:
    const Slot* slots
    const uint8_t* rows
    uint32_t shift
    uint32_t mask
    uint32_t row_bytes
    int32_t scores[WIDE_ROW]


cdef inline bint is_blank(uint32_t char) noexcept nogil:
    return char == 32 or 9 <= char <= 13 or char == 0xA0 or char == 0x3000


cdef int classify(const Table* table, str text, uint16_t* classes) noexcept:
    """Write the classes of the first MAX_CHARS characters, at most as many, and return their number.

    Addresses say nothing of the language around them: from a chunk with `://` or `@` in it, the part in ASCII goes.
    """
    cdef int kind = PyUnicode_KIND(text)
    cdef const void* data = PyUnicode_DATA(text)
    cdef int count = 0, chunk = 0
    cdef uint32_t char, before = 32, two_before = 32
    cdef uint16_t char_class
    cdef bint address = False
    cdef Py_ssize_t i
    for i in range(min(PyUnicode_GET_LENGTH(text), <Py_ssize_t>MAX_CHARS)):
        char = PyUnicode_READ(kind, data, i)
        if is_blank(char) or char >= 0x80:
            address = False
        if not address:
            if char == 64 or (char == 47 and before == 47 and two_before == 58):
                while count > chunk and classes[count - 1] >> 8 == LATIN:
                    count -= 1
                address = True
            char_class = table.pages[<size_t>table.page_map[char >> 8] << 8 | (char & 255)]
            if char_class == BREAK:
                if count and classes[count - 1] != BREAK:
                    classes[count] = BREAK
                    count += 1
                if is_blank(char):
                    chunk = count
            elif char_class != MARK:
                classes[count] = char_class
                count += 1
        two_before = before
        before = char
    return count


cdef int main_script(const Table* table, const uint16_t* classes, int count) noexcept nogil:
    """Return the script with the most bytes of text, the first of equals, or NONE.

    Han and kana count as one; they are Japanese if more than one letter in twenty is kana.
    """
    cdef uint32_t totals[MAX_SCRIPTS]
    cdef uint32_t kana, cjk, best_total = 0
    cdef int i, best = NONE
    memset(totals, 0, sizeof(totals))
    for i in range(count):
        if classes[i] != BREAK:
            totals[classes[i] >> 8] += 1
    kana = totals[table.kana]
    cjk = kana + totals[table.han]
    totals[table.han] = totals[table.kana] = 0
    totals[table.kana if 20 * kana > cjk else table.han] = cjk
    for i in range(table.script_count):
        if totals[i] * table.scripts[i].weight > best_total:
            best_total = totals[i] * table.scripts[i].weight
            best = i
    return best


cdef inline void add(Counter* counter, uint32_t gram) noexcept nogil:
    """Add the row of `gram`, if the table has it, to the scores."""
    cdef uint32_t slot = <uint32_t>(gram * <uint32_t>0x9E3779B1) >> counter.shift
    cdef const uint8_t* row
    cdef int i
    while counter.slots[slot].gram != gram:
        if counter.slots[slot].gram == 0:
            return
        slot = (slot + 1) & counter.mask
    row = counter.rows + <size_t>counter.slots[slot].row * counter.row_bytes
    # Fixed lengths, because the compiler turns them into a dozen vector additions: 3.2 us for 200 bytes, not 7.4.
    if counter.row_bytes == WIDE_ROW:
        for i in range(WIDE_ROW):
            counter.scores[i] += row[i]
    else:
        for i in range(NARROW_ROW):
            counter.scores[i] += row[i]


cdef void count_grams(
    const Table* table, int script, const uint16_t* classes, int count, Counter* counter
) noexcept nogil:
    """Fill `counter` with the scores of the languages of `script`: every n-gram within its words, edges included."""
    cdef const Script* chosen = &table.scripts[script]
    cdef uint32_t letter, last = BORDER, last_two = 0      # last_two: the letter before `last`, 0 at a word's start
    cdef int i
    counter.slots = <const Slot*>(table.data + chosen.slots_at)
    counter.rows = table.data + chosen.rows_at
    counter.shift = 32 - chosen.slot_bits
    counter.mask = (<uint32_t>1 << chosen.slot_bits) - 1
    counter.row_bytes = chosen.row_bytes
    memset(counter.scores, 0, sizeof(counter.scores))
    for i in range(<int>chosen.language_count):
        counter.scores[i] = table.languages[chosen.first_language + i].prior
    for i in range(count + 1):
        if i < count and classes[i] != BREAK and classes[i] >> 8 == script:
            letter = classes[i] & 255
            add(counter, letter)
        elif last == BORDER:
            continue
        else:
            letter = BORDER
        add(counter, last << 8 | letter)
        if last_two:
            add(counter, last_two << 16 | last << 8 | letter)
        last_two = 0 if letter == BORDER else last
        last = letter


cdef class Detector:
    """The table of one file, and the questions that can be asked of it. Safe for any number of threads."""

    cdef Table table
    cdef Py_buffer buffer
    cdef list codes

    def __cinit__(self, path):
        """Map the table at `path`. Raise OSError if it cannot be read, ValueError if it is not a whole table."""
        PyObject_GetBuffer(map_file(os.fspath(path)), &self.buffer, PyBUF_SIMPLE)
        cdef const uint8_t* data = <const uint8_t*>self.buffer.buf
        cdef const Head* head = <const Head*>data
        self.table.data = data
        self.table.languages = <const Language*>(data + head.languages_at)
        self.table.scripts = <const Script*>(data + head.scripts_at)
        self.table.page_map = data + head.page_map_at
        self.table.pages = <const uint16_t*>(data + head.pages_at)
        self.table.script_count = head.script_count
        self.table.han = head.han_and_kana >> 16
        self.table.kana = head.han_and_kana & 0xFFFF
        self.codes = [self.table.languages[i].code[:3].decode("ascii") for i in range(head.language_count)]

    def __dealloc__(self):
        if self.buffer.buf != NULL:
            PyBuffer_Release(&self.buffer)

    def guess(self, str text not None):
        """Return (language, lead) for the first 1024 characters of `text`.

        language: ISO 639-3 code; None for a text without letters or in a script of no known language.
        lead: nats by which it leads the runner-up; infinite where the script decides.
        """
        cdef Counter counter
        cdef const Script* chosen
        cdef int best = NONE, best_score = NO_SCORE, second_score = NO_SCORE, i
        cdef int script = self.score(text, &counter)
        if script == NONE or self.table.scripts[script].language_count == 0:
            return None, 0.0
        chosen = &self.table.scripts[script]
        if chosen.row_bytes == 0:
            return self.codes[chosen.first_language], INFINITY
        for i in range(<int>chosen.language_count):
            if counter.scores[i] > best_score:
                second_score = best_score
                best, best_score = i, counter.scores[i]
            elif counter.scores[i] > second_score:
                second_score = counter.scores[i]
        return self.codes[chosen.first_language + best], (best_score - second_score) / SCALE

    def scores(self, str text not None):
        """Return {language: nats} for the same characters; empty where n-grams play no part."""
        cdef Counter counter
        cdef const Script* chosen
        cdef int script = self.score(text, &counter)
        if script == NONE or self.table.scripts[script].row_bytes == 0:
            return {}
        chosen = &self.table.scripts[script]
        return {
            self.codes[chosen.first_language + i]: counter.scores[i] / SCALE for i in range(chosen.language_count)
        }

    cdef int score(self, str text, Counter* counter) noexcept:
        """Return the main script of `text` or NONE; where it has n-grams, fill `counter` with their scores."""
        cdef uint16_t classes[MAX_CHARS]
        cdef int count = classify(&self.table, text, classes)
        cdef int script = main_script(&self.table, classes, count)
        if script != NONE and self.table.scripts[script].row_bytes:
            count_grams(&self.table, script, classes, count, counter)
        return script


def map_file(path):
    """Return the mapped file at `path`, once its head and its checksum are right."""
    cdef Head head
    with open(path, "rb") as file:
        first = file.read(sizeof(Head))
        if len(first) < <Py_ssize_t>sizeof(Head) or not first.startswith(MAGIC):
            raise ValueError(f"{path} is not a language table: it begins with {first[:8]!r}")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    memcpy(&head, <const char*>first, sizeof(Head))
    if head.version != VERSION:
        raise ValueError(f"{path} is a language table of version {head.version}; this build reads version {VERSION}")
    if head.size != <uint64_t>len(mapped) or head.crc32 != zlib.crc32(memoryview(mapped)[sizeof(Head):]):
        raise ValueError(f"{path} is a damaged language table: its size or its checksum is not that of its head")
    return mapped
