"""Compare the stop words of compat mode with Sonic's, language by language.

    SONIC_BIN=/path/to/sonic python -m tests.differential.stop_words [LANGUAGE ...]

It asks Sonic about each word of sonicpy's lists, and about the frequent words of the language if the file of these is
there, by PUSH, LANG and COUNTO. It prints the number of words that Sonic drops, and the words that only one of both
servers drops.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from sonicpy.lexer.languages import LANGUAGES
from sonicpy.lexer.stopwords import StopWords
from tests.differential.held import lexer_of
from tests.differential.scenario import INGEST, Scenario, Step
from tests.differential.servers import Player
from tests.support.paths import SHARED
from tests.support.server_process import find_sonic
from tests.support.texts import quoted

FREQUENT = SHARED / "words" / "freq_top2500_by_language.tsv"
TEXTS = SHARED / "multilingual" / "sentences.tsv"
PROFILE = "default"
SHOWN = 10
"""The most words of each kind that are printed."""


def main() -> int:
    """Print the table and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential.stop_words", description=__doc__.splitlines()[0]
    )
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help="its code (default: all)")
    arguments = parser.parse_args()
    sonic = find_sonic()
    if sonic is None:
        parser.error("Sonic is not installed: set SONIC_BIN to the path of its executable")
    found = words_by_language()
    codes = arguments.languages or [language.code for language in LANGUAGES]
    print(f"{'language':10}{'asked':>7}{'dropped':>9}{'only ours':>11}{'only Sonic':>12}")
    with tempfile.TemporaryDirectory() as folder, Player("Sonic", Path(folder, "s"), PROFILE, sonic) as player:
        for code in codes:
            asked = single_words(found[code])
            theirs = dropped_by(player, code, asked)
            if theirs is None:
                continue  # Sonic does not know the language
            ours = {word for word in asked if not lexer_of(PROFILE).lex_push(word, code).words}
            counts = f"{len(asked):7}{len(theirs):9}{len(ours - theirs):11}{len(theirs - ours):12}"
            print(f"{code:10}{counts}  {some(ours - theirs)} / {some(theirs - ours)}", flush=True)
    return 0


def some(words: set[str]) -> str:
    return " ".join(sorted(words)[:SHOWN]) or "-"


def words_by_language() -> dict[str, set[str]]:
    """Return, by language, the words to ask about: those of sonicpy's lists, frequent ones, and those of sentences."""
    found: dict[str, set[str]] = defaultdict(set)
    lists = StopWords()
    for language in LANGUAGES:
        code = language.code
        found[code] = {*lists.words(code), *lists.short_words(code), *lists.sonic_words(code)}
    if FREQUENT.exists():
        by_short_code = {language.stopwords: language.code for language in LANGUAGES if language.stopwords}
        for line in FREQUENT.read_text(encoding="utf-8").splitlines():
            short, word, _ = line.split("\t")
            found[by_short_code.get(short, short)].add(word)
    if TEXTS.exists():
        for line in TEXTS.read_text(encoding="utf-8").splitlines():
            code, _, _, text = line.split("\t")
            found[code].update(word.decode() for word in lexer_of(PROFILE).lex_push(text, "none").words)
    return found


def single_words(words: set[str]) -> list[str]:
    """Return the words that both servers take as one word if the text is in no language."""
    return sorted(word for word in words if lexer_of(PROFILE).lex_push(word, "none").words == [word.encode()])


def dropped_by(player: Player, code: str, words: list[str]) -> set[str] | None:
    """Return the words that a server does not store in a language; None: the server lacks the language."""
    steps = []
    for number, word in enumerate(words):
        steps.append(Step(f"{INGEST} 1", f"PUSH {{c}} b {number} {quoted(word)} LANG({code})".encode()))
        steps.append(Step(f"{INGEST} 1", f"COUNTO {{c}} b {number}".encode()))
    answers = player.play(Scenario(0, PROFILE, tuple(steps)))
    if any(answer.startswith(b"ERR") for answer in answers[::2]):
        return None
    return {word for word, count in zip(words, answers[1::2], strict=True) if count == b"RESULT 0\r\n"}


if __name__ == "__main__":
    sys.exit(main())
