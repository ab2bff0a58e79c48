"""Lexing of texts into terms, with the errors that a caller gets; no store is needed."""

import unicodedata
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, TypeVar

from sonicpy._native.ids import are_names
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy.arguments import language_of, no_word, not_unicode, text_of
from sonicpy.ids import check_names
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.plan import without_last
from sonicpy.index.text_engine import TextEngine
from sonicpy.langcodes import NO_LANGUAGE
from sonicpy.late import late
from sonicpy.lexer.lexer import Lexer
from sonicpy.search import Search

if TYPE_CHECKING:
    from sonicpy.config import Config
    from sonicpy.index.search.asked_terms import asked_terms
    from sonicpy.index.search.fitting import Typed
    from sonicpy.index.search.web_syntax import plain_web, read_web, with_phrase
else:
    asked_terms = late("sonicpy.index.search.asked_terms", "asked_terms", __name__)
    Typed = late("sonicpy.index.search.fitting", "Typed", __name__)
    plain_web = late("sonicpy.index.search.web_syntax", "plain_web", __name__)
    read_web = late("sonicpy.index.search.web_syntax", "read_web", __name__)
    with_phrase = late("sonicpy.index.search.web_syntax", "with_phrase", __name__)

Lexed = TypeVar("Lexed")

ONE_WORD = b"\0"
"""The flags of a text with one plain word, as most queries have."""
ONCE = b"\1"
"""The counts of a text with one word that is there once."""


class TextReader:
    """The methods of an index that read texts."""

    _config: "Config"
    _engine: TextEngine

    def _query_terms(self, search: Search, lexer: Lexer, fields: Container[str] = ()) -> tuple[Terms, Matching | None]:
        """Return the terms of a search, and the Matching by which they find their families; None: no term has a family.

        Args:
            lexer: the lexer of the rules of the bucket.
            fields: the names of texts that the bucket has.

        Raises:
            InvalidArgument: an option is invalid, or the text is not valid Unicode.
        """
        text, lang = search.text, search.lang
        if type(text) is not str:
            text = text_of("text", text)
        if lang is not None:
            lang = language_of(lang)
        has_demands = search.has_demands
        if not text and not has_demands:  # of a filter alone: no language has to be guessed
            return lexer.lex_plain(text), None
        web = None
        try:
            if has_demands and search.syntax == "web":
                text.encode()  # signs take texts apart: the whole one is checked
                web = read_web(text, fields)
                text = text if web.is_plain else web.wanted()
            if has_demands and search.phrase is not None:
                web = with_phrase(plain_web(text) if web is None else web, search.phrase)
                text = web.wanted()
            terms, code = lexer.lex_query(text, lang)
        except UnicodeEncodeError as error:
            raise not_unicode("text", error) from error
        if not len(terms) and not self._engine.is_compat:
            terms = lexed(lexer.lex_plain, text)
        settings = self._config.search
        if terms.last >= 0 and not (search.complete and settings.complete and settings.query_alternates_try):
            terms = without_last(terms)
        if has_demands:
            terms = asked_terms(terms, web, code, lexer, search)
        if not search.stem or code == NO_LANGUAGE or settings.stemming == "off":
            return terms, None
        return terms, Matching(code, text.isascii(), lang is not None)

    def _typed(self, text: str, lexer: Lexer) -> "Typed":
        """Return the words of a text for SUGGEST.

        Args:
            lexer: the lexer of the rules of the bucket.

        Raises:
            InvalidArgument: the text has no word; it has several, and search.suggest_order is alphabetical.
        """
        terms = lexed(lexer.lex_plain, text)
        if terms.flags == ONE_WORD and terms.counts == ONCE:
            return Typed([], terms.words[0], terms.typed[0])
        if self._config.search.suggest_order != "likely" or not len(terms) or is_one_word(terms):
            return Typed([], *one_word(terms))
        pieces = lexer.prepared(text).split()  # terms count the bytes of the prepared text
        while not len(terms := lexer.lex_plain(piece := pieces.pop())):
            pass  # signs behind the last word
        joined = ""
        if not is_one_word(terms):
            joined, terms = last_word(piece, terms, lexer)
        before, code = lexer.lex_query(" ".join([*pieces, joined]), None)
        matching = None if self._config.search.stemming == "off" else Matching(code, text.isascii(), is_given=False)
        words = [
            (word, None if flags & (SPECIAL | STOP) else matching)
            for word, flags in zip(before.words, before.flags, strict=True)
            if not flags & PART
        ]
        return Typed(words, *one_word(terms), joined)

    def _lexer_under(self, rules: int | None) -> Lexer:
        """Return the lexer of a version of the rules; None: the lexer of new buckets."""
        lexer = self._engine.lexer
        return lexer if rules is None else lexer.under(rules)


def one_word(terms: Terms) -> tuple[bytes, int]:
    """Return the only word of a text, and how many bytes it had as typed.

    Raises:
        InvalidArgument: the text has no word, several, or the same one twice.
    """
    place = _place_of_word(terms)
    if place < 0:
        raise no_word(has_several=len(terms) > 0)
    return terms.words[place], terms.typed[place]


def last_word(piece: str, terms: Terms, lexer: Lexer) -> tuple[str, Terms]:
    """Return the letters before the last word of a piece of text, and the terms of the rest.

    Args:
        terms: the terms of the piece, which has several words.
    """
    length = terms.typed[terms.last]
    for written in dict.fromkeys((piece, _without_signs(piece))):
        word = written.encode()[-length:].decode(errors="ignore")  # nothing is left out if the word is at the end
        if len(word.encode()) != length or not is_one_word(found := lexer.lex_plain(word)):
            continue
        if one_word(found)[1] == length:  # else a sign behind the word took the place of its first letter
            return written[: len(written) - len(word)], found
    return "", terms


def _without_signs(piece: str) -> str:
    """Return a piece of text without the signs behind its last letter or digit."""
    end = len(piece)
    while end and unicodedata.category(piece[end - 1])[0] not in "LMN":
        end -= 1
    return piece[:end]


def is_one_word(terms: Terms) -> bool:
    """Return whether a text consists of one word that occurs once."""
    return _place_of_word(terms) >= 0


def _place_of_word(terms: Terms) -> int:
    """Return the place of the only word of a text; -1: it has no word, several, or the same one twice."""
    if terms.flags == ONE_WORD and terms.counts == ONCE:
        return 0
    words = [place for place, flags in enumerate(terms.flags) if not flags & (STOP | PART)]
    if len(words) == 2 and _is_signed(*(terms.words[place].decode() for place in words)):
        del words[0]
    # A run without blanks may count twice: as typed, and as a word of a dictionary. Its letters are terms, too.
    if len(words) != 1 or (terms.counts[words[0]] != 1 and len(terms.words) == 1):
        return -1
    return words[0]


def _is_signed(plain: str, signed: str) -> bool:
    """Return whether a word is another one with signs before or behind it, such as `c++` and `.net`."""
    return plain in signed and not any(map(str.isalnum, signed.replace(plain, "", 1)))


def lexed(lex: Callable[[str], Lexed], text: str) -> Lexed:
    """Return the terms of a text. Raises InvalidArgument if it is not Unicode."""
    try:
        return lex(text)
    except UnicodeEncodeError as error:
        raise not_unicode("text", error) from error


def check_scope(search: Search) -> None:
    """Raise InvalidArgument if the collection or the bucket of a search has no valid name."""
    if not are_names(search.collection, search.bucket):
        check_names(search.collection, search.bucket)


def word_prefix(lexer: Lexer, prefix: str) -> bytes:
    """Return a typed prefix in the normal form of words."""
    if not prefix:
        return b""
    encoded("prefix", prefix)
    terms = lexer.lex_plain(prefix)
    return terms.words[0] if len(terms) == 1 else lexer.normal(prefix).encode()


def encoded(argument: str, text: str) -> bytes:
    """Return the UTF-8 of a text. Raises InvalidArgument, which names the argument, if it is not Unicode."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise not_unicode(argument, error) from error
