"""Texts with a known language, and the share of them for which the guesser must be right."""

import random
from pathlib import Path

from sonicpy.evaluation.language_scores import LanguageText
from sonicpy.lexer.languages import by_code

SEED = 20
ACCURACY_MIN = {20: 0.78, 60: 0.94, 200: 0.98}
"""Bytes of a text -> the smallest share of right guesses."""
CHAT_LINES = 20_000


def sentences(path: Path) -> list[LanguageText]:
    """Return the sentences of the data set that are in a supported language."""
    rows = (line.split("\t", 3) for line in path.read_text(encoding="utf-8").splitlines())
    return [(code, text) for code, _, _, text in rows if code in by_code]


def chat_lines(path: Path, source: str) -> list[LanguageText]:
    """Return random lines of the chat from `source`, of at least 20 bytes each, as texts in English."""
    rows = (line.split("\t", 2) for line in path.read_text(encoding="utf-8").splitlines())
    lines = [text for _, name, text in rows if name == source and len(text.encode()) >= 20]
    return [("eng", text) for text in random.Random(SEED).sample(lines, CHAT_LINES)]
