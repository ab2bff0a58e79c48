"""The analyzer: text in, terms out. It finds patterns and words, folds them and counts the distinct ones.

The analyzer makes one pass over the UTF-8 of a text. Patterns (patterns.pxd) come first, the text between them is cut
at word borders (word_break.pxd), pieces are folded (folding.pxd) and gathered (terms.pyx). Pieces that need more than
one-to-one folding, which are rare, go through the function `normalize`. The time is linear in the length of any text.
"""

from unicodedata import is_normalized, normalize

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

cimport cython

from sonicpy._native.characters cimport (
    ALPHABETIC, ALPHANUMERIC, BYTE_KINDS, CAPITAL, IN_WORD, NO_ASCII, UNSPACED, properties, properties_at,
)
from sonicpy._native.folding cimport ascii_word_end, fold
from sonicpy._native.joints cimport JOINT, JOINTS_MAX, find_joints, normal_joints
from sonicpy._native.keys cimport TERM_KEY_BYTES
from sonicpy._native.patterns cimport PHONE, Match, Scan, begin_scan, next_match
from sonicpy._native.preparing cimport SYMBOL, prepared_text, ruled_kind
from sonicpy._native.signs cimport has_no_mark, opens, signed_end
from sonicpy._native.stop_set cimport StopSet
from sonicpy._native.terms cimport F_PART, F_SPECIAL, F_STOP, Collector, Terms, hash_bytes
from sonicpy._native.utf8 cimport decode
from sonicpy._native.word_break cimport letter_end, word_end

from sonicpy._native.parts import JOINT_MARK, parts_of

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

FRACTION_SLASH = "\u2044"  # in a half, whose numbers are hidden words

cdef enum:
    LONG_BYTES = 40  # a longer word may be missing in word graphs, which find words by their parts
    RUN_BYTES = 40  # a longer run without blanks is no word: only its parts are terms
    FORM_BYTES = 500  # a longer word is no stop word in another form; to sort its n marks would take n * n steps
    NEWER = 8  # the first rules that prepare texts
    F_TERM = F_SPECIAL | F_STOP | F_PART
    UNSTEMMED = 128  # only inside the analyzer: a piece of a run without blanks, which has no stem


@cython.final
cdef class Analyzer:
    """The rules of an analyzer for all languages; a BoundAnalyzer applies them.

    Args:
        normalize: str -> str, the whole normalisation of a piece, including case folding; its result is split at white
            space, unless `whole_pieces`. Called for pieces that need more than one-to-one folding, or, with
            `always_normalize`, for all.
        always_normalize: call `normalize` for every piece (diacritics are folded).
        composes: pieces that a Unicode normal form may change go through `normalize`.
        patterns: look for mail addresses, numbers and so on; their words are SPECIAL.
        split_patterns: cut patterns into words; otherwise a pattern is one term.
        fold_special: fold special words as others; otherwise they keep their letters as typed.
        at_borders: patterns begin and end at word borders (Sonic's do not).
        bigrams: a run of letters of scripts without blanks (Han, kana, Thai, Lao, Khmer, Burmese) is one word, any two
            neighbours in it are a term flagged PART, and each single letter is a term flagged STOP. Otherwise each
            letter is a word.
        words_of_run: str -> list of str, the words of a run by a dictionary. If it returns words, they replace the run.
        marks_are_words: a piece without a letter or number is a word if it holds an alphabetic mark, such as a vowel
            sign of Devanagari (as in Sonic).
        rules_special: the rules of the language also apply to special words (as in Sonic).
        whole_pieces: a piece is one word, even if its normal form contains blanks (as in Sonic).
        stops_in_any_form: a word is a stop word if its NFKC form is one (as in Sonic); the sets hold those forms.
        rules: 1: those of version 1.0. 8: emoji and some symbols are words; so are C++, C# and .NET, beside c and net.
        keeps_order: terms come with the order of the words.
        prepares: before words are cut, characters are replaced by the table of ext/tables/prepared.py.
    """

    cdef object _normalize, _words_of_run
    cdef Collector _spare  # empty, left by the text before; None while one is analyzed
    cdef bint _always_normalize, _composes, _patterns, _split_patterns, _fold_special, _at_borders, _bigrams
    cdef bint _marks_are_words, _rules_special, _whole_pieces, _stops_in_any_form, _is_newer, _prepares, _keeps_order

    def __init__(
        self, normalize, *, bint always_normalize=False, bint composes=True, bint patterns=True,
        bint split_patterns=True, bint fold_special=True, bint at_borders=True, bint bigrams=False, words_of_run=None,
        bint marks_are_words=False, bint rules_special=False, bint whole_pieces=False, bint stops_in_any_form=False,
        int rules=1, bint prepares=False, bint keeps_order=False,
    ):
        self._normalize = normalize
        self._always_normalize = always_normalize
        self._composes = composes
        self._patterns = patterns
        self._split_patterns = split_patterns
        self._fold_special = fold_special
        self._at_borders = at_borders
        self._bigrams = bigrams
        self._words_of_run = words_of_run
        self._marks_are_words = marks_are_words
        self._rules_special = rules_special
        self._whole_pieces = whole_pieces
        self._stops_in_any_form = stops_in_any_form
        self._is_newer = rules >= NEWER
        self._prepares, self._keeps_order = prepares, keeps_order


@cython.final
cdef class BoundAnalyzer:
    """An Analyzer with the rules of one language.

    Args:
        analyzer: the rules for all languages.
        stops: ordinary words in this set are left out (`drop_stops`) or flagged STOP; None: no stop words.
        stem: str -> str for ordinary words, called after stop words are found; None: no stemming.
        segment: str -> list of str that cuts a text instead of UAX #29; every piece is a word, blanks and signs, too
            (as in Sonic).
        joints: a word in camelCase gets an additional hidden term: its parts in small letters, byte 2 before each. The
            count of this term is 0, so that it adds nothing to the length of an object. Needs the newer rules.

    These rules apply to special words only with `rules_special`, and never to single letters of a run without blanks.
    """

    cdef Analyzer _analyzer
    cdef StopSet _stops
    cdef bint _drop_stops, _joints
    cdef object _stem, _segment

    def __cinit__(
        self, Analyzer analyzer not None, StopSet stops=None, bint drop_stops=False, stem=None, segment=None,
        bint joints=False,
    ):
        self._analyzer = analyzer
        self._stops = stops
        self._drop_stops = drop_stops
        self._stem = stem
        self._segment = segment
        self._joints = joints and analyzer._is_newer and stem is None

    def analyze(self, str text not None) -> Terms:
        """Return the distinct terms of `text`.

        Raises:
            UnicodeEncodeError: `text` holds a lone surrogate.
        """
        cdef Py_ssize_t size
        cdef const uint8_t *utf8 = <const uint8_t *> PyUnicode_AsUTF8AndSize(text, &size)
        cdef Analyzer analyzer = self._analyzer
        cdef Collector collector = analyzer._spare
        cdef Terms terms
        cdef bytes prepared
        if analyzer._prepares and size != len(text):
            prepared = prepared_text(utf8, size)
            if prepared is not None:
                utf8, size = <const uint8_t *> <const char *> prepared, len(prepared)
        analyzer._spare = None  # a callable may analyze another text meanwhile
        if collector is None:
            collector = Collector()
        collector._text = utf8
        collector._keeps_order = analyzer._keeps_order
        if analyzer._patterns:
            self.add_all(collector, utf8, size)
        else:
            self.add_words(collector, utf8, size, 0)
        terms = collector.finish(utf8 + size)
        if collector.is_small():
            collector.clear()
            analyzer._spare = collector
        return terms

    cdef int add_all(self, Collector terms, const uint8_t *text, Py_ssize_t size) except -1:
        """Add the patterns of the text and the words between them."""
        cdef Scan scan
        cdef Match match
        cdef Py_ssize_t plain = 0
        begin_scan(&scan, self._analyzer._at_borders, self._analyzer._bigrams, self._analyzer._is_newer)
        while next_match(text, size, &scan, &match):
            self.add_words(terms, text + plain, match.begin - plain, 0)
            self.add_pattern(terms, text + match.begin, &match)
            plain = match.end
        self.add_words(terms, text + plain, size - plain, 0)
        return 0

    cdef int add_pattern(self, Collector terms, const uint8_t *text, const Match *match) except -1:
        """Add the words of a match, or the match as one word."""
        cdef bint splits = self._analyzer._split_patterns
        cdef bytes digits
        if splits and match.kind == PHONE and self._analyzer._at_borders:
            return self.add_numbers(terms, text, match.end - match.begin)
        if splits and self.add_words(terms, text, match.end - match.begin, F_SPECIAL):
            return 0
        if not splits and match.kind == PHONE:
            digits = PyBytes_FromStringAndSize(<const char *> text, match.end - match.begin)
            digits = digits.translate(None, b" .-\t\n\v\f\r")
            terms._word_end = text + match.end - match.begin
            return self.add_piece(terms, <const uint8_t *> digits, len(digits), F_SPECIAL)
        terms._word_end = text + match.end - match.begin
        return self.add_piece(terms, text, match.core_end - match.begin, F_SPECIAL)

    cdef int add_numbers(self, Collector terms, const uint8_t *text, Py_ssize_t size) except -1:
        """Add each number between dots as a word: in the match `19.99 2024`, `19.99` is two words, as elsewhere."""
        cdef Py_ssize_t at, begin = 0
        for at in range(size + 1):
            if at == size or text[at] == c".":
                self.add_words(terms, text + begin, at - begin, F_SPECIAL)
                begin = at + 1
        return 0

    cdef int add_words(self, Collector terms, const uint8_t *text, Py_ssize_t size, uint8_t flags) except -1:
        """Add every piece of the text that has a letter or number; return the number of pieces."""
        cdef Py_ssize_t at = 0, end, piece_size, began = 0, behind = -1, dot = -1, last = 0
        cdef bint has_word
        cdef bint bigrams = self._analyzer._bigrams
        cdef bint folds = not self._analyzer._always_normalize and (
            self._analyzer._fold_special or not flags & F_SPECIAL
        )
        cdef bint newer = self._analyzer._is_newer
        cdef uint8_t kind
        cdef uint32_t hashed
        cdef int words = 0, width
        if self._segment is not None and size:
            for piece in self._segment(PyUnicode_DecodeUTF8(<const char *> text, size, NULL)):
                words += 1
                self.add_piece(terms, <const uint8_t *> PyUnicode_AsUTF8AndSize(piece, &piece_size), piece_size, flags)
            terms._word_end = text + size
            return words
        while at < size:
            kind = BYTE_KINDS[text[at]]
            if kind & IN_WORD and folds:
                end = ascii_word_end(text, size, at, terms.room(size - at), &hashed, &has_word)
                if end >= 0:
                    if has_word:
                        words += 1
                        self.add_hashed(terms, end - at, hashed, flags, end - at)
                        if has_word & CAPITAL and self._joints:
                            self.add_joints(terms, text + at, end - at, flags)
                        if end - at > LONG_BYTES and self._joints:
                            self.add_parts(terms, text + at, end - at)
                        if dot + 1 == at and dot >= 0 and end - at > 1:
                            self.add_beside(terms, text + dot, end - dot, flags)
                        began, behind, last = at, end, end
                    at = end
                    continue
            elif not kind & (IN_WORD | NO_ASCII) and has_no_mark(text, size, at + 1):
                # No word begins here, and no mark follows.
                if text[at] == c"." and newer:
                    if at == 0 and text == terms._text or at > 0 and opens(text, at):
                        dot = at
                elif (text[at] == c"+" or text[at] == c"#") and at == behind and newer:
                    end = signed_end(text, size, began, at)
                    if end > at:
                        self.add_beside(terms, text + began, end - began, flags)
                        at = behind = last = end
                        continue
                at += 1
                continue
            if bigrams and properties_at(text, size, at) & UNSPACED:
                at = self.add_run(terms, text, size, at, flags)
                words += 1
                last = at
                continue
            end = word_end(text, size, at, &has_word)
            if has_word or (self._analyzer._marks_are_words and holds(text, at, end, ALPHABETIC)):
                words += 1
                self.add_piece(terms, text + at, end - at, flags)
                if self._joints:
                    self.add_joints(terms, text + at, end - at, flags)
                    if end - at > LONG_BYTES:
                        self.add_parts(terms, text + at, end - at)
                if dot + 1 == at and dot >= 0:
                    self.add_beside(terms, text + dot, end - dot, flags)
                began, behind, last = at, end, end
            elif newer and text[at] >= 0x80:
                kind = <uint8_t> ruled_kind(decode(text, at, &width))
                if kind:
                    words += 1
                    self.add_piece(terms, text + at, end - at, flags | (F_STOP if kind == SYMBOL else 0))
                    last = end
            at = end
        if words:
            terms._word_end = text + last
        return words

    cdef int add_beside(self, Collector terms, const uint8_t *piece, Py_ssize_t size, uint8_t flags) except -1:
        """Add another form of the word before, at the place of that word."""
        terms._shares_place = True  # after an exception no text uses this collector
        self.add_piece(terms, piece, size, flags)
        terms._shares_place = False

    cdef int add_joints(self, Collector terms, const uint8_t *word, Py_ssize_t size, uint8_t flags) except -1:
        """Add the hidden term with the parts of a word, if the word is in camelCase."""
        cdef int32_t places[JOINTS_MAX + 1]
        cdef int count = find_joints(word, size, places), step
        cdef int32_t begin = 0, newest = terms._newest
        cdef Py_ssize_t written = 0, folded
        cdef uint8_t *out
        if count == 0:
            return 0
        places[count] = <int32_t> size
        out = terms.room(2 * size + count + 1)
        for step in range(count + 1):
            out[written] = JOINT
            written += 1
            folded = -1
            if not self._analyzer._always_normalize:
                folded = fold(word + begin, places[step] - begin, out + written, self._analyzer._composes)
            if folded < 0:
                return self.add_normal_joints(terms, word, size)
            written += folded
            begin = places[step]
        self.add_joint(terms, written, size)
        terms._newest = newest
        return 0

    cdef int add_normal_joints(self, Collector terms, const uint8_t *word, Py_ssize_t size) except -1:
        """Do the work of `add_joints` for a word that needs more than one-to-one folding."""
        cdef int32_t newest = terms._newest
        cdef bytes term = normal_joints(word, size, self._analyzer._normalize)
        memcpy(terms.room(len(term)), <const char *> term, len(term))
        self.add_joint(terms, len(term), size)
        terms._newest = newest
        return 0

    cdef int add_joint(self, Collector terms, Py_ssize_t size, Py_ssize_t typed) except -1:
        """Add the hidden term that was just written to the collector's room, with the count 0. The row of a longer term
        would not hold its joints."""
        if size > TERM_KEY_BYTES:
            return 0
        terms.add(size, F_PART, hash_bytes(terms._bytes + terms._used, size), <uint32_t> typed)
        terms._entries[terms._newest].count = 0
        return 0

    cdef int add_parts(self, Collector terms, const uint8_t *word, Py_ssize_t size) except -1:
        """Add the parts of a word that is too long for word graphs, as hidden terms with the count 0."""
        cdef int32_t newest = terms._newest
        cdef Py_ssize_t before
        cdef bytes part, normal = normal_joints(word, size, self._analyzer._normalize)
        for part in parts_of(normal) if len(normal) - normal.count(JOINT_MARK) > LONG_BYTES else ():
            before = terms._count
            memcpy(terms.room(len(part)), <const char *> part, len(part))
            terms.add(len(part), F_PART, hash_bytes(terms._bytes + terms._used, len(part)), <uint32_t> len(part))
            if terms._count > before:
                terms._entries[terms._newest].count = 0
            else:
                terms._entries[terms._newest].count -= 1
        terms._newest = newest
        return 0

    cdef int add_segment(self, Collector terms, str piece, uint8_t flags) except -1:
        """Add a piece from `words_of_run`, if it has a letter or number."""
        cdef Py_ssize_t size
        cdef const uint8_t *utf8 = <const uint8_t *> PyUnicode_AsUTF8AndSize(piece, &size)
        if holds(utf8, 0, size, ALPHANUMERIC):
            self.add_piece(terms, utf8, size, flags)
        return 0

    cdef Py_ssize_t add_run(
        self, Collector terms, const uint8_t *text, Py_ssize_t size, Py_ssize_t at, uint8_t flags
    ) except -1:
        """Add the run of letters without blanks that begins at `at`, its pairs and its letters; return its end.

        A run that needs more than one-to-one folding is first normalised as a whole: the spelling of a letter must
        affect neither the dictionary nor the border between two letters.
        """
        cdef Py_ssize_t first = at, part_size
        cdef const uint8_t *part_utf8
        cdef Analyzer analyzer = self._analyzer
        while at < size and properties_at(text, size, at) & UNSPACED:
            at = letter_end(text, size, at)
        if not analyzer._always_normalize and fold(text + first, at - first, terms.room(2 * (at - first)), True) >= 0:
            self.add_letters(terms, text + first, at - first, flags | UNSTEMMED)
            return at
        for part in analyzer._normalize(PyUnicode_DecodeUTF8(<const char *> text + first, at - first, NULL)).split():
            part_utf8 = <const uint8_t *> PyUnicode_AsUTF8AndSize(part, &part_size)
            self.add_letters(terms, part_utf8, part_size, flags | UNSTEMMED)
        return at

    cdef int add_letters(self, Collector terms, const uint8_t *run, Py_ssize_t size, uint8_t flags) except -1:
        """Add a run, or its words by a dictionary, then its pairs of letters and its letters."""
        cdef Py_ssize_t at = 0, letter, before = 0, letters = 0
        cdef int32_t newest
        while at < size:
            at = letter_end(run, size, at)
            letters += 1
        pieces = None
        if letters > 1 and self._analyzer._words_of_run is not None:
            pieces = self._analyzer._words_of_run(PyUnicode_DecodeUTF8(<const char *> run, size, NULL))
        terms._shares_place = letters > 1  # the places of a run are those of its letters
        if pieces:
            for piece in pieces:
                self.add_segment(terms, piece, flags)
        elif letters <= 2 or size <= RUN_BYTES:
            self.add_piece(terms, run, size, flags)
        else:
            terms._newest = -1
        terms._shares_place = False
        if letters == 1:
            return 0
        newest = terms._newest
        at = 0
        while at < size:
            letter = at
            at = letter_end(run, size, at)
            self.add_piece(terms, run + letter, at - letter, flags | F_STOP)
            if (letters > 2 or pieces) and letter > 0:
                self.add_piece(terms, run + before, at - before, flags | F_PART)
            before = letter
        terms._newest = newest
        return 0

    cdef int add_piece(self, Collector terms, const uint8_t *piece, Py_ssize_t size, uint8_t flags) except -1:
        """Fold a piece and add its words, usually one."""
        cdef Analyzer analyzer = self._analyzer
        cdef Py_ssize_t folded = -1
        cdef int32_t newest
        if flags & F_SPECIAL and not analyzer._fold_special:
            memcpy(terms.room(size), piece, size)
            return self.add_word(terms, size, flags, size)
        if not analyzer._always_normalize:
            folded = fold(piece, size, terms.room(2 * size), analyzer._composes)
        if folded >= 0:
            return self.add_word(terms, folded, flags, size)
        normal = analyzer._normalize(PyUnicode_DecodeUTF8(<const char *> piece, size, NULL))
        for part in (normal,) if analyzer._whole_pieces and normal else normal.split():
            self.add_word(terms, write_word(terms, part), flags, size)
        if analyzer._is_newer and FRACTION_SLASH in normal:
            newest = terms._newest
            for part in filter(None, normal.split(FRACTION_SLASH)):
                self.add_word(terms, write_word(terms, part), flags | F_PART, size)
            terms._newest = newest
        return 0

    cdef int add_word(self, Collector terms, Py_ssize_t size, uint8_t flags, Py_ssize_t typed) except -1:
        """Take the `size` bytes just written as a folded word; `typed` is its number of bytes before folding."""
        return self.add_hashed(terms, size, hash_bytes(terms._bytes + terms._used, size), flags, typed)

    cdef inline int add_hashed(
        self, Collector terms, Py_ssize_t size, uint32_t hashed, uint8_t flags, Py_ssize_t typed
    ) except -1:
        """Apply the rules of the language to a folded word and add the result."""
        if not flags & (F_SPECIAL | F_STOP) or (flags & F_SPECIAL and self._analyzer._rules_special):
            if self._stops is not None and (
                self._stops.holds(terms._bytes + terms._used, size, hashed)
                or (self._analyzer._stops_in_any_form and self.is_other_form(terms._bytes + terms._used, size))
            ):
                if self._drop_stops:
                    terms._newest = -1
                    return 0
                flags |= F_STOP
            if self._stem is not None and not flags & UNSTEMMED:
                size = write_word(
                    terms, self._stem(PyUnicode_DecodeUTF8(<const char *> terms._bytes + terms._used, size, NULL))
                )
                if size == 0:
                    terms._newest = -1
                    return 0
                hashed = hash_bytes(terms._bytes + terms._used, size)
        return terms.add(size, flags & F_TERM, hashed, <uint32_t> typed)

    cdef bint is_other_form(self, const uint8_t *word, Py_ssize_t size) except -1:
        """Return whether a word is not in NFKC, and its NFKC form is in the stop set."""
        cdef Py_ssize_t at
        cdef const uint8_t *utf8
        if size > FORM_BYTES:
            return False
        for at in range(size):
            if word[at] >= 0x80:
                break
        else:
            return False
        written = PyUnicode_DecodeUTF8(<const char *> word, size, NULL)
        if is_normalized("NFKC", written):
            return False
        composed = normalize("NFKC", written)
        utf8 = <const uint8_t *> PyUnicode_AsUTF8AndSize(composed, &size)
        return self._stops.holds(utf8, size, hash_bytes(utf8, size))


def prepared(str text not None) -> str:
    """Return a text in which characters are replaced by the newer rules, as is done before words are cut."""
    cdef Py_ssize_t size
    cdef const uint8_t *utf8 = <const uint8_t *> PyUnicode_AsUTF8AndSize(text, &size)
    cdef bytes changed = prepared_text(utf8, size)
    return text if changed is None else changed.decode()


cdef bint holds(const uint8_t *text, Py_ssize_t at, Py_ssize_t end, uint16_t wanted) noexcept:
    """Return whether a character between two places has one of the wanted properties."""
    cdef int width
    while at < end:
        if properties(decode(text, at, &width)) & wanted:
            return True
        at += width
    return False


cdef Py_ssize_t write_word(Collector terms, str word) except -1:
    """Write a word to the collector's room and return its number of bytes."""
    cdef Py_ssize_t size
    cdef const char *utf8 = PyUnicode_AsUTF8AndSize(word, &size)
    memcpy(terms.room(size), utf8, size)
    return size
