"""The targets of fuzzing: the channel and the lexer, which accept any bytes. A target raises an exception if a promise
is broken.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from sonicpy import Config
from sonicpy._native.terms import Terms
from sonicpy.channel.commands import Mode
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.lexer.lexer import NO_LANGUAGE, Lexer
from tests.channel.conversations import GOLDEN, PASSWORD, execute
from tests.transcripts import replay

VERSION = "1.2.3"
STARTS = (b"", *(f"START {mode} {PASSWORD}\n".encode() for mode in Mode))
COUNT_MAX = 255
SEED_BYTES = 4_000
LANGS = (None, NO_LANGUAGE, "eng", "cmn", "jpn", "tur")

Target = Callable[[bytes], None]


def channel(fed: bytes) -> None:
    """Feed a session: the first byte chooses its mode, the second the division of the rest, on which the answers must
    not depend.
    """
    start = STARTS[fed[0] % len(STARTS)] if fed else b""
    size = 1 + fed[1] if len(fed) > 1 else 1
    stream = start + fed[2:]
    whole = answers([stream])
    assert whole == answers([stream[at : at + size] for at in range(0, len(stream), size)])
    text, ended = whole
    assert text == b"" or text.endswith(b"\r\n")
    for line in text.split(b"\r\n")[:-1]:
        assert b"\n" not in line and b"\r" not in line, line
        line.decode()
    assert not ended or b"STARTED " in text or text.split(b"\r\n")[-2].startswith(b"ENDED "), "before START it is said"


def answers(pieces: list[bytes]) -> tuple[bytes, bool]:
    """Return all answers, with hidden markers, and whether the session ended."""
    session = Session(VERSION, PASSWORD, Limits(), compat=False)
    out = []
    for piece in pieces:
        session.feed(piece)
        while (step := session.next()) is not None:
            out.append(step if isinstance(step, bytes) else without_marker(execute(step)))
    return b"".join(out), session.ended


def without_marker(reply: bytes) -> bytes:
    """Return a reply without its marker, which is random."""
    if not reply.startswith(b"PENDING "):
        return reply
    return reply.replace(reply[8:16], b"xxxxxxxx")


def lexer(fed: bytes) -> None:
    """Lex a text: the first byte chooses the settings, the second the language. Results must be equal twice, and within
    bounds.
    """
    number, language = (*fed[:2], 0, 0)[:2]
    text = fed[2:].decode("utf-8", "replace")
    lexing = lexers()[number % len(lexers())]
    lang = LANGS[language % len(LANGS)]
    once, again = lexing.lex(text, lang), lexing.lex(text, lang)
    assert parts(once) == parts(again)
    is_compat = lexing.analyser()["server.compat"] == "sonic"
    check_bounds(once, text, is_compat)
    check_bounds(lexing.lex_plain(text), text, is_compat)
    pushed = set(lexing.lex_every_way(text))
    if lang in (NO_LANGUAGE, "eng"):  # what POP looks for holds what PUSH may have stored
        assert set(once.words) <= pushed


def check_bounds(terms: Terms, text: str, is_compat: bool) -> None:
    """Raise unless every term is a word of UTF-8 that occurs once and is counted.

    Args:
        is_compat: whether a word may be a blank or hold one, as in Sonic.
    """
    size = len(text.encode())
    assert len(set(terms.words)) == len(terms.words) == len(terms.counts) == len(terms.flags)
    assert all(1 <= count <= COUNT_MAX for count in terms.counts)
    for word in terms.words:
        assert word
        word.decode()
        assert is_compat or not set(word) & set(b" \t\n\v\f\r"), "an EVENT could not hold it"
    assert len(terms.words) <= 4 * size + 4
    assert sum(map(len, terms.words)) <= 40 * size + 40, "foldings and pairs make a text longer, within bounds"


def parts(terms: Terms) -> tuple[list[bytes], bytes, bytes]:
    """Return all fields of terms that tests compare."""
    return list(terms.words), bytes(terms.counts), bytes(terms.flags)


@cache
def lexers() -> list[Lexer]:
    """Return a lexer for each set of settings with which the lexer works in another way."""
    given: list[dict[str, Any]] = [
        {},
        {"server": {"compat": "sonic"}},
        {"normalization": {"stemming_enabled": True, "diacritic_folding_enabled": True}},
        {"tokenization": {"detect_special_patterns": False}, "stopwords": {"mode": "drop"}},
        {"tokenization": {"compat_split_special_patterns": False}, "normalization": {"unicode_normalization": "nfc"}},
    ]
    made = []
    for settings in given:
        config = Config.model_validate(settings)
        compat = config.server.compat == "sonic"
        made.append(Lexer(config.normalization, config.tokenization, config.stopwords, compat=compat))
    return made


TARGETS: dict[str, Target] = {"channel": channel, "lexer": lexer}


def seeds() -> Iterator[bytes]:
    """Yield the bytes sent in the golden transcripts, scenario by scenario."""
    number = 0
    for path in sorted(GOLDEN.glob("*.txt")):
        for scenario in replay.parse(path).scenarios:
            sent = [f"{line}\n".encode() for step in scenario.steps for line in step.sends]
            sent += [replay.unescape(step.arg) for step in scenario.steps if step.kind == "send"]
            if sent:
                yield bytes([number % 256, 7 * number % 256]) + b"".join(sent)[:SEED_BYTES]
                number += 1
