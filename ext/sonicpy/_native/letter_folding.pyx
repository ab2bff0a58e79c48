"""Letters without their marks: a table from characters to their replacements in a folded word."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free

from sonicpy._native.memory cimport zeroed
from sonicpy._native.utf8 cimport encode


cdef class Folding:
    """A table that folds letters.

    Args:
        letters: characters beyond ASCII, each with its replacement of none to three characters.

    Raises:
        ValueError: a character is ASCII, a replacement has more than three characters, or there are more than 65,535
            different ones.
    """

    def __init__(self, dict letters not None):
        cdef uint32_t point, page, used = 1
        cdef uint32_t number = 1, place
        cdef uint8_t spelled[4]
        cdef set pages = {ord(letter) >> 8 for letter in letters}
        if len(pages) > 250 or len(letters) > 65_535:
            raise ValueError(f"{len(letters)} letters on {len(pages)} pages are too many; allowed are 65,535 on 250")
        self._letters = {ord(letter): plain for letter, plain in letters.items()}
        self.numbers = <uint16_t *> zeroed((len(pages) + 1) * 256, sizeof(uint16_t))
        self.folded = <Folded *> zeroed(len(letters) + 1, sizeof(Folded))
        for letter, plain in letters.items():
            point = ord(letter)
            if point < 0x80 or len(plain) > FOLDED_MAX:
                raise ValueError(f"{plain!r} cannot stand for {letter!r}: allowed are none to three for one beyond ASCII")
            page = self.pages[point >> 8]
            if not page:
                page = self.pages[point >> 8] = used
                used += 1
            self.numbers[page << 8 | point & 0xFF] = number
            self.folded[number].count = len(plain)
            for place in range(len(plain)):
                self.folded[number].points[place] = ord(plain[place])
            number += 1
            encode(spelled, point)
            self.leads[spelled[0]] = True
            self.seconds[spelled[0] << 6 | spelled[1] & 0x3F] = True

    def __dealloc__(self):
        free(self.numbers)
        free(self.folded)

    def fold(self, str word not None) -> str:
        """Return a word with its letters replaced."""
        return word if word.isascii() else word.translate(self._letters)
