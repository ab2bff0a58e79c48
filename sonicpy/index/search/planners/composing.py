"""Words of Hangul whose last syllable is still being composed by an input method.

A word passes through others while it is typed: hak-kyo is hak with a consonant behind it, seo-ul is seo-u, and keo-pi
is keop before its last vowel moves the consonant to a new syllable.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sonicpy.lexer.endings import HANGUL_FINALS, HANGUL_FIRST, HANGUL_LAST

JAMO_FIRST, WITH_INITIAL = 0x1100, 588
"""The first consonant that begins a syllable, and the number of syllables with the same first consonant."""
INITIALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
"""The consonants that begin a syllable, in the order of Unicode."""
FINALS = [
    "",
    *"ㄱ ㄲ ㄱㅅ ㄴ ㄴㅈ ㄴㅎ ㄷ ㄹ ㄹㄱ ㄹㅁ ㄹㅂ ㄹㅅ ㄹㅌ".split(),
    *"ㄹㅍ ㄹㅎ ㅁ ㅂ ㅂㅅ ㅅ ㅆ ㅇ ㅈ ㅊ ㅋ ㅌ ㅍ ㅎ".split(),
]
"""The ends of syllables, in the order of Unicode: none, one consonant, or two."""


class Composed(NamedTuple):
    """Words that an unfinished word may become.

    Attributes:
        beginning: their beginning.
        syllables: the code points of the syllables that may follow it.
    """

    beginning: str
    syllables: Sequence[int]

    def starts(self) -> list[str]:
        """Return the letters with which they begin; an empty list: too many words begin so."""
        if self.beginning:
            return [self.beginning]
        return [chr(each) for each in self.syllables] if len(self.syllables) <= HANGUL_FINALS else []

    def holds(self, word: str) -> bool:
        """Return whether a word is one of them."""
        size = len(self.beginning)
        return word.startswith(self.beginning) and len(word) > size and ord(word[size]) in self.syllables


def composed_of(word: str) -> list[Composed]:
    """Return the words that a word may become by further letters of its last syllable; an empty list: it ends in no
    Hangul.
    """
    before, last = word[:-1], ord(word[-1])
    if 0 <= last - JAMO_FIRST < len(INITIALS):
        found = [Composed(before, _beginning_with(last - JAMO_FIRST))]
    elif HANGUL_FIRST <= last <= HANGUL_LAST:
        final = (last - HANGUL_FIRST) % HANGUL_FINALS
        if not final:
            found = [Composed(before, range(last, last + HANGUL_FINALS))]
        else:
            kept = FINALS.index(FINALS[final][:-1])
            moved = _beginning_with(INITIALS.index(FINALS[final][-1]))
            longer = [last - final + place for place, each in enumerate(FINALS) if each.startswith(FINALS[final])]
            found = [Composed(before + chr(last - final + kept), moved), Composed(before, longer)]
    else:
        found = []
    return found


def _beginning_with(initial: int) -> range:
    first = HANGUL_FIRST + initial * WITH_INITIAL
    return range(first, first + WITH_INITIAL)
