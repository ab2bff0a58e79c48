"""The words of a text that a query found: as places in the text, or marked in it.

A word is marked where the lexer, with the settings of the index, finds the term that the query looked for, or one of
the words in its place. One scan over the folded text finds the possible places (Aho-Corasick, all words at once); the
lexer then decides about each place.
"""

import html
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

import ahocorasick

from sonicpy._native.terms import PART, STOP
from sonicpy.api.explanation import Analysis, Explanation
from sonicpy.config import Config, NormalizationConfig, StopwordsConfig, TokenizationConfig
from sonicpy.errors import InvalidArgument
from sonicpy.lexer.folded import Borders, Folded, Span
from sonicpy.lexer.lexer import NO_LANGUAGE, Lexer
from sonicpy.lexer.normalizer import normalizer, sonic_normalizer

TORN_MAX = 200
"""Characters without a word border in which terms are searched, at most: they are read once for each term."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_CHUNKS = re.compile(r"\S+")
_PHONE = re.compile(r"\+?\d{5,}")


def highlight(
    text: str, explanation: Explanation, *, before: str = "<mark>", after: str = "</mark>", escape: bool = False
) -> str:
    """Return a text with marks around the words that the query of an explanation looked for.

    Completions and corrections are marked too; stop words only where they found objects themselves.

    Args:
        text: the text of an object; the index does not keep it.
        before: inserted before each word.
        after: inserted after each word.
        escape: escape the text, but not the marks, for HTML.

    Raises:
        InvalidArgument: as `spans`.
    """
    write: Callable[[str], str] = html.escape if escape else str
    out: list[str] = []
    done = 0
    for start, end in spans(text, explanation):
        out += [write(text[done:start]), before, write(text[start:end]), after]
        done = end
    return "".join([*out, write(text[done:])])


def spans(text: str, explanation: Explanation) -> list[Span]:
    """Return the places in a text of the words that the query of an explanation looked for, in order, without overlaps.

    Overlapping pairs of letters, in scripts without blanks, are one place.

    Raises:
        InvalidArgument: the text is no str, or the explanation is not one of `explain`.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"text is of type {type(text).__name__}; allowed is a str")
    if not isinstance(explanation, Explanation):
        raise InvalidArgument(
            f"explanation is of type {type(explanation).__name__}; "
            "allowed is a result of `explain` of an index or a client"
        )
    words = wanted_words(explanation)
    if not words or not text:
        return []
    merged: list[Span] = []
    for start, end in sorted(_Reading(_SURROGATES.sub("\ufffd", text), explanation).places(words)):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def wanted_words(explanation: Explanation) -> set[str]:
    """Return the words that a query looks for: its own, and the words in their place."""
    terms = [term for term in explanation.terms if term.role in ("required", "searched")]
    return {term.word for term in terms} | {other.word for term in terms for other in term.alternates}


@lru_cache(maxsize=8)
def _lexer(analysis: Analysis) -> Lexer:
    return Lexer(*_sections(analysis), StopwordsConfig(mode="weigh"), compat=analysis.compat)


def _sections(analysis: Analysis) -> tuple[NormalizationConfig, TokenizationConfig]:
    config = Config.model_validate(
        {
            "normalization": {
                "unicode_normalization": analysis.unicode_normalization,
                "diacritic_folding_enabled": analysis.diacritic_folding,
                "stemming_enabled": analysis.stemming,
            },
            "tokenization": {
                "detect_special_patterns": analysis.special_patterns,
                "compat_split_special_patterns": analysis.split_special_patterns,
            },
        }
    )
    return config.normalization, config.tokenization


class _Reading:
    """A text, and the terms that the lexer finds in its pieces."""

    def __init__(self, text: str, explanation: Explanation) -> None:
        self._text = text
        self._analysis = analysis = explanation.analysis
        lexer = _lexer(analysis)
        code = NO_LANGUAGE
        if analysis.stemming:
            code = lexer.language(text, None)[0] or explanation.language.code or NO_LANGUAGE
        self._terms = cache(lambda piece: frozenset(word.decode() for word in lexer.lex(piece, code).words))
        self._terms_between = cache(lambda start, end: self._terms(text[start:end]))
        self._is_unspaced = cache(
            lambda char: any(flags & (STOP | PART) for flags in lexer.lex(2 * char, NO_LANGUAGE).flags)
        )
        form = _sections(analysis)[0].unicode_normalization
        whole = sonic_normalizer if analysis.compat else normalizer
        self._normalize = cache(whole(form, fold_diacritics=analysis.diacritic_folding))
        self._folded = Folded(text, self._fold)
        self._chunks = Borders([0, *(place for match in _CHUNKS.finditer(text) for place in match.span()), len(text)])

    def places(self, words: set[str]) -> Iterator[Span]:
        """Yield the places where the lexer finds one of `words`, some perhaps twice."""
        automaton = ahocorasick.Automaton()
        for word in words:
            automaton.add_word(word, word)
        automaton.make_automaton()
        for last, word in automaton.iter(self._folded.text):
            span = self._folded.span(last + 1 - len(word), last + 1)
            if span is not None and self._holds(span, word):
                yield span
        if self._analysis.compat:  # there identifiers keep their letters
            for last, word in automaton.iter(self._text):
                span = (last + 1 - len(word), last + 1)
                if self._holds(span, word):
                    yield span
        if not self._analysis.split_special_patterns:
            yield from self._phones(words)

    def _fold(self, piece: str) -> str:
        if self._analysis.stemming and len(terms := self._terms(piece)) == 1:
            (term,) = terms
            return term
        return self._normalize(piece)

    def _holds(self, span: Span, word: str) -> bool:
        """Return whether the lexer finds `word` at exactly this place."""
        start, end = span
        text, terms = self._text, self._terms
        # The terms that the lexer finds depend on the surrounding text.
        chunk = self._chunks.around(start, end)
        if word not in self._terms_between(*chunk) or word not in terms(text[start:end]):
            return False
        piece = self._folded.borders.around(start, end)
        if piece == span or self._is_unspaced(text[start]):
            return True
        if self._tears_nothing(piece, span):
            return True
        # A pattern may end inside a piece, which then has other terms than it has alone.
        is_cut = not self._terms_between(*piece) <= self._terms_between(*chunk)
        return is_cut and self._tears_nothing(chunk, span)

    def _tears_nothing(self, around: Span, span: Span) -> bool:
        """Return whether a few characters have the same terms when a place in them is taken out."""
        (first, last), (start, end) = around, span
        if last - first > TORN_MAX:
            return False
        parts = (self._text[first:start], self._text[start:end], self._text[end:last])
        return self._terms_between(first, last) <= frozenset().union(*map(self._terms, parts))

    def _phones(self, words: set[str]) -> Iterator[Span]:
        """Yield the places of telephone numbers, whose digits may be separated in the text."""
        for word in words:
            if _PHONE.fullmatch(word) and word in self._terms(self._text):
                pattern = "[ .-]?".join(map(re.escape, word))
                yield from (match.span() for match in re.finditer(pattern, self._text) if word in self._terms(match[0]))
