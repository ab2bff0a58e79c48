"""Families of words: the words that differ from a typed word only by accents, or that have its stem.

The sources of words, and the candidates for a stem, are described in word_walks.pyx. Words with other letters than
ASCII's, and words behind an elided one, are checked by the rules of a language, which belong to the layer above
(`Rules` in the stub).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeASCII
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp

cimport cython

from sonicpy._native.begun_words cimport BEGUN
from sonicpy._native.letter_folding cimport Folding
from sonicpy._native.stem_ends cimport StemEnds
from sonicpy._native.walked_words cimport has_only_letters
from sonicpy._native.word_walks cimport EDGES_MAX, walk_all

from sonicpy._native.parts import aliases_of, word_of

cdef enum:
    CANDIDATES = 512
    ALL = 100_000  # words of a walk without such a limit

CANDIDATES_MAX = CANDIDATES
"""The most words with the beginning of a stem that are compared with it: this limits the time for short words."""


@cython.final
@cython.no_gc  # no cycle begins here
cdef class Stem:
    """The stem of a typed word by one algorithm, and the patterns to find other words with it.

    Args:
        algorithm: the name of the stemmer.
        stem_words: the stemmer: a function that returns the stems of a list of words.
        folded: the stem, folded.
        beginnings: the beginning that the words of the stem share with the typed word, as patterns of walks.
        start: the typed word, folded as the beginnings are; used with `ends` if too many words have the beginnings.
        ends: the endings that a word of the letters a to z with this stem can have; None: any ending.
        ends_of_short: the beginnings of most words of a short stem, as patterns of walks.
    """

    def __init__(
        self, str algorithm not None, stem_words, str folded not None, list beginnings not None, str start not None,
        StemEnds ends, list ends_of_short not None,
    ):  # fmt: skip
        self.algorithm, self.stem_words, self.folded, self.beginnings = algorithm, stem_words, folded, beginnings
        self.start, self.ends, self.ends_of_short = start, ends, ends_of_short
        self._folded_bytes = folded.encode() if ends is not None else b""


@cython.final
@cython.no_gc  # no cycle begins here
cdef class Kin:
    """The common properties of the words of a family.

    Args:
        folded: the typed word, folded.
        own: letters that stay unchanged; None: all letters and marks stay.
        stems: the stems of the typed word.
        kept: letters that stay unchanged in beginnings: those of `own` that inflection does not produce.
        before: the strings that may come before a word of the family: elided words with their apostrophes, or articles.
        spelled: the patterns for words that differ from the typed word only by accents.
        own_folding, kept_folding: how `own` and `kept` fold the letters of words.
        rules: the rules for words that need more than a comparison of bytes.
    """

    def __init__(
        self, str folded not None, str own, tuple stems not None, str kept, tuple before not None,
        list spelled not None, Folding own_folding not None, Folding kept_folding not None, rules,
    ):  # fmt: skip
        self.folded, self.own, self.stems, self.kept, self.before, self.spelled = folded, own, stems, kept, before, spelled
        self._own_folding, self._kept_folding, self._rules = own_folding, kept_folding, rules
        self._part = [folded.encode() + b"\0"]


cdef inline dict found_by(list sources, list patterns, Folding folding, bint begins):
    return walk_all(sources, patterns, folding, 0, begins, True, False, False, b"", ALL, EDGES_MAX, None, b"")


cdef inline dict candidates(list sources, Kin kin, Stem stem, list patterns):
    """Return the first words that begin as a pattern does; joined words come as their aliases, which begin with a
    part.
    """
    return walk_all(
        sources, patterns, kin._kept_folding, 0, True, True, True, False, b"", CANDIDATES, EDGES_MAX, stem.ends,
        stem._folded_bytes,
    )


cdef inline bint has_byte(bytes word, int byte) noexcept:
    return memchr(PyBytes_AS_STRING(word), byte, PyBytes_GET_SIZE(word)) != NULL


cdef bint is_ascii(bytes word) noexcept:
    cdef const uint8_t *text = <const uint8_t *> PyBytes_AS_STRING(word)
    cdef Py_ssize_t at
    cdef uint8_t some = 0
    for at in range(PyBytes_GET_SIZE(word)):
        some |= text[at]
    return some < 0x80


cdef inline bint is_plain(bytes word) noexcept:
    return PyBytes_GET_SIZE(word) > 0 and has_only_letters(
        <const uint8_t *> PyBytes_AS_STRING(word), <int> PyBytes_GET_SIZE(word)
    )


cdef bint begins_word(bytes alias) noexcept:
    """Return whether the word of an alias begins with the part of the alias: the bytes 0 and 1 are then adjacent."""
    cdef const char *text = PyBytes_AS_STRING(alias)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(alias)
    cdef const char *end = <const char *> memchr(text, 0, size)
    return end != NULL and end + 1 < text + size and end[1] == 1


def spelled_words(list sources not None, Kin kin not None) -> set:
    """Return the words that differ from the typed one only by accents."""
    cdef set words = set()
    add_spelled(sources, kin, words)
    return words


cdef int add_spelled(list sources, Kin kin, set words) except -1:
    cdef bytes word
    for word in found_by(sources, kin.spelled, kin._own_folding, False):
        if has_byte(word, 0):
            word = word_of(word)
        if is_plain(word) or kin._rules.is_spelled(word.decode()):
            words.add(word)
    return 0


def drawn(list sources not None, Kin kin not None) -> set:
    """Return the words that differ from the typed one only by accents, and the words with one of its stems."""
    cdef set words = set()
    cdef Stem stem
    add_spelled(sources, kin, words)
    for stem in kin.stems:
        words |= all_forms(sources, kin, stem)
    return words


def forms_of(list sources not None, Kin kin not None, Stem stem not None) -> set:
    """Return the words that have a stem by its algorithm."""
    return all_forms(sources, kin, stem)


cdef set all_forms(list sources, Kin kin, Stem stem):
    cdef dict found = candidates(sources, kin, stem, stem.beginnings)
    if len(found) >= CANDIDATES:
        found |= candidates(sources, kin, stem, kin._rules.patterns(kin, (stem.start,)) + stem.ends_of_short)
    return of_stem(list(found), kin, stem)


cdef set of_stem(list found, Kin kin, Stem stem):
    """Return the found candidates that the algorithm of a stem reduces to this stem."""
    cdef set words = set()
    cdef list texts = []
    cdef bint has_alias = False
    cdef Py_ssize_t at, size
    cdef const char *part
    cdef bytes word
    if not found:
        return words
    if kin.before:
        return kin._rules.of_stem(found, kin, stem)
    for word in found:
        if not is_ascii(word):
            return kin._rules.of_stem(found, kin, stem)
        size = PyBytes_GET_SIZE(word)
        part = <const char *> memchr(PyBytes_AS_STRING(word), 0, size)
        if part != NULL:
            has_alias, size = True, part - PyBytes_AS_STRING(word)
        texts.append(PyUnicode_DecodeASCII(PyBytes_AS_STRING(word), size, NULL))
    at = 0
    for stemmed in stem.stem_words(texts):
        if stemmed == stem.folded:
            if not has_alias:
                words.add(found[at])
            elif kin._rules.is_spelled(texts[at]):
                words.add(word_of(found[at]))
        at += 1
    return words


def joined_words(list sources not None, list wholes not None, Kin kin not None, bytes typed not None) -> set:
    """Return the words that have a typed one, or a word of its family, as a part; but of `wholes`, those that begin
    with exactly the typed word only if they also have such a part elsewhere: see `PackedGraph.begun`.

    Args:
        sources: the sources of aliases: see parts.pyx.
        wholes: the sources of words, because there are no aliases for parts that begin a word.
    """
    cdef set words = {word_of(each) for each in found_by(sources, kin._part, kin._own_folding, True)}
    cdef Stem stem
    if wholes:
        add_begun(wholes, kin, typed, words)
    for stem in kin.stems:
        words |= joined_forms(sources, wholes, kin, stem)
    return words


cdef int add_begun(list wholes, Kin kin, bytes typed, set words) except -1:
    """Add the words with a first part that differs from the typed word only by accents; of words that begin with the
    typed bytes, graphs know by themselves.
    """
    cdef bytes word, alias
    for word in walk_all(
        wholes, [kin.folded.encode()], kin._own_folding, 0, True, True, False, True, typed, BEGUN, EDGES_MAX, None, b""
    ):
        if is_ascii(word) or not word.decode().isalpha():
            for alias in aliases_of(word):
                if begins_word(alias) and folds_to(kin, alias.partition(b"\0")[0]):
                    words.add(word)
                    break
    return 0


cdef inline bint folds_to(Kin kin, bytes part):
    """Return whether a part differs from the typed word only by accents."""
    return kin._rules.fold(part.decode(), kin.own) == kin.folded


cdef set joined_forms(list sources, list wholes, Kin kin, Stem stem):
    """Return the words with a part that has a stem by its algorithm.

    A part that begins a word must have the beginning of the stem: all words with this beginning are searched for such
    parts.
    """
    cdef list here = []
    cdef set begun = set()
    cdef bytes each, word
    for each in candidates(sources, kin, stem, stem.beginnings):
        if begins_word(each):
            begun.add(each)
        else:
            here.append(each)
    if wholes:
        for word in walk_all(
            wholes, stem.ends_of_short, kin._kept_folding, 0, True, True, False, True, b"", CANDIDATES, EDGES_MAX, None,
            b"",
        ):
            if is_ascii(word) or not word.decode().isalpha():  # the walk leaves out words of the letters a to z alone
                begun.update([each for each in aliases_of(word) if begins_word(each)])
    for each in begun:
        word = each if is_ascii(each) else kin._rules.fold(each.decode(), kin.kept).encode()
        if begins_with_some(word, stem.ends_of_short):
            here.append(each)
    return of_stem(here, kin, stem)


cdef bint begins_with_some(bytes word, list beginnings) except -1:
    cdef bytes beginning
    for beginning in beginnings:
        if PyBytes_GET_SIZE(word) >= PyBytes_GET_SIZE(beginning) and not memcmp(
            PyBytes_AS_STRING(word), PyBytes_AS_STRING(beginning), PyBytes_GET_SIZE(beginning)
        ):
            return True
    return False
