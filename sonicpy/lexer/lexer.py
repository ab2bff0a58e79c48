"""Text in, terms out: which language, which stop words, then one compiled pass (sonicpy._native.text).

The same text gives the same terms at PUSH, POP and QUERY; only stop words differ by language, and the case of i where
a text is said to be Turkish.
"""

from collections.abc import Callable

import Stemmer

from sonicpy._native.language import UNCLEAR
from sonicpy._native.text import Analyzer, BoundAnalyzer, StopSet, Terms
from sonicpy.config import NormalizationConfig, StopwordsConfig, TokenizationConfig
from sonicpy.lexer import turkish
from sonicpy.lexer.language import LanguageGuesser
from sonicpy.lexer.languages import LANGUAGES, by_code
from sonicpy.lexer.normalizer import normalizer
from sonicpy.lexer.segmenters import Segment, Segmenters
from sonicpy.lexer.stopwords import StopWords

Stem = Callable[[str], str]
Cut = Callable[[str], Terms]

VERSION = 2
"""Of the terms that texts give: a store made with another version is refused."""

NO_LANGUAGE = "none"
"""LANG(none): no language and no stop words, not even those that the settings deny."""


class Lexer:
    """Cuts texts as the settings say.

    Args:
        compat: as Sonic does: special words keep their case, patterns may end inside words.
    """

    def __init__(
        self,
        normalization: NormalizationConfig,
        tokenization: TokenizationConfig,
        stopwords: StopwordsConfig,
        *,
        compat: bool,
    ) -> None:
        self._normalization = normalization
        self._tokenization = tokenization
        self._stopwords = stopwords
        self._compat = compat
        self._segmenters = Segmenters()
        self._normalize = normalizer(
            normalization.unicode_normalization,
            fold_diacritics=normalization.diacritic_folding_enabled,
            every_mark=compat,
        )
        self._cutter = Analyzer(
            self._normalize,
            always_normalize=normalization.diacritic_folding_enabled,
            composes=normalization.unicode_normalization != "none",
            patterns=tokenization.detect_special_patterns,
            split_patterns=tokenization.compat_split_special_patterns,
            fold_special=not compat,
            at_borders=not compat,
            bigrams=not compat,
            words_of_run=None if compat else self._segmenters.words_of_run,
        )
        self._lists = StopWords()
        self._guesser = LanguageGuesser(self._lists)
        self._guess_clear = self._guesser.guess_clear
        self._stop_sets: dict[str | None, StopSet | None] = {}
        self._cuts_guessed: dict[str | None, Cut] = {}
        self._cuts_given: dict[str, Cut] = {NO_LANGUAGE: BoundAnalyzer(self._cutter).cut}
        self._stemmers: dict[str, Stemmer.Stemmer] = {}

    def prepare(self) -> None:
        """Read what otherwise the first text that needs it waits for."""
        self._guesser.prepare()

    def lex(self, text: str, lang: str | None) -> Terms:
        """Return the distinct terms of a text; stop words are flagged, or left out where the settings drop them.

        Args:
            lang: None: guess; "none": no language; else an ISO 639-3 code of sonicpy.langcodes.

        Raises:
            UnicodeEncodeError: the text holds a lone surrogate.
        """
        if lang is None:
            code = self._guess_clear(text)
            if code == UNCLEAR:
                code = self._guesser.examine(text)
            cut = self._cuts_guessed.get(code) or self._cut_guessed(code)
        else:
            cut = self._cuts_given.get(lang) or self._cut_given(lang)
        return cut(text)

    def language(self, text: str, lang: str | None) -> tuple[str | None, str]:
        """Return the language that `lex` takes a text to be in, and what decided: "given", or as the guesser says."""
        if lang is not None:
            return (None if lang == NO_LANGUAGE else lang), "given"
        why: list[str] = []
        code = self._guesser.guess(text, why)
        return code, why[0]

    def dropped(self, text: str, lang: str | None) -> list[bytes]:
        """Return the stop words of a text that `lex` leaves out because the settings drop them."""
        if self._stopwords.mode != "drop" or lang == NO_LANGUAGE:
            return []
        code = self.language(text, lang)[0]
        stops = self._stop_set(code)
        terms = self._cutter.cut(text, stops, False, None, self._segment(code))
        return [] if stops is None else [word for word in terms.words if word in stops]

    def is_stop_word(self, word: bytes, code: str | None) -> bool:
        """Return whether a term is on the list of stop words of a language; single letters of a run are on none."""
        stops = self._stop_set(code)
        return stops is not None and word in stops

    def lex_plain(self, text: str) -> Terms:
        """Return the distinct terms of a text whose stop words count like all others: for SUGGEST.

        Raises:
            UnicodeEncodeError: the text holds a lone surrogate.
        """
        if not self._normalization.stemming_enabled:
            return self._cutter.cut(text)
        return self._cutter.cut(text, None, False, self._stem_function(self._guesser.guess(text)))

    def lex_every_way(self, text: str) -> list[bytes]:
        """Return every term that PUSH of a text may have stored, whatever its language was: for POP.

        Raises:
            UnicodeEncodeError: the text holds a lone surrogate.
        """
        found = dict.fromkeys(self._cutter.cut(text).words)
        if not self._compat and (folded := turkish.folded(text)) is not text:
            found.update(dict.fromkeys(self._cutter.cut(folded).words))
        if self._normalization.stemming_enabled:
            for algorithm in sorted({language.stemmer for language in LANGUAGES if language.stemmer}):
                found.update(dict.fromkeys(self._cutter.cut(text, stem=self._stemmer(algorithm)).words))
        if self._compat and self._segmenters.has_zh:
            found.update(dict.fromkeys(self._cutter.cut(text, segment=self._segmenters.chinese).words))
        return list(found)

    def analyser(self) -> dict[str, str]:
        """Return what decides which terms a text gives, key by key: a store holds on to it."""
        settings = {
            "lexer": str(VERSION),
            "server.compat": "sonic" if self._compat else "none",
            **self._segmenters.installed(),
        }
        for section, values in (
            ("normalization", self._normalization.model_dump()),
            ("tokenization", self._tokenization.model_dump()),
            ("stopwords", self._stopwords.model_dump()),
        ):
            for name, value in values.items():
                settings[f"{section}.{name}"] = ",".join(sorted(value)) if isinstance(value, tuple) else str(value)
        return settings

    def _cut_guessed(self, code: str | None) -> Cut:
        """Return what cuts a text that is guessed to be in a language, for all that follow too."""
        stops, drops = self._stop_set(code), self._stopwords.mode == "drop"
        cutter = BoundAnalyzer(self._cutter, stops, drops, self._stem_function(code), self._segment(code))
        self._cuts_guessed[code] = cutter.cut
        return cutter.cut

    def _cut_given(self, lang: str) -> Cut:
        """Return what cuts a text that is said to be in a language, for all that follow too."""
        cut = self._cut_guessed(lang)
        if lang in turkish.LANGUAGES and not self._compat:  # a guess may be wrong, and I stands in every language
            self._cuts_given[lang] = lambda text: cut(turkish.folded(text))
        else:
            self._cuts_given[lang] = cut
        return self._cuts_given[lang]

    def _stop_set(self, code: str | None) -> StopSet | None:
        if code not in self._stop_sets:
            listed = self._lists.words(code) if code else frozenset()
            # The settings' words are compared as they are written: "Bar" never meets the folded word "bar".
            words = (listed - set(self._stopwords.allow)) | set(self._stopwords.deny)
            self._stop_sets[code] = StopSet(word.encode() for word in words) if words else None
        return self._stop_sets[code]

    def _stem_function(self, code: str | None) -> Stem | None:
        if not self._normalization.stemming_enabled or code is None:
            return None
        algorithm = by_code[code].stemmer
        return None if algorithm is None else self._stemmer(algorithm)

    def _stemmer(self, algorithm: str) -> Stem:
        stemmer = self._stemmers.get(algorithm)
        if stemmer is None:
            stemmer = self._stemmers[algorithm] = Stemmer.Stemmer(algorithm)
        stem: Stem = stemmer.stemWord
        return stem

    def _segment(self, code: str | None) -> Segment | None:
        """Sonic cuts all of a Chinese text by dictionary; in the default mode runs of letters are, in any language."""
        return self._segmenters.chinese if self._compat and code == "cmn" and self._segmenters.has_zh else None
