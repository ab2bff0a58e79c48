"""Finds the stems of a typed word, and the beginnings of the words of its family, for which walks look.

The tables of languages, and the letters that fold to others, belong to the layer above (`Languages` in the stub).
"""

from sonicpy._native.kin cimport Kin, Stem
from sonicpy._native.stem_ends cimport StemEnds

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)

cdef enum:
    CACHED = 10_000
    LETTERS_MIN = 2
    DOUBLED = 3

KIN_CACHED = CACHED
"""The most typed words whose stems are cached, about 1 KB each."""
FAMILY_LETTERS_MIN = LETTERS_MIN
"""The least number of letters of a word with a family: stems of one letter bring unrelated words together (o, oe,
oing)."""
DOUBLED_LETTERS = DOUBLED
"""The number of letters of the shortest Dutch stem with a doubled vowel."""

cdef object MISSING = object()


cdef class KinMaker:
    """Makes the common properties of the families of typed words, and caches them.

    Args:
        languages: the rules and tables of languages, see `_Languages` in the stub.
    """
    cdef object _fold, _unmarked, _folding, _script_of, _stemmers, _stem_ends, _rules, _elides, _scripts
    cdef dict _elided, _brought, _prefixes, _voiced
    cdef tuple _elided_anywhere, _articles
    cdef frozenset _light
    cdef Py_ssize_t _behind_min
    cdef str _zwnj
    cdef dict _made

    def __init__(self, languages not None, rules not None):
        self._fold, self._unmarked, self._folding = languages.fold, languages.unmarked, languages.folding
        self._script_of, self._scripts = languages.script_of, languages.SCRIPTS_WITH_MARKS
        self._stemmers, self._stem_ends, self._rules = languages.stemmers, languages.stem_ends, rules
        self._elided, self._elided_anywhere = languages.ELIDED, languages.ELIDED_ANYWHERE
        self._elides, self._articles = languages.ELIDES, languages.ARTICLES
        self._brought, self._prefixes, self._voiced = languages.MARKS_OF_FORMS, languages.PREFIXES, languages.VOICED
        self._light, self._behind_min = frozenset(languages.ENDINGS), languages.BEHIND_MIN
        self._zwnj = languages.ZWNJ
        self._made = {}

    def of(self, str word not None, tuple names not None, str own):
        """Return the common properties of the family of a word; None: the word has no family.

        Args:
            names: the names of the stemmers.
            own: letters that stay unchanged; None: all letters and marks stay.
        """
        cdef tuple key = (word, names, own)
        cdef dict made = self._made
        kin = made.get(key, MISSING)
        if kin is not MISSING:
            return kin
        kin = self.make(word, names, own)
        if len(made) >= CACHED:
            made.clear()
        made[key] = kin
        return kin

    cdef Kin make(self, str whole, tuple names, str own):
        cdef str script = "LATIN" if PyUnicode_IS_ASCII(whole) else self._script_of(whole), text, folded, kept, start
        cdef tuple before
        if not names and script not in self._scripts:
            return None
        before = self.before(names, script)
        text = self.core_of(whole, before)
        folded = self.fold(text, own)
        if len(folded) < (1 if script == "HANGUL" else LETTERS_MIN):
            return None
        if len(folded) < self._behind_min or (before is not self._articles and folded[0] not in self._elides):
            before = ()
        kept = own
        if own:
            kept = "".join([letter for letter in own if not self.is_brought(letter, names)])
        start = self.fold(text, kept)
        return Kin(
            folded, own, tuple([self.stem_of(text, start, own, name, before) for name in names]), kept, before,
            patterns_of([folded], before), self._folding(own), self._folding(kept), self._rules,
        )

    cdef inline str fold(self, str word, str own):
        return word if PyUnicode_IS_ASCII(word) else self._fold(word, own)

    cdef bint is_brought(self, letter, tuple names) except -1:
        """Return whether inflection produces a letter in the language of one of the stemmers."""
        for name in names:
            marks = self._brought.get(name)
            if marks is not None and letter in marks:
                return True
        return False

    cdef tuple before(self, tuple names, str script):
        """Return the strings that may come before a word in a script, in the languages of the stemmers with these
        names."""
        cdef tuple found = None
        cdef Py_ssize_t count = 0
        if script == "ARABIC":
            return self._articles
        for name in names:
            elided = self._elided.get(name)
            if elided is not None:
                found = elided
                count += 1
        if count == 0:
            return ()
        return found if count == 1 and len(names) == 1 else self._elided_anywhere

    def core(self, str word not None, tuple before not None) -> str:
        """Return a word in the form for a stemmer: with straight apostrophes, without points and without an elided
        word.

        The result keeps the sign that separates the parts of Persian words: the stemmer needs this sign.
        """
        return self.core_of(word, before)

    cdef str core_of(self, str word, tuple before):
        cdef str plain = word if PyUnicode_IS_ASCII(word) else self._unmarked(word, self._zwnj), behind
        if not before or not plain.startswith(before):
            return plain
        behind = plain[max([len(each) for each in before if plain.startswith(each)]) :]
        if len(behind) < self._behind_min:
            return plain
        if before is not self._articles and self.fold(behind[0], "")[:1] not in self._elides:
            return plain
        return behind

    cdef Stem stem_of(self, str text, str start, str own, str algorithm, tuple before):
        """Return the stem of a word by one stemmer, with the patterns of the words that may have this stem.

        Args:
            start: the word, folded as those that are compared with it are.
            own: as in `of`.
            algorithm: the name of the stemmer.
            before: the strings that may come before a word.
        """
        stem_words = self._stemmers[algorithm]
        cdef str stem = self.fold(stem_words([text])[0], own)
        cdef StemEnds ends = None
        if PyUnicode_IS_ASCII(start) and PyUnicode_IS_ASCII(stem) and stem and start.isalpha():
            ends = self._stem_ends(algorithm, stem)
            if ends is not None and not ends.may_have([start], stem):
                ends = None
        return Stem(
            algorithm, stem_words, stem, patterns_of(self.beginnings(start, stem, algorithm), before), start, ends,
            patterns_of(self.ends_of(stem), before),
        )

    cdef list beginnings(self, str start, str stem, str algorithm):
        """Return the beginnings of the words of a stem: letters of the typed word, also behind a prefix."""
        cdef str beginning = self.beginning(stem, algorithm), shared
        cdef tuple prefixes = self._prefixes.get(algorithm, ())
        cdef list found
        if not prefixes and algorithm != "dutch":
            return [shared_of(start, beginning)]
        found = [start]
        found += [start[len(prefix) :] for prefix, _ in prefixes if start.startswith(prefix)]
        shared = max([shared_of(each, beginning) for each in found], key=beginning.startswith)
        found = [shared]
        if algorithm == "dutch" and len(stem) == DOUBLED and is_doubled(stem):  # two vowels, or one (een, enige)
            found += [stem, stem[: len(stem) - 2] + stem[len(stem) - 1]]
        return found + [prefix + (shared[1:] if shared[0] in lost else shared) for prefix, lost in prefixes]

    cdef str beginning(self, str stem, str algorithm):
        """Return the common beginning of the words of a stem.

        The last letter of a stem may differ from that of its words (carri, use; in Dutch huis, huizen), and Dutch writes
        two vowels for one (maan, manen). Light stemmers also change it in short words.
        """
        cdef Py_ssize_t size = len(stem)
        if size > 2 and algorithm in self._light:
            return stem[: size - 1]
        if algorithm == "dutch" and size > DOUBLED and is_doubled(stem):
            return stem[: size - 2]
        if algorithm == "dutch" and size > 2 and stem[size - 1] in self._voiced:
            return stem[: size - 1]
        return stem[: size - 1] if size > 4 or (size > 2 and stem[size - 1] in "eiy") else stem

    cdef list ends_of(self, str stem):
        """Return the beginnings of most words of a short stem, because too many words begin with the stem itself."""
        cdef Py_ssize_t size = len(stem)
        cdef list ends = [stem]
        if size and stem[size - 1] in "iy":
            return [stem[: size - 1] + "i", stem[: size - 1] + "y"]
        if is_doubled(stem):
            ends.append(stem[: size - 2] + stem[size - 1])
        return ends + self.unvoiced(ends)

    cdef list unvoiced(self, list ends):
        """Return the ends whose last letter changes before an ending, with this letter changed."""
        cdef list found = []
        cdef str each
        for each in ends:
            if each and each[len(each) - 1] in self._voiced:
                found.append(each[: len(each) - 1] + self._voiced[each[len(each) - 1]])
        return found


cdef bint is_doubled(str stem) except -1:
    cdef Py_ssize_t size = len(stem)
    return size >= DOUBLED and stem[size - 3] == stem[size - 2] and stem[size - 2] in "aeou" and stem[size - 1] not in "aeiou"


cdef str shared_of(str one, str other):
    """Return the common beginning of two words, at least the first two letters of `one`."""
    cdef Py_ssize_t length = 0, most = min(len(one), len(other))
    if len(other) > 1 and one.startswith(other):
        return other
    while length < most and one[length] == other[length]:
        length += 1
    return one[: max(length, 2)]


def patterns(beginnings not None, tuple before not None) -> list:
    """Return beginnings in UTF-8, and these beginnings behind each string that may come before a word."""
    return patterns_of(beginnings, before)


cdef list patterns_of(beginnings, tuple before):
    if not before:
        return [(<str?> each).encode() for each in beginnings]
    return [(first + each).encode() for each in beginnings for first in ("", *before)]
