"""The table of languages: one row for each code that LANG accepts and a guess may return.

The codes are ISO 639-3: the 70 of Sonic and four of its first version (hau, kur, som, yor). Invariant: this file
imports nothing of sonicpy, because the build reads it before the package can be imported.
"""

from typing import NamedTuple


class Language(NamedTuple):
    """The data of one language for the lexer."""

    code: str
    """The code of ISO 639-3, in lower case."""
    name: str
    """The name in English."""
    stopwords: str | None
    """The ISO 639-1 key of its stop words in stopwords-iso or in ext/tables/; None: the language has no list."""
    stemmer: str | None
    """The name of its Snowball algorithm in PyStemmer; None: the lexer never stems its words."""
    scripts: tuple[str, ...]
    """The Unicode names of its scripts, the usual one first; Kana means Hiragana and Katakana."""


LATIN = ("Latin",)
CYRILLIC = ("Cyrillic",)

LANGUAGES = (
    Language("afr", "Afrikaans", "af", None, LATIN),
    Language("aka", "Akan", None, None, LATIN),
    Language("amh", "Amharic", None, None, ("Ethiopic",)),
    Language("ara", "Arabic", "ar", "arabic", ("Arabic",)),
    Language("aze", "Azerbaijani", "az", None, ("Latin", "Cyrillic")),
    Language("bel", "Belarusian", None, None, CYRILLIC),
    Language("ben", "Bengali", "bn", None, ("Bengali",)),
    Language("bul", "Bulgarian", "bg", None, CYRILLIC),
    Language("cat", "Catalan", "ca", "catalan", LATIN),
    Language("ces", "Czech", "cs", None, LATIN),
    Language("cmn", "Mandarin Chinese", "zh", None, ("Han",)),
    Language("cym", "Welsh", None, None, LATIN),
    Language("dan", "Danish", "da", "danish", LATIN),
    Language("deu", "German", "de", "german", LATIN),
    Language("ell", "Greek", "el", "greek", ("Greek",)),
    Language("eng", "English", "en", "english", LATIN),
    Language("epo", "Esperanto", "eo", "esperanto", LATIN),
    Language("est", "Estonian", "et", "estonian", LATIN),
    Language("fin", "Finnish", "fi", "finnish", LATIN),
    Language("fra", "French", "fr", "french", LATIN),
    Language("guj", "Gujarati", "gu", None, ("Gujarati",)),
    Language("hau", "Hausa", "ha", None, LATIN),
    Language("heb", "Hebrew", "he", None, ("Hebrew",)),
    Language("hin", "Hindi", "hi", "hindi", ("Devanagari",)),
    Language("hrv", "Croatian", "hr", None, LATIN),
    Language("hun", "Hungarian", "hu", "hungarian", LATIN),
    Language("hye", "Armenian", "hy", "armenian", ("Armenian",)),
    Language("ind", "Indonesian", "id", "indonesian", LATIN),
    Language("ita", "Italian", "it", "italian", LATIN),
    Language("jav", "Javanese", None, None, LATIN),
    Language("jpn", "Japanese", "ja", None, ("Kana", "Han")),
    Language("kan", "Kannada", None, None, ("Kannada",)),
    Language("kat", "Georgian", None, None, ("Georgian",)),
    Language("khm", "Khmer", "km", None, ("Khmer",)),
    Language("kor", "Korean", "ko", None, ("Hangul",)),
    Language("kur", "Kurdish", "ku", None, ("Arabic", "Latin")),
    Language("lat", "Latin", "la", None, LATIN),
    Language("lav", "Latvian", "lv", None, LATIN),
    Language("lit", "Lithuanian", "lt", "lithuanian", LATIN),
    Language("mal", "Malayalam", None, None, ("Malayalam",)),
    Language("mar", "Marathi", "mr", None, ("Devanagari",)),
    Language("mkd", "Macedonian", None, None, CYRILLIC),
    Language("mya", "Burmese", "my", None, ("Myanmar",)),
    Language("nep", "Nepali", "ne", "nepali", ("Devanagari",)),
    Language("nld", "Dutch", "nl", "dutch", LATIN),
    Language("nob", "Norwegian Bokmål", "no", "norwegian", LATIN),
    Language("ori", "Odia", None, None, ("Oriya",)),
    Language("pan", "Punjabi", "pa", None, ("Gurmukhi",)),
    Language("pes", "Persian", "fa", None, ("Arabic",)),
    Language("pol", "Polish", "pl", None, LATIN),
    Language("por", "Portuguese", "pt", "portuguese", LATIN),
    Language("ron", "Romanian", "ro", "romanian", LATIN),
    Language("rus", "Russian", "ru", "russian", CYRILLIC),
    Language("sin", "Sinhala", None, None, ("Sinhala",)),
    Language("slk", "Slovak", "sk", None, LATIN),
    Language("slv", "Slovene", "sl", None, LATIN),
    Language("sna", "Shona", None, None, LATIN),
    Language("som", "Somali", "so", None, LATIN),
    Language("spa", "Spanish", "es", "spanish", LATIN),
    Language("srp", "Serbian", None, "serbian", ("Cyrillic", "Latin")),
    Language("swe", "Swedish", "sv", "swedish", LATIN),
    Language("tam", "Tamil", "ta", "tamil", ("Tamil",)),
    Language("tel", "Telugu", None, None, ("Telugu",)),
    Language("tgl", "Tagalog", "tl", None, LATIN),
    Language("tha", "Thai", "th", None, ("Thai",)),
    Language("tuk", "Turkmen", None, None, ("Latin", "Cyrillic")),
    Language("tur", "Turkish", "tr", "turkish", LATIN),
    Language("ukr", "Ukrainian", "uk", None, CYRILLIC),
    Language("urd", "Urdu", "ur", None, ("Arabic",)),
    Language("uzb", "Uzbek", None, None, ("Latin", "Cyrillic")),
    Language("vie", "Vietnamese", "vi", None, LATIN),
    Language("yid", "Yiddish", "yi", "yiddish", ("Hebrew",)),
    Language("yor", "Yoruba", "yo", None, LATIN),
    Language("zul", "Zulu", "zu", None, LATIN),
)

by_code = {language.code: language for language in LANGUAGES}
