"""Build-time only: finds the characters that the newer rules replace, or take as words, for the analyzer
(preparing.pxd).

Some characters are replaced before words are cut, so that `m²` is the word m2; emoji and some symbols are words.
Everything comes from Unicode: compatibility forms and values of digits from the `unicodedata` of the Python that
builds, pictographs from the properties that unicode.py collects.
"""

import unicodedata

EMOJI, SYMBOL, JOINER = b"\x01", b"\x02", b"\x03"
"""Marks in place of a replacement: the character is a word, is a hidden word, or joins the characters before it."""

ALPHANUMERIC, PICTOGRAPH, UNSPACED, CLASS = 1 << 5, 1 << 9, 1 << 13, 31
"""The bits of properties of characters, as in unicode.py."""

CUT_AS_BEFORE = "\u2120\u2122\u0e33\u0eb3"
"""Characters that are not replaced: trade marks, which do not belong to the word before them, and vowels of Thai and
Lao, which are in a word anyway."""
FULL_WIDTH_SIGNS = "＠＿－．＋／＃"
"""Full-width signs by which patterns and words are recognised, as by their ASCII forms."""
SEPARATORS = {0x066B: ".", 0x066C: ","}
"""Separator of Arabic numbers -> the same separator of other numbers."""
NOTHING = (
    *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x180B, 0x180C, 0x180D, 0x180F,  # variation selectors
    *range(0x1F3FB, 0x1F400),  # skin tones
    0x20E3,  # the key around a digit
    0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A),  # marks of direction
    0x2060, 0xFEFF,  # joiners of words
)  # fmt: skip
ZERO_WIDTH_JOINER = 0x200D
"""The character that, behind a consonant and a virama of Malayalam, makes them a chillu."""

HIDDEN_SYMBOLS = (
    (0x2190, 0x23FF), (0x2600, 0x27FF), (0x2900, 0x2BFF), (0x1D100, 0x1D1FF),
)  # fmt: skip
"""The ranges of symbols that are hidden words: arrows, mathematical and technical signs, dingbats, notes. Geometric
shapes and lines are decoration."""
NO_EMOJI = frozenset((0xA9, 0xAE, 0x2122, 0x203C, 0x2049, 0x2139, 0x3030, 0x303D))
PUNCTUATION = frozenset("−∕∖∗∙∣∶∼⋅⋆⋮⋯⋰⋱")
"""Mathematical signs that are written in place of a hyphen, a slash, a star, a colon or dots."""
BULLETS = (0x25A0, 0x25FF)


def ruled(properties: list[int], classes: list[str]) -> list[tuple[int, bytes]]:
    """Return pairs of a character and its replacement in UTF-8, or EMOJI, SYMBOL or JOINER, in the order of characters.

    Args:
        properties: the properties of every character, packed as in unicode.py.
        classes: the names of word break classes, by their number.
    """
    found: dict[int, bytes] = {}
    for point in range(0x80, len(properties)):
        symbol = _symbol(point, properties[point], classes)
        if symbol:
            found[point] = symbol
        else:
            char = chr(point)
            made = _form(char, properties)
            if made != char:
                found[point] = made.encode()
    found.update({point: char.encode() for point, char in SEPARATORS.items()})
    found.update(dict.fromkeys(NOTHING, b""))
    found[ZERO_WIDTH_JOINER] = JOINER
    return sorted(found.items())


def _form(char: str, properties: list[int]) -> str:
    """Return the replacement of a character before words are cut; most characters stay as they are."""
    category = unicodedata.category(char)
    if category in ("Cn", "Co", "Cs") or char in CUT_AS_BEFORE:
        return char
    if category == "Nd":
        return str(unicodedata.digit(char))
    form = unicodedata.normalize("NFKC", char)
    if char in FULL_WIDTH_SIGNS or "\uff21" <= char <= "\uff5a" and form.isalpha():
        return form
    if not _changes_words(char, form, properties):
        return char
    return form + " " if form[0].isdigit() and form[-1] in ".," else form


def _changes_words(char: str, form: str, properties: list[int]) -> bool:
    """Return whether the replacement of a character changes how words are cut. Fractions and circled numbers stay as
    they are."""
    if form == unicodedata.normalize("NFC", char) or unicodedata.decomposition(char).startswith("<fraction>"):
        return False
    if unicodedata.decomposition(char).startswith("<circle>") and form.isdigit():
        return False
    if properties[ord(char)] & ALPHANUMERIC and unicodedata.category(char)[0] == "L":
        return False
    return any(properties[ord(each)] & ALPHANUMERIC for each in form) and any(
        _shape(each, properties) != _shape(char, properties) for each in form
    )


def _shape(char: str, properties: list[int]) -> int:
    return properties[ord(char)] & (CLASS | ALPHANUMERIC | UNSPACED)


def _symbol(point: int, found: int, classes: list[str]) -> bytes:
    """Return EMOJI or SYMBOL for a character that is a word, else b""."""
    if found & ALPHANUMERIC or point in NO_EMOJI or unicodedata.normalize("NFKC", chr(point)) != chr(point):
        return b""
    if classes[found & CLASS] == "Regional_Indicator":
        return EMOJI
    is_arrow = 0x2190 <= point < 0x2200
    if found & PICTOGRAPH and not is_arrow:
        return SYMBOL if BULLETS[0] <= point <= BULLETS[1] else EMOJI
    if chr(point) in PUNCTUATION or unicodedata.category(chr(point)) not in ("So", "Sm"):
        return b""
    if any(a <= point <= b for a, b in HIDDEN_SYMBOLS):
        return SYMBOL
    return b""
