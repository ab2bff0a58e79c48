"""Words with digits or signs that go on in longer ones: `os.path` in `os.path.join`, `iPhone15` before a particle.

The last word of a query is completed anyway; here, other words are, too, but only at a joint: a typed word is whole.
"""

from sonicpy._native.plan import Clause, add_joined
from sonicpy.index.search.statistics import Statistics
from sonicpy.lexer.endings import ENDINGS, HANGUL_FIRST, HANGUL_LAST

SIGNS = b"._:"
"""The signs behind which a word goes on."""
NOUNS = "나가", "나각"
"""A noun that ends with a vowel, and one that ends with a consonant: each particle can follow one of them."""


def stem_of(word: bytes) -> bytes:
    """Return a word with digits without the Korean particles behind it; other words as they are."""
    if word.isascii():
        return word
    text = word.decode()
    end = len(text)
    while end and HANGUL_FIRST <= ord(text[end - 1]) <= HANGUL_LAST:
        end -= 1
    if end in (0, len(text)) or not any(map(str.isdigit, text)):
        return word
    stems = ENDINGS["korean"].stem_words([noun + text[end:] for noun in NOUNS])
    return (text[:end] + min(stems, key=len)[len(NOUNS[0]) :]).encode()


def add_continued(statistics: Statistics, clause: Clause, *, is_last: bool) -> None:
    """Add to the clause of a word with digits or signs the words that go on behind it, and the word with other Korean
    particles.

    Args:
        is_last: the words that begin with the typed one are added elsewhere.
    """
    word = clause.slots[0].words[0]
    stem = stem_of(word)
    if stem.isdigit() or (is_last and stem == word):
        return
    found = {each: row for each, row, _ in statistics.beginnings(stem, 0) if goes_on(each, stem)}
    add_joined(clause, sorted(found), found, statistics.objects)


def goes_on(word: bytes, stem: bytes) -> bool:
    """Return whether a word is a stem, or has a joint behind it."""
    rest = word[len(stem) :]
    if not word.startswith(stem):
        return False
    if not rest or rest[0] in SIGNS:
        return True
    if not rest.isascii():
        return stem_of(word) == stem
    return stem[-1:].isdigit() and rest.isalpha()
