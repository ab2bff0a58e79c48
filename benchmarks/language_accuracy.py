"""Share of texts whose language is guessed right, and the time of one guess.

    python benchmarks/language_accuracy.py [--langdetect]

Texts are cut from ../shared/data/multilingual/sentences.tsv at a place of chance (fixed seed): the whole characters
that make up at least 20, 60 or 200 bytes. Languages in three groups: those of langdetect's profiles and those that
their script decides, for which there are bars; those whose profile is borrowed; and lines of English chat.
With --langdetect every 20th text is also given to langdetect itself.
"""

import argparse
import random
from collections.abc import Callable
from pathlib import Path

from sonicpy.evaluation.languages import BORROWED, LENGTHS, Text, accuracy, cut_pieces, time_us
from sonicpy.lexer.language import LanguageGuesser
from sonicpy.lexer.languages import by_code
from sonicpy.lexer.stopwords import StopWords

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SEED = 20
BARS = {20: 0.78, 60: 0.94, 200: 0.98}
CHAT_LINES = 20_000
LANGDETECT_CODES = {
    "af": "afr", "ar": "ara", "bg": "bul", "bn": "ben", "ca": "cat", "cs": "ces", "cy": "cym", "da": "dan", "de": "deu",
    "el": "ell", "en": "eng", "es": "spa", "et": "est", "fa": "pes", "fi": "fin", "fr": "fra", "gu": "guj", "he": "heb",
    "hi": "hin", "hr": "hrv", "hu": "hun", "id": "ind", "it": "ita", "ja": "jpn", "kn": "kan", "ko": "kor", "lt": "lit",
    "lv": "lav", "mk": "mkd", "ml": "mal", "mr": "mar", "ne": "nep", "nl": "nld", "no": "nob", "pa": "pan", "pl": "pol",
    "pt": "por", "ro": "ron", "ru": "rus", "sk": "slk", "sl": "slv", "so": "som", "sv": "swe", "ta": "tam", "te": "tel",
    "th": "tha", "tl": "tgl", "tr": "tur", "uk": "ukr", "ur": "urd", "vi": "vie", "zh-cn": "cmn", "zh-tw": "cmn",
}  # fmt: skip


def sentences(path: Path) -> list[Text]:
    """Return every sentence of the data set in a language of the table."""
    rows = (line.split("\t", 3) for line in path.read_text(encoding="utf-8").splitlines())
    return [(code, text) for code, _, _, text in rows if code in by_code]


def chat_lines(path: Path, source: str) -> list[Text]:
    """Return lines of chance of the chat of `source` that are long enough to be guessed; all count as English."""
    rows = (line.split("\t", 2) for line in path.read_text(encoding="utf-8").splitlines())
    lines = [text for _, name, text in rows if name == source and len(text.encode()) >= 20]
    return [("eng", text) for text in random.Random(SEED).sample(lines, CHAT_LINES)]


def load_langdetect() -> Callable[[str], str | None]:
    """Return langdetect's own guess, with a fixed seed, in ISO 639-3."""
    import langdetect  # noqa: PLC0415 - only where it is asked for: it takes 50 MB

    langdetect.DetectorFactory.seed = SEED

    def guess(text: str) -> str | None:
        try:
            return LANGDETECT_CODES.get(langdetect.detect(text))
        except langdetect.LangDetectException:
            return None

    return guess


def main() -> None:
    """Print the shares and times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--langdetect", action="store_true", help="also ask langdetect (minutes)")
    theirs = load_langdetect() if parser.parse_args().langdetect else None
    guess = LanguageGuesser(StopWords()).guess
    texts = sentences(SHARED / "multilingual" / "sentences.tsv")
    for size_bytes in LENGTHS:
        pieces = cut_pieces(texts, size_bytes)
        usual = [piece for piece in pieces if piece[0] not in BORROWED]
        rare = [piece for piece in pieces if piece[0] in BORROWED]
        print(
            f"{size_bytes:4} bytes: {accuracy(guess, usual):6.1%} of {len(usual)} (bar {BARS[size_bytes]:.0%}),"
            f" borrowed profiles {accuracy(guess, rare):6.1%} of {len(rare)}, {time_us(guess, usual):.1f} us"
        )
        if theirs is not None:
            known = [piece for piece in usual[::20] if piece[0] in LANGDETECT_CODES.values()]
            print(
                f"            langdetect {accuracy(theirs, known):6.1%}, sonicpy {accuracy(guess, known):6.1%}"
                f" of the {len(known)} it knows"
            )
    for source, name in (("u", "Ubuntu IRC"), ("s", "customer service")):
        lines = chat_lines(SHARED / "messages" / "messages.tsv", source)
        print(f"{name}: {accuracy(guess, lines):6.1%} of {len(lines)} lines English, {time_us(guess, lines):.1f} us")


if __name__ == "__main__":
    main()
