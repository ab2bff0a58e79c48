"""Words of many scripts, as a client types them, and the words that a bucket has to show."""

from typing import NamedTuple

from sonicpy import Index
from tests.index.shorthand import B, C, found


class Living(NamedTuple):
    """A word as it is pushed, a beginning of it, the word with one mistake, and the word as lists show it."""

    script: str
    pushed: str
    prefix: str
    misspelt: str
    shown: str


WORDS = [
    Living("Latin", "Valérianes", "valé", "valérinaes", "valérianes"),
    Living("German", "Straßenbahn", "STRASS", "strassenbhan", "strassenbahn"),
    Living("Cyrillic", "Здравствуйте", "здрав", "здраствуйте", "здравствуйте"),
    Living("Greek", "Καλημέρα", "καλη", "καλιμέρα", "καλημέρα"),
    Living("Greek, final sigma", "κόσμος", "κόσ", "κόσνος", "κόσμοσ"),
    Living("Vietnamese, composed", "ng\u01b0\u1eddi", "ng\u01b0", "ng\u01b0\u1edbi", "ng\u01b0\u1eddi"),
    Living("Vietnamese, marks", "ngu\u031bo\u031b\u0300i", "ngu\u031b", "ngu\u031bo\u031b\u0301i", "ng\u01b0\u1eddi"),
    Living("Hangul", "서울특별시", "서울", "서울특벌시", "서울특별시"),
    Living("Thai", "สวัสดีครับ", "สวัส", "สวัสดิครับ", "สวัสดีครับ"),
    Living("Devanagari", "नमस्ते", "नम", "नमस्तो", "नमस्ते"),
    Living("Bengali", "বাংলাদেশ", "বাংলা", "বাংলাদেস", "বাংলাদেশ"),
    Living("Tamil", "வணக்கம்", "வண", "வனக்கம்", "வணக்கம்"),
    Living("Arabic", "السلام", "السل", "السلاة", "السلام"),
    Living("Hebrew", "שלום", "של", "שלוס", "שלום"),
    Living("Armenian", "Բարեկամ", "բարե", "բարեկան", "բարեկամ"),
    Living("Georgian", "გამარჯობა", "გამა", "გამარჯოვა", "გამარჯობა"),
    Living("Ethiopic", "ሰላምታዎች", "ሰላም", "ሰላምታዎሽ", "ሰላምታዎች"),
    Living("Khmer", "ភាសាខ្មែរ", "ភាសា", "ភាសាខ្មេរ", "ភាសាខ្មែរ"),
    Living("40 bytes", "я" * 20, "я" * 19, "я" * 18 + "ю" + "я", "я" * 20),
]  # fmt: skip


def check_living(index: Index, word: Living, oid: str) -> None:
    """Check that one object holds the only word of the bucket."""
    assert index.words(C, B) == [word.shown]
    assert (index.count_words(C, B), index.count_object_words(C, B, oid), index.count_buckets(C)) == (1, 1, 1)
    for typed in (word.pushed, word.prefix, word.misspelt):
        assert index.suggest(C, B, typed) == [word.shown], typed
        assert found(index, typed) == [oid], typed


def check_gone(index: Index, word: Living, oid: str) -> None:
    """Check that no trace of a word is left."""
    assert index.words(C, B) == []
    assert (index.count_words(C, B), index.count_object_words(C, B, oid), index.count_buckets(C)) == (0, 0, 0)
    for typed in (word.pushed, word.prefix, word.misspelt):
        assert index.suggest(C, B, typed) == [], typed
        assert found(index, typed) == [], typed
