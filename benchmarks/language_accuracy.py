"""Print the share of texts whose language is guessed correctly, and the time of a guess.

    python -m benchmarks.language_accuracy [--langdetect]

Texts are parts of ../shared/data/multilingual/sentences.tsv of at least 20, 60 or 200 bytes, from a random place (fixed
seed) on. There are three groups: languages with a profile from langdetect or a script of their own, for which
ACCURACY_MIN applies; languages whose profile is made from related languages; and lines of English chat. With
--langdetect, langdetect guesses every 20th text too.
"""

import argparse
from collections.abc import Callable

from sonicpy.evaluation.language_scores import BORROWED, LENGTHS, accuracy, cut_pieces, time_us
from sonicpy.lexer.language import LanguageGuesser
from tests.support.language_samples import ACCURACY_MIN, SEED, chat_lines, sentences
from tests.support.paths import SHARED

LANGDETECT_CODES = {
    "af": "afr", "ar": "ara", "bg": "bul", "bn": "ben", "ca": "cat", "cs": "ces", "cy": "cym", "da": "dan", "de": "deu",
    "el": "ell", "en": "eng", "es": "spa", "et": "est", "fa": "pes", "fi": "fin", "fr": "fra", "gu": "guj", "he": "heb",
    "hi": "hin", "hr": "hrv", "hu": "hun", "id": "ind", "it": "ita", "ja": "jpn", "kn": "kan", "ko": "kor", "lt": "lit",
    "lv": "lav", "mk": "mkd", "ml": "mal", "mr": "mar", "ne": "nep", "nl": "nld", "no": "nob", "pa": "pan", "pl": "pol",
    "pt": "por", "ro": "ron", "ru": "rus", "sk": "slk", "sl": "slv", "so": "som", "sv": "swe", "ta": "tam", "te": "tel",
    "th": "tha", "tl": "tgl", "tr": "tur", "uk": "ukr", "ur": "urd", "vi": "vie", "zh-cn": "cmn", "zh-tw": "cmn",
}  # fmt: skip


def load_langdetect() -> Callable[[str], str | None]:
    """Return langdetect as a function from a text to an ISO 639-3 code, with a fixed seed."""
    import langdetect  # noqa: PLC0415 - only on request: it takes 50 MB

    langdetect.DetectorFactory.seed = SEED

    def guess(text: str) -> str | None:
        try:
            return LANGDETECT_CODES.get(langdetect.detect(text))
        except langdetect.LangDetectException:
            return None

    return guess


def main() -> None:
    """Print the shares and times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.language_accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--langdetect", action="store_true", help="also measure langdetect (takes minutes)")
    theirs = load_langdetect() if parser.parse_args().langdetect else None
    guess = LanguageGuesser().guess
    texts = sentences(SHARED / "multilingual" / "sentences.tsv")
    for size_bytes in LENGTHS:
        pieces = cut_pieces(texts, size_bytes)
        usual = [piece for piece in pieces if piece[0] not in BORROWED]
        rare = [piece for piece in pieces if piece[0] in BORROWED]
        wanted = f"at least {ACCURACY_MIN[size_bytes]:.0%}"
        print(
            f"{size_bytes:4} bytes: {accuracy(guess, usual):6.1%} of {len(usual)} ({wanted}),"
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
