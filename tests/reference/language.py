"""Naive Bayes over the profiles of langdetect, with floats and dicts: the reference implementation of
sonicpy._native.language.
"""

import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from functools import cache
from importlib.metadata import files
from pathlib import Path

from sonicpy.lexer.languages import LANGUAGES
from sonicpy.lexer.stopwords import StopWords

SCRIPTS = Path(__file__).parents[2] / "ext" / "tables" / "unicode" / "Scripts.txt"

PROFILES = {
    "Latin": {
        **{"af": "afr", "ca": "cat", "cs": "ces", "cy": "cym", "da": "dan", "de": "deu", "en": "eng", "es": "spa"},
        **{"et": "est", "fi": "fin", "fr": "fra", "hr": "hrv", "hu": "hun", "id": "ind", "it": "ita", "lt": "lit"},
        **{"lv": "lav", "nl": "nld", "no": "nob", "pl": "pol", "pt": "por", "ro": "ron", "sk": "slk", "sl": "slv"},
        **{"so": "som", "sq": "sqi", "sv": "swe", "sw": "swa", "tl": "tgl", "tr": "tur", "vi": "vie"},
    },
    "Cyrillic": {"bg": "bul", "mk": "mkd", "ru": "rus", "uk": "ukr", "hr": "srp"},
    "Arabic": {"ar": "ara", "fa": "pes", "ur": "urd"},
    "Devanagari": {"hi": "hin", "mr": "mar", "ne": "nep"},
    "Hebrew": {"he": "heb"},
}
RELATIVES = {
    ("Latin", "aka"): ["swa"],
    ("Latin", "aze"): ["tur"],
    ("Latin", "epo"): ["ita", "spa", "lit", "slv"],
    ("Latin", "hau"): ["swa", "som"],
    ("Latin", "jav"): ["ind"],
    ("Latin", "kur"): ["tur"],
    ("Latin", "lat"): ["ita", "ron", "por", "cat"],
    ("Latin", "sna"): ["swa"],
    ("Latin", "tuk"): ["tur"],
    ("Latin", "uzb"): ["tur"],
    ("Latin", "yor"): ["vie", "swa"],
    ("Latin", "zul"): ["swa"],
    ("Cyrillic", "bel"): ["rus", "ukr"],
    ("Cyrillic", "uzb"): ["rus"],
    ("Arabic", "kur"): ["pes"],
    ("Hebrew", "yid"): ["heb"],
}
WORD_SHARE = 0.4
ENGLISH_WORD_SHARE = 0.1
SMOOTHING = 2e-5
PRIORS = {"eng": 6.0, "rus": 3.0, "srp": -4.0, "swa": -2.0, "sqi": -2.0}
BORROWED_PRIOR = -8.0
TWO_BYTE_SCRIPTS = {"Cyrillic", "Greek", "Armenian", "Hebrew", "Arabic", "Other"}
TO_CYRILLIC = {"lj": "љ", "nj": "њ", "dž": "џ"} | dict(
    zip("abcčćdđefghijklmnoprsštuvzž", "абцчћдђефгхијклмнопрсштувзж", strict=True)
)


def scores(text: str) -> dict[str, float]:
    """Return the score in nats of every language of the main script of `text`; empty if n-grams do not decide."""
    script = main_script(text)
    if script not in PROFILES:
        return {}
    table, totals = profiles(script)
    for word in words(text, script):
        for gram in grams(f" {word} "):
            for code, share in table.get(gram, {}).items():
                totals[code] += math.log1p(share / SMOOTHING)
    return totals


def only_language(text: str) -> str | None:
    """Return the language of the main script of `text`; None: that script has several languages."""
    script = main_script(text)
    if script == "Han":
        return "cmn"
    if script is None or script in PROFILES:
        return None
    return next((language.code for language in LANGUAGES if script in language.scripts), None)


def main_script(text: str) -> str | None:
    """Return the script with the most bytes, or None for a text without letters."""
    letters = Counter(script_of(char) for char in without_addresses(text))
    del letters[None], letters["Inherited"]
    cjk = letters.pop("Kana", 0) + letters.pop("Han", 0)
    kana = sum(script_of(char) == "Kana" for char in without_addresses(text))
    letters["Kana" if kana > cjk / 20 else "Han"] = cjk
    order = [*PROFILES, *sorted(letters.keys() - PROFILES.keys() - {"Other"}), "Other"]
    best = max(order, key=lambda script: letters[script] * letter_bytes(script))
    return best if letters[best] else None


def letter_bytes(script: str) -> int:
    """Return the weight of a letter of `script`."""
    return 1 if script == "Latin" else 2 if script in TWO_BYTE_SCRIPTS else 3


def without_addresses(text: str) -> str:
    """Return `text` without the ASCII parts of chunks that hold `@` or `://`."""
    chunks = []
    for chunk in re.split("([\t-\r \xa0\u3000])", text):
        kept = ""
        address = False
        for position, char in enumerate(chunk):
            address = address and char.isascii()
            if address:
                continue
            if char == "@" or chunk[max(0, position - 2) : position + 1] == "://":
                while kept and script_of(kept[-1]) in ("Latin", "Inherited", None):
                    kept = kept[:-1]
                address = True
            kept += char
        chunks.append(kept)
    return "".join(chunks)


def words(text: str, script: str) -> list[str]:
    """Return the folded words of `text` in letters of `script`; a letter in no profile becomes `?`."""
    spaced = ""
    for char in without_addresses(text):
        if script_of(char) == script:
            spaced += fold(char)
        elif script_of(char) != "Inherited":
            spaced += " "
    return spaced.split(" ")


def grams(word: str) -> list[str]:
    """Return all n-grams of one to three letters except blanks."""
    found = [word[start : start + order] for order in (1, 2, 3) for start in range(len(word) - order + 1)]
    return [gram for gram in found if gram.strip()]


def fold(char: str) -> str:
    """Return the letter in the form that the profiles have."""
    letters = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).lower())
    letter = letters[0] if all(map(unicodedata.combining, letters[1:])) else "?"
    if "\u1ea0" <= letter <= "\u1eff" and letter not in "ẹọ":
        return "\u1ec3"
    return {"ș": "ş", "ț": "ţ", "\u06cc": "\u064a"}.get(letter, letter)


@cache
def script_table() -> dict[str, str]:
    """Return the script of every letter."""
    named = {script for language in LANGUAGES for script in language.scripts}
    table = {}
    for line in SCRIPTS.read_text(encoding="utf-8").splitlines():
        row = re.match(r"(\w+)(?:\.\.(\w+))? *; (\w+)", line)
        if row and row[3] != "Common":
            script = "Kana" if row[3] in ("Hiragana", "Katakana") else row[3]
            for point in range(int(row[1], 16), int(row[2] or row[1], 16) + 1):
                table[chr(point)] = script if script in named | {"Inherited"} else "Other"
    return table


def script_of(char: str) -> str | None:
    """Return the script of a letter; Inherited for a mark on a letter; None for other characters."""
    return script_table().get(char)


def profiles(script: str) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Return n-gram -> language -> share, and language -> prior."""
    table, codes = _profiles(script)
    borrowed = {code for key, code in RELATIVES if key == script}
    return table, {code: PRIORS.get(code, BORROWED_PRIOR if code in borrowed else 0.0) for code in codes}


@cache
def _profiles(script: str) -> tuple[dict[str, dict[str, float]], list[str]]:
    table: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    codes = list(PROFILES[script].values())
    for key, code in PROFILES[script].items():
        profile = json.loads(_profile_path(key).read_text(encoding="utf-8"))
        for gram, count in profile["freq"].items():
            folded = "".join(" " if char == " " else fold(char) for char in gram)
            if code == "srp":
                for latin, letter in TO_CYRILLIC.items():
                    folded = folded.replace(latin, letter)
            if all(char == " " or script_of(char) == script for char in folded):
                table[folded][code] += count / profile["n_words"][len(folded) - 1]
    if script == "Latin":
        _mix(table, script, "eng", ["eng"], ENGLISH_WORD_SHARE)
    for (where, code), relatives in RELATIVES.items():
        if where == script:
            codes.append(code)
            _mix(table, script, code, relatives, WORD_SHARE)
    return {gram: dict(row) for gram, row in table.items()}, codes


def _mix(table: dict[str, dict[str, float]], script: str, code: str, relatives: list[str], word_share: float) -> None:
    for row in table.values():
        mean = sum(row.get(relative, 0.0) for relative in relatives) / len(relatives)
        if mean:
            row[code] = (1 - word_share) * mean
    for gram, share in _word_grams(script, code).items():
        table[gram][code] += word_share * share


def _word_grams(script: str, code: str) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for word in set(StopWords().guess_words(code)):
        for part in re.split("[-' \u2019\u02bb\u02bc]", word):
            folded = "".join(map(fold, part))
            if folded and all(script_of(char) == script for char in folded):
                counts.update(grams(f" {folded} "))
    by_order = Counter(len(gram) for gram in counts.elements())
    return {gram: count / by_order[len(gram)] for gram, count in counts.items()}


def _profile_path(key: str) -> Path:
    return next(Path(str(file.locate())) for file in files("langdetect") or () if file.parts[-2:] == ("profiles", key))
