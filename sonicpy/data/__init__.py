"""Read-only tables that the build packs here: language profiles and stop words (see ext/tables/)."""

from pathlib import Path

FOLDER = Path(__file__).parent
LANGUAGE_PROFILES = FOLDER / "languages.bin"
STOP_WORDS = FOLDER / "stopwords.marisa"
SIMPLIFIED = FOLDER / "simplified.bin"
LANGUAGE_WORDS = FOLDER / "language_words.marisa"
LANGUAGE_WORD_BITS = FOLDER / "language_words.bin"
CHINESE_WORDS = FOLDER / "chinese_words.bin"
