"""Guesses the language of a text from its script and its letters: naive Bayes over n-grams of one to three letters.

The table (described in ext/tables/languages.py) is mapped read-only, so processes share it and only the pages in use
are in memory. Invariant: the answer depends only on the text and the table; every n-gram counts once, in whole numbers,
without randomness and without rounding.

The text is read once: each letter becomes a class (script and letter), each run of other characters one BREAK. The
languages of the script with the most weight are the candidates. A single candidate is the answer; otherwise the rows of
all n-grams of the words in that script are added up, and the highest sum wins.
"""

import mmap
import os
import zlib

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)

cdef extern from *:
    const void *aligned "__builtin_assume_aligned"(const void *pointer, size_t bytes) noexcept nogil

cdef enum:
    VERSION = 2
    MAX_CHARS = 1024        # of one text, the rest is not read; 1024 * 3 n-grams * 255 fit into 31 bits
    MAX_SCRIPTS = 64
    NARROW_ROW = 8          # weights in a row, one for each language of the script; the build chooses the width
    WIDE_ROW = 48
    PLACES_AT_ONCE = 85     # 85 * 3 n-grams * 255 fit into 16 bits
    LATIN = 0               # number of the first script in every table
    BREAK = 0
    MARK = 0xFFFF
    BORDER = 1
    FIRST_LETTER = 2
    NONE = -1
    NO_ROW = 0xFFFFFFFF
    NO_SCORE = -(1 << 30)   # below every sum of priors and n-grams

cdef double SCALE = 25.0    # steps of the table to one nat

cdef bytes MAGIC = b"sonicLNG"
UNCLEAR = ""                # the result of ClearTexts if n-grams are not enough; no code is empty

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

cdef struct LanguageRow:
    char code[4]
    int32_t prior

cdef struct Script:
    uint32_t weight
    uint32_t first_language
    uint32_t language_count
    uint32_t row_weights
    uint32_t letter_count
    uint32_t pairs_at
    uint32_t pair_rows_at
    uint32_t slot_bits
    uint32_t slots_at
    uint32_t rows_at

cdef struct Slot:
    uint32_t gram
    uint32_t row

cdef struct Table:
    const uint8_t* data
    const LanguageRow* languages
    const Script* scripts
    const uint8_t* page_map
    const uint16_t* pages
    int script_count
    int han
    int kana

cdef struct Place:
    # A letter of a word, or its end, and the rows of its n-grams.
    uint32_t pair           # row of the letter alone and with the letter before it: where it begins, in weights
    uint32_t triple         # row of the letter with the two before it; NO_ROW: the table has none


cdef inline bint is_blank(uint32_t char) noexcept nogil:
    return char == 32 or 9 <= char <= 13 or char == 0xA0 or char == 0x3000


cdef inline int classify_kind(
    const Table* table, int kind, const void* data, Py_ssize_t size, uint16_t* classes
) noexcept:
    """Carry out `classify` for one width of characters. Calls pass a constant, so that the compiler makes a function
    for each."""
    cdef int count = 0, chunk = 0
    cdef uint32_t char
    cdef uint16_t char_class
    cdef Py_ssize_t i = 0
    while i < size:
        char = PyUnicode_READ(kind, data, i)
        char_class = table.pages[<size_t>table.page_map[char >> 8] << 8 | (char & 255)]
        i += 1
        if char_class != BREAK:
            if char_class != MARK:
                classes[count] = char_class
                count += 1
            continue
        if char == 64 or (
            char == 47 and i > 2 and PyUnicode_READ(kind, data, i - 2) == 47 and PyUnicode_READ(kind, data, i - 3) == 58
        ):
            while count > chunk and classes[count - 1] >> 8 == LATIN:
                count -= 1
            while i < size and not is_blank(PyUnicode_READ(kind, data, i)) and PyUnicode_READ(kind, data, i) < 0x80:
                i += 1
        if count and classes[count - 1] != BREAK:
            classes[count] = BREAK
            count += 1
        if is_blank(char):
            chunk = count
    return count


cdef int classify(const Table* table, str text, Py_ssize_t size, uint16_t* classes) noexcept:
    """Write the classes of the first `size` characters and return their number, at most `size`.

    Addresses are no evidence for a language: a chunk with `://` or `@` in it loses its part in ASCII.
    """
    cdef int kind = PyUnicode_KIND(text)
    cdef const void* data = PyUnicode_DATA(text)
    if kind == 1:
        return classify_kind(table, 1, data, size, classes)
    if kind == 2:
        return classify_kind(table, 2, data, size, classes)
    return classify_kind(table, 4, data, size, classes)


cdef int main_script(const Table* table, const uint16_t* classes, int count) noexcept nogil:
    """Return the script with the most bytes of text, the first of equal ones, or NONE.

    Han and kana count as one script: kana if more than one letter in twenty is kana, otherwise Han.
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


cdef inline uint32_t triple_row(const Slot* slots, uint32_t shift, uint32_t row_weights, uint32_t gram) noexcept nogil:
    """Return the beginning of the row of an n-gram of three letters, or NO_ROW."""
    cdef uint32_t slot = <uint32_t>(gram * <uint32_t>0x9E3779B1) >> shift
    while slots[slot].gram != gram:
        if slots[slot].gram == 0:
            return NO_ROW
        slot = (slot + 1) & (<uint32_t>0xFFFFFFFF >> shift)
    return slots[slot].row * row_weights


cdef int find_places(
    const Table* table, int script, uint16_t* classes, int count, Place* places
) noexcept nogil:
    """Write a place for every letter and end of the words in `script`; return their number, at most `count` + 1.

    `classes` has room for one more.
    """
    cdef const Script* chosen = &table.scripts[script]
    cdef const uint16_t* pairs = <const uint16_t*>(table.data + chosen.pairs_at)
    cdef const Slot* slots = <const Slot*>(table.data + chosen.slots_at)
    # Local copies: otherwise the compiled code would read the table again after each place that it writes.
    cdef uint32_t base = <uint32_t>script << 8, letter_count = chosen.letter_count
    cdef uint32_t row_weights = chosen.row_weights, shift = 32 - chosen.slot_bits
    cdef uint32_t letter, last = BORDER, last_two = 0      # last_two: the letter before `last`, 0 at a word's start
    cdef int i, found = 0
    classes[count] = BREAK
    for i in range(count + 1):
        letter = <uint32_t>classes[i] - base
        if letter - FIRST_LETTER >= letter_count:          # a BREAK, or a letter of another script
            if last == BORDER:
                continue
            letter = BORDER
        places[found].pair = pairs[last * (FIRST_LETTER + letter_count) + letter] * row_weights
        places[found].triple = NO_ROW
        if last_two:
            places[found].triple = triple_row(slots, shift, row_weights, last_two << 16 | last << 8 | letter)
        found += 1
        last_two = 0 if letter == BORDER else last
        last = letter
    return found


cdef inline void add_rows(
    const uint16_t* pair_rows, const uint8_t* rows, const Place* places, int count, int32_t* scores, int row_weights
) noexcept nogil:
    """Add the rows of all places to the scores.

    Calls pass a constant `row_weights`, so the compiler keeps all sums of 16 bits in registers and adds a row with a few
    vector instructions.
    """
    cdef uint16_t sums[WIDE_ROW]
    cdef const uint16_t* pair_row
    cdef const uint8_t* row
    cdef int place = 0, end, i
    while place < count:
        end = min(place + PLACES_AT_ONCE, count)
        for i in range(row_weights):
            sums[i] = 0
        while place < end:
            pair_row = <const uint16_t*>aligned(pair_rows + places[place].pair, 16)
            for i in range(row_weights):
                sums[i] += pair_row[i]
            if places[place].triple != NO_ROW:
                row = rows + places[place].triple
                for i in range(row_weights):
                    sums[i] += row[i]
            place += 1
        for i in range(row_weights):
            scores[i] += sums[i]


cdef void add_up(
    const Table* table, int script, const Place* places, int count, int32_t* scores
) noexcept nogil:
    """Write the scores of the languages of `script` into `scores`, which has room for WIDE_ROW numbers; `count` is the
    number of `places`.
    """
    cdef const Script* chosen = &table.scripts[script]
    cdef const uint16_t* pair_rows = <const uint16_t*>(table.data + chosen.pair_rows_at)
    cdef const uint8_t* rows = table.data + chosen.rows_at
    cdef int i
    memset(scores, 0, WIDE_ROW * sizeof(int32_t))
    for i in range(<int>chosen.language_count):
        scores[i] = table.languages[chosen.first_language + i].prior
    if chosen.row_weights == WIDE_ROW:
        add_rows(pair_rows, rows, places, count, scores, WIDE_ROW)
    else:
        add_rows(pair_rows, rows, places, count, scores, NARROW_ROW)


cdef class Detector:
    """Guesses languages by the table in one file. Any number of threads may use it.

    Args:
        path: the file to map.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a complete table.
    """

    cdef Table table
    cdef Py_buffer buffer
    cdef list codes
    cdef list numbers           # of each script: {code: number of the language within it}

    def __cinit__(self, path):
        PyObject_GetBuffer(map_file(os.fspath(path)), &self.buffer, PyBUF_SIMPLE)
        cdef const uint8_t* data = <const uint8_t*>self.buffer.buf
        cdef const Head* head = <const Head*>data
        self.table.data = data
        self.table.languages = <const LanguageRow*>(data + head.languages_at)
        self.table.scripts = <const Script*>(data + head.scripts_at)
        self.table.page_map = data + head.page_map_at
        self.table.pages = <const uint16_t*>(data + head.pages_at)
        self.table.script_count = head.script_count
        self.table.han = head.han_and_kana >> 16
        self.table.kana = head.han_and_kana & 0xFFFF
        self.codes = [self.table.languages[i].code[:3].decode("ascii") for i in range(head.language_count)]
        self.numbers = [
            {
                self.codes[self.table.scripts[script].first_language + i]: i
                for i in range(self.table.scripts[script].language_count)
            }
            for script in range(head.script_count)
        ]

    def __dealloc__(self):
        if self.buffer.buf != NULL:
            PyBuffer_Release(&self.buffer)

    def guess(self, str text not None):
        """Return (language, lead) for the first 1024 characters of `text`.

        language: ISO 639-3 code; None: the text has no letters, or no language of the table uses its script. lead: nats
        between the language and the runner-up; infinite if the script decides.
        """
        cdef int32_t scores[WIDE_ROW]
        cdef double lead = 0.0
        cdef int script
        cdef int language = self.best(text, PyUnicode_GET_LENGTH(text), &lead, scores, &script)
        return (None if language == NONE else self.codes[language]), lead

    def scores(self, str text not None):
        """Return {language: nats} for the characters that `guess` reads; {} if the script decides."""
        cdef int32_t scores[WIDE_ROW]
        cdef const Script* chosen
        cdef int script = self.score(text, PyUnicode_GET_LENGTH(text), scores)
        if script == NONE or self.table.scripts[script].row_weights == 0:
            return {}
        chosen = &self.table.scripts[script]
        return {self.codes[chosen.first_language + i]: scores[i] / SCALE for i in range(chosen.language_count)}

    def guess_with(self, str text not None, list evidence not None):
        """Return the language with the most evidence by n-grams and `evidence` together, the first of equal ones; None
        if the script decides.

        Args:
            text: the text, of which the first 1024 characters count.
            evidence: pairs (language, nats), added up in this order; languages of other scripts do not count.
        """
        cdef int32_t scores[WIDE_ROW]
        cdef int script = self.score(text, PyUnicode_GET_LENGTH(text), scores)
        if script == NONE or self.table.scripts[script].row_weights == 0:
            return None
        return self.codes[self.supported(script, scores, evidence)]

    cdef int supported(self, int script, const int32_t* scores, list evidence) except -1:
        """Return the number of the language that `guess_with` returns for the scores of a script."""
        cdef double nats[WIDE_ROW]
        cdef const Script* chosen = &self.table.scripts[script]
        cdef dict numbers = self.numbers[script]
        cdef int best = 0, i
        for i in range(<int>chosen.language_count):
            nats[i] = scores[i] / SCALE
        for code, more in evidence:
            number = numbers.get(code)
            if number is not None:
                i = number
                nats[i] += <double>more
        for i in range(1, <int>chosen.language_count):
            if nats[i] > nats[best]:
                best = i
        return <int>chosen.first_language + best

    cdef int best(self, str text, Py_ssize_t size, double* lead, int32_t* scores, int* main) noexcept:
        """Return the number of the language of the first `size` characters, or NONE.

        Args:
            lead: set to the lead of the score over that of the second language, in nats; infinite if the script has
                no n-grams; not set for NONE.
            scores, main: set to the scores and the script that decided.
        """
        cdef const Script* chosen
        cdef int32_t best_score = NO_SCORE, second_score = NO_SCORE
        cdef int best = NONE, i
        cdef int script = self.score(text, size, scores)
        main[0] = script
        if script == NONE or self.table.scripts[script].language_count == 0:
            return NONE
        chosen = &self.table.scripts[script]
        if chosen.row_weights == 0:
            lead[0] = INFINITY
            return <int>chosen.first_language
        for i in range(<int>chosen.language_count):
            if scores[i] > second_score:
                if scores[i] > best_score:
                    second_score = best_score
                    best, best_score = i, scores[i]
                else:
                    second_score = scores[i]
        lead[0] = (best_score - second_score) / SCALE
        return <int>chosen.first_language + best

    cdef int score(self, str text, Py_ssize_t size, int32_t* scores) noexcept:
        """Return the main script of the first `size` characters, or NONE; write the scores if it has n-grams."""
        cdef uint16_t classes[MAX_CHARS + 1]
        cdef Place places[MAX_CHARS + 1]
        cdef int count = classify(&self.table, text, min(size, <Py_ssize_t>MAX_CHARS), classes)
        cdef int script
        if PyUnicode_IS_ASCII(text):
            script = LATIN if count else NONE  # the first class is never a BREAK
        else:
            script = main_script(&self.table, classes, count)
        if script != NONE and self.table.scripts[script].row_weights:
            add_up(&self.table, script, places, find_places(&self.table, script, classes, count, places), scores)
        return script


cdef class ClearTexts:
    """Guesses the language of texts that letters or words decide, or that are too short; other texts are UNCLEAR.

    Args:
        path: the file of a Detector, which the first text that needs it opens.
        known: the languages that `guess` may return; it returns None instead of other languages of the table.
        min_bytes: the least number of bytes in UTF-8 of a text that has a language.
        max_bytes: the most bytes in UTF-8 of a text that count.
        sure_lead: the nats by which one language must lead.
        evidence: a function that returns the evidence in a text, see `Detector.guess_with`; None: letters alone decide.
    """

    cdef object path
    cdef object known
    cdef object evidence
    cdef Detector opened        # None before the first text that needs it
    cdef list answers
    cdef Py_ssize_t min_bytes, max_bytes
    cdef double sure_lead

    def __cinit__(self, path, known, Py_ssize_t min_bytes, Py_ssize_t max_bytes, double sure_lead, evidence=None):
        self.path = path
        self.known = known
        self.evidence = evidence
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.sure_lead = sure_lead

    @property
    def detector(self):
        """The Detector, opened when it is first needed. Raises the errors of `Detector(path)`."""
        cdef Detector detector = self.opened
        if detector is None:
            detector = Detector(self.path)
            self.answers = [code if code in self.known else None for code in detector.codes]
            self.opened = detector  # after the answers, which `guess` reads once it finds a detector
        return detector

    def by_letters(self, str text not None):
        """Return the result of `guess` for letters alone. Raises the errors of `detector`."""
        return self.decide(text, None)

    def guess(self, str text not None):
        """Return the language of `text`, None if it has none, or UNCLEAR. Raises the errors of `detector`, `evidence`."""
        return self.decide(text, self.evidence)

    cdef object decide(self, str text, evidence):
        cdef int32_t scores[WIDE_ROW]
        cdef double lead = 0.0
        cdef int language, script
        cdef Py_ssize_t size = self.examined(text)
        if size <= 0:
            return None if size == 0 else UNCLEAR
        if self.opened is None:
            self.detector
        language = self.opened.best(text, size, &lead, scores, &script)
        if language == NONE:
            return None
        if lead < self.sure_lead:
            if evidence is None:
                return UNCLEAR
            language = self.opened.supported(script, scores, evidence(text[:size]))
        return self.answers[language]

    cdef Py_ssize_t examined(self, str text) noexcept:
        """Return the number of characters that count; 0: there are too few for a language; -1: NFC may change some of
        them."""
        cdef int kind = PyUnicode_KIND(text)
        cdef const void* data = PyUnicode_DATA(text)
        cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text), used = 0, i
        cdef uint32_t char
        if PyUnicode_IS_ASCII(text):
            return 0 if length < self.min_bytes else min(length, self.max_bytes)
        for i in range(min(length, self.max_bytes)):
            char = PyUnicode_READ(kind, data, i)
            if char >= 0x300 and not 0x400 <= char < 0x483:  # below 0x300, and from 0x400 to 0x482, are no marks, and NFC changes nothing
                return -1
            used += 1 if char < 0x80 else 2
            if used > self.max_bytes:
                return i
        return 0 if used < self.min_bytes else min(length, self.max_bytes)


cdef object map_file(path):
    """Map the file at `path`, check its head and its checksum, and return it. Raises ValueError if one of these is
    wrong.
    """
    cdef Head head
    with open(path, "rb") as file:
        first = file.read(sizeof(Head))
        if len(first) < <Py_ssize_t>sizeof(Head) or not first.startswith(MAGIC):
            raise ValueError(f"{path} is not a language table: it begins with {first[:8]!r}")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    memcpy(&head, <const char*>first, sizeof(Head))
    if head.version != VERSION:
        raise ValueError(f"{path} is a language table of version {head.version}, but this build reads version {VERSION}")
    if head.size != <uint64_t>len(mapped) or head.crc32 != zlib.crc32(memoryview(mapped)[sizeof(Head):]):
        raise ValueError(f"{path} is a damaged language table: its head gives another size or checksum")
    return mapped
