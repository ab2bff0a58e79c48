"""The words of the objects of a scenario, and texts made of these words."""

import re
import tomllib
from collections import defaultdict
from functools import cache

from sonicpy.config import Config
from sonicpy.lexer.languages import LANGUAGES
from sonicpy.lexer.lexer import Lexer
from tests.differential.scenario import INGEST, PROFILES, TEXT, TOGETHER, Step

LANG = re.compile(rb"LANG\((none|(?!xxx)\w{3})\)")
ESCAPED = re.compile(r"\\([n\"])")
WHITE_SPACE = re.compile(r"\s+")
"""White space, which the server reads as one blank."""
NO_LANGUAGE = b" LANG(none)"
NO_STEMS = "tha"
"""A language in which neither server stems a word."""
ACCEPTED = re.compile(rb"\s*(LANG\((none|(?!xxx)\w{3})\)\s*)*")
"""The arguments that may follow the text of a PUSH; a line with other arguments is refused."""

KEEP_STOP_WORDS = 'stopwords.mode = "weigh"'

FLUSHES = {b"FLUSHC": 1, b"FLUSHB": 2, b"FLUSHO": 3}
"""Command -> its number of names."""

Words = dict[tuple[bytes, bytes], set[bytes]]


@cache
def lexer_of(profile: str, *more: str) -> Lexer:
    """Return the lexer of compat mode, with more lines of settings."""
    lines = ['server.compat = "sonic"', *more, *(f"{key} = {value}" for key, value in PROFILES[profile].items())]
    config = Config.model_validate(tomllib.loads("\n".join(lines)))
    return Lexer(config.normalization, config.tokenization, config.stopwords, compat=True)


def words_of(line: re.Match[bytes], profile: str) -> list[bytes]:
    """Return the words of a PUSH, in the order of its text."""
    lang = LANG.search(line["meta"])
    return lexer_of(profile).lex_push(text_of(line), lang[1].decode() if lang else None).words


def with_words(line: re.Match[bytes], words: list[bytes], profile: str) -> bytes | None:
    """Return a PUSH of only some words; None: no text has exactly these words."""
    text = line["head"] + b'"' + b" ".join(words) + b'"' + NO_LANGUAGE
    again = TEXT.match(text)
    return text if again is not None and words_of(again, profile) == words else None


def text_of(line: re.Match[bytes]) -> str:
    """Return the text of a line as the server reads it."""
    blank = " ".join(WHITE_SPACE.split(line["text"].decode("utf-8", "replace")))
    return ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], blank)


class Held:
    """The words that each object holds.

    Args:
        profile: the configuration, which defines the words of a text.
    """

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._words: Words = defaultdict(set)

    def take(self, step: Step) -> set[bytes]:
        """Apply the changes of a step; return those words of a PUSH that its object holds already."""
        repeated: set[bytes] = set()
        if not step.connection.startswith((INGEST, TOGETHER)):
            return repeated
        for sent in step.line.split(b"\n"):
            command, *names = sent.split(b" ")
            line = TEXT.match(sent)
            if line is not None and len(line["head"].split()) > 3 and ACCEPTED.fullmatch(line["meta"]):
                held = self._words[names[1], names[2]]
                if command == b"PUSH":
                    words = set(words_of(line, self._profile))
                    repeated |= words & held
                    held |= words
                elif command == b"POP":
                    held -= self.popped(line)[1]
            elif FLUSHES.get(command) == len(names):
                self._flush(tuple(names[1:]))
        return repeated

    def popped(self, line: re.Match[bytes]) -> tuple[set[bytes], set[bytes]]:
        """Return the words that Sonic's POP removes from the object, and those that the POP of sonicpy removes."""
        lexer, text = lexer_of(self._profile), text_of(line)
        names = line["head"].split()
        held = self._words[names[2], names[3]]
        return held & set(lexer.lex_plain(text).words), held & set(lexer.lex_every_way(text))

    def popped_if(self, line: re.Match[bytes]) -> list[set[bytes]]:
        """Return the words that Sonic's POP removes from the object, for each language whose stems it may take."""
        lexer, text = lexer_of(self._profile, KEEP_STOP_WORDS), text_of(line)
        names = line["head"].split()
        held = self._words[names[2], names[3]]
        stemmed = [language.code for language in LANGUAGES if language.stemmer]
        return [held & set(lexer.lex(text, code).words) for code in (*stemmed, NO_STEMS)]

    def words(self, bucket: bytes, oid: bytes) -> set[bytes]:
        """Return the words that an object holds."""
        return self._words.get((bucket, oid), set())

    def _flush(self, names: tuple[bytes, ...]) -> None:
        """Forget the words of an object, of a bucket, or of all objects."""
        for scope in [scope for scope in self._words if scope[: len(names)] == names]:
            del self._words[scope]
