"""The words of a text that a query found: as places in the text, or marked in it.

A word is marked if the lexer, with the settings of the index, makes it the term that the query looked for, or one of
the words in its place. One scan over the folded text finds the possible places (Aho-Corasick, all words at once); the
lexer then decides about each place.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

import ahocorasick

from sonicpy._native.analyzer import prepared
from sonicpy._native.terms import PART, STOP
from sonicpy._native.word_break import is_unspaced, is_unspaced_letter
from sonicpy.api.explanation import Analysis, Explanation
from sonicpy.config import Config, NormalizationConfig, StopwordsConfig, TokenizationConfig
from sonicpy.errors import InvalidArgument
from sonicpy.lexer.folded import Borders, Folded, Span
from sonicpy.lexer.lexer import NO_LANGUAGE, Lexer
from sonicpy.lexer.normalizer import normalizer, sonic_normalizer

TORN_MAX = 200
"""The most characters without a word border in which terms are searched, because they are lexed once for each term."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_CHUNKS = re.compile(r"\S+")
_PHONE = re.compile(r"\+?\d{5,}")


def highlight(
    text: str, explanation: Explanation, *, before: str = "<mark>", after: str = "</mark>", escape: bool = False
) -> str:
    """Return a text with marks around the words that the query of an explanation looked for.

    Completions and corrections are marked, too; stop words only if they found objects by themselves.

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
    wanted = _wanted(explanation)
    if not wanted or not text:
        return []
    merged: list[Span] = []
    for start, end in sorted(_Reading(_SURROGATES.sub("\ufffd", text), explanation).places(wanted)):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _wanted(explanation: Explanation) -> dict[str, set[str]]:
    """Return the words that a query looks for, its own and their substitutes, each with the typed words that may be a
    part of it; an empty set, or "" among them, means the whole word.

    A word that continues after the typed letters in a script without blanks is not among them; only the typed letters
    are marked in it.
    """
    wanted: dict[str, set[str]] = {}
    held: dict[str, list[str]] = {}  # by the objects of the answer: a word may have more alternates than are shown
    for hit in explanation.hits:
        for part in hit.parts:
            held.setdefault(part.term, []).append(part.word)
    for term in explanation.terms:
        if term.role in ("required", "searched"):
            wanted.setdefault(term.word, set())
            is_run = is_unspaced(term.word.encode()) or is_unspaced_letter(term.word.encode())
            others = [(other.word, other.how in ("spelling", "synonym")) for other in term.alternates]
            others += [(word, False) for word in held.get(term.word, ()) if word != term.word]
            for other, is_whole in others:
                if is_run and other.startswith(term.word):
                    continue
                words = other.split()  # synonyms, and words written apart, may be several
                for word in words:
                    wanted.setdefault(word, set()).add("" if is_whole or len(words) > 1 else term.word)
    letters = {word for word in wanted if is_unspaced_letter(word.encode())}
    for letter in letters:  # a pair of letters shows where they are
        if any(letter in word for word in wanted if word not in letters):
            del wanted[letter]
    return wanted


@lru_cache(maxsize=8)
def _lexer(analysis: Analysis) -> Lexer:
    return Lexer(*_sections(analysis), StopwordsConfig(mode="weigh"), compat=analysis.compat, rules=analysis.rules)


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
        self._terms = cache(
            lambda piece: frozenset(
                word.decode() for one in lexer.readings(piece) for word in lexer.lex_piece(one, code).words
            )
        )
        self._terms_between = cache(lambda start, end: self._terms(text[start:end]))
        self._is_unspaced = cache(
            lambda char: any(flags & (STOP | PART) for flags in lexer.lex(2 * char, NO_LANGUAGE).flags)
        )
        form = _sections(analysis)[0].unicode_normalization
        whole = sonic_normalizer if analysis.compat else normalizer
        self._prepares = lexer.prepares
        self._normalize = cache(whole(form, fold_diacritics=analysis.diacritic_folding))
        self._folded = Folded(text, self._fold)
        self._chunks = Borders([0, *(place for match in _CHUNKS.finditer(text) for place in match.span()), len(text)])

    def places(self, wanted: dict[str, set[str]]) -> Iterator[Span]:
        """Yield the places where the lexer finds one of the words, some perhaps twice.

        Args:
            wanted: the words, each with its possible parts; if it has parts, only the part is marked.
        """
        for word, span in self._words(set(wanted)):
            inner: list[Span] = []
            if not any(map(word.startswith, wanted[word])):
                inner = [place for part in wanted[word] for place in self._parts(span, part)]
            yield from inner or [span]

    def _parts(self, around: Span, part: str) -> Iterator[Span]:
        """Yield the places of a part in a word that does not begin with it, each up to the next joint."""
        first, last = around
        joints = [place for place in range(first + 1, last) if _is_joint(self._text, place)]
        for number, start in enumerate(joints):
            for end in (*joints[number + 1 :], last):
                if self._normalize(self._text[start:end]).startswith(part):
                    yield start, end
                    break
                if end - start > len(part):
                    break

    def _words(self, words: set[str]) -> Iterator[tuple[str, Span]]:
        """Yield the words with the places where the lexer finds them."""
        automaton = ahocorasick.Automaton()
        for word in words:
            automaton.add_word(word, word)
        automaton.make_automaton()
        for last, word in automaton.iter(self._folded.text):
            span = self._folded.span(last + 1 - len(word), last + 1)
            if span is not None and self._holds(span, word):
                yield word, span
        if self._analysis.compat:  # there identifiers keep their letters
            for last, word in automaton.iter(self._text):
                span = (last + 1 - len(word), last + 1)
                if self._holds(span, word):
                    yield word, span
        if not self._analysis.split_special_patterns:
            yield from self._phones(words)

    def _fold(self, piece: str) -> str:
        if self._analysis.stemming and len(terms := self._terms(piece)) == 1:
            (term,) = terms
            return term
        return self._normalize(prepared(piece) if self._prepares else piece)

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
        """Return whether the characters `around` a place hold no other terms than the place and the parts before and
        behind it do, each alone; False if they are more than TORN_MAX."""
        (first, last), (start, end) = around, span
        if last - first > TORN_MAX:
            return False
        parts = (self._text[first:start], self._text[start:end], self._text[end:last])
        return self._terms_between(first, last) <= frozenset().union(*map(self._terms, parts))

    def _phones(self, words: set[str]) -> Iterator[tuple[str, Span]]:
        """Yield each telephone number and its place in the text, where its digits may be separated."""
        for word in words:
            if _PHONE.fullmatch(word) and word in self._terms(self._text):
                pattern = "[ .-]?".join(map(re.escape, word))
                matches = re.finditer(pattern, self._text)
                yield from ((word, match.span()) for match in matches if word in self._terms(match[0]))


def _is_joint(text: str, place: int) -> bool:
    """Return whether a part of a compound may begin or end at `place`: beside a sign, between letters and digits, or
    between a small letter and a capital one.
    """
    before, behind = text[place - 1], text[place]
    if not (_is_letter(before) and _is_letter(behind)):
        return _is_letter(before) != _is_letter(behind)
    return before.isdecimal() != behind.isdecimal() or (before.islower() and behind.isupper())


def _is_letter(char: str) -> bool:
    """Return whether a character is a letter, a digit, or a mark on one."""
    return char.isalnum() or unicodedata.category(char)[0] == "M"
