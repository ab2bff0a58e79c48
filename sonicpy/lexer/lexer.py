"""Text in, terms out: choose the language and its stop words, then one compiled pass (sonicpy._native.analyzer).

A text gives the same terms at PUSH, POP and QUERY. The language changes them in three ways: the case of i, if LANG is
Turkish or Azerbaijani; stems and dropped stop words, if the settings enable them.

In the default mode stop words are flagged at QUERY only: PUSH stores them like all other words, so the lists may change
at any start. In compat mode, and with stopwords.mode = "drop", the lists decide the words that PUSH stores.
"""

import unicodedata
from collections.abc import Callable, Iterable
from copy import copy
from typing import TYPE_CHECKING

import Stemmer

from sonicpy._native.analyzer import Analyzer, BoundAnalyzer, prepared
from sonicpy._native.digest import normal_text
from sonicpy._native.stop_set import StopSet
from sonicpy._native.terms import STOP, Terms
from sonicpy.late import late
from sonicpy.lexer import turkish
from sonicpy.lexer.language import LanguageGuesser
from sonicpy.lexer.languages import LANGUAGES, by_code
from sonicpy.lexer.normalizer import normalizer, sonic_normalizer
from sonicpy.lexer.segmenters import Segmenter, Segmenters
from sonicpy.lexer.stemmers import ALGORITHMS
from sonicpy.lexer.stopwords import StopWords
from sonicpy.rules import FIRST, KNOWN, NEWEST

if TYPE_CHECKING:
    from sonicpy.config import NormalizationConfig, StopwordsConfig, TokenizationConfig
    from sonicpy.lexer.sonic_language import SonicGuesser
else:
    SonicGuesser = late("sonicpy.lexer.sonic_language", "SonicGuesser", __name__)

Stem = Callable[[str], str]

VERSION = 2
"""The version of the analysis of texts. A store made with another version is refused."""

NO_LANGUAGE = "none"
"""LANG(none): no language and no stop words, not even those that the settings deny."""

SONIC_VERSION = 3
"""The version of the analysis in compat mode, if terms are normalised or stemmed, or a dictionary cuts Chinese text.

The first stores do not have it.
"""

PLAIN_NORMALIZATION = {
    "unicode_normalization": "none",
    "diacritic_folding_enabled": False,
    "stemming_enabled": False,
}
"""The settings of [normalization] with which the terms of compat mode equal Sonic's."""

LISTS = ("allow", "deny")
"""The settings of [stopwords] that change the lists of words."""


class Lexer:
    """Turns texts into terms according to the settings.

    Args:
        compat: whether to analyse as Sonic does: special words keep their case, and patterns may end inside words.
        rules: the version of the rules in the default mode; see `sonicpy.rules`.

    Attributes:
        rules: the version of the rules that this lexer follows.
    """

    def __init__(
        self,
        normalization: "NormalizationConfig",
        tokenization: "TokenizationConfig",
        stopwords: "StopwordsConfig",
        *,
        compat: bool,
        rules: int = NEWEST,
    ) -> None:
        self.rules = FIRST if compat else rules
        self._normalization = normalization
        self._is_stemming = normalization.stemming_enabled  # each typed word asks: a pydantic model takes longer
        self._tokenization = tokenization
        self._stopwords = stopwords
        self._compat = compat
        self._lists_decide = compat or stopwords.mode == "drop"
        """Whether the lists of stop words decide which terms are stored; if so, the long lists are used."""
        self._stores_plain = not (self._lists_decide or self._is_stemming)
        """Whether the terms that PUSH stores do not depend on the language, except for the case of i."""
        self._segmenters = Segmenters()
        self._keeps_order = False
        self._ordered: Lexer | None = None
        self._by_letters: Lexer | None = None
        self._analyzer = self._sonic_analyzer() if compat else self._default_analyzer()
        self._lists = StopWords()
        self._sonic_guesser = SonicGuesser(self._lists) if compat else None
        self._guesser = self._sonic_guesser or LanguageGuesser()
        self._stop_sets: dict[str | None, StopSet | None] = {}
        self._stemmers: dict[str, Stemmer.Stemmer] = {}
        self._known = {*by_code, NO_LANGUAGE}
        self._counted = {*by_code, *ALGORITHMS}
        self._by_rules = {self.rules: self}
        self._bind_none()

    def _bind_none(self) -> None:
        """Begin with no analyzer bound to a language; each is made when it is needed."""
        self._plain = BoundAnalyzer(self._analyzer)
        self._stores = BoundAnalyzer(self._analyzer, joints=True)
        self._analyzers: dict[str | None, BoundAnalyzer] = {NO_LANGUAGE: self._plain}
        self._storing: dict[str | None, BoundAnalyzer] = {NO_LANGUAGE: self._stores}
        self._stemming: dict[str | None, BoundAnalyzer] = {}
        self._any_of: dict[str, BoundAnalyzer] = {}

    def under(self, rules: int) -> "Lexer":
        """Return a lexer with the same settings that follows other rules. It shares everything on which rules have no
        effect.

        Raises:
            KeyError: this version does not have the rules.
        """
        found = self._by_rules.get(rules)
        if found is None:
            if rules not in KNOWN or self._compat:
                raise KeyError(rules)
            found = copy(self)
            found.rules = rules
            found._ordered = found._by_letters = None
            found._analyzer = found._default_analyzer()
            found._bind_none()
            self._by_rules[rules] = found
        return found

    def by_letters(self) -> "Lexer":
        """Return a lexer with the same settings and rules by which Chinese is not cut into words."""
        found = self._by_letters
        if found is None:
            found = copy(self)
            found._segmenters = Segmenters(has_zh=False, has_ja=self._segmenters.has_ja)
            found._analyzer = found._sonic_analyzer() if self._compat else found._default_analyzer()
            found._bind_none()
            found._ordered, found._by_letters, found._by_rules = None, found, {found.rules: found}
            self._by_letters = found
        return found

    def ordered(self) -> "Lexer":
        """Return a lexer with the same settings whose terms come with the order of the words."""
        found = self._ordered
        if found is None:
            found = copy(self)
            found._keeps_order = True
            found._by_letters = None
            found._analyzer = found._default_analyzer()
            found._bind_none()
            self._ordered = found
        return found

    def _default_analyzer(self) -> Analyzer:
        form, folds = self._normalization.unicode_normalization, self._normalization.diacritic_folding_enabled
        return Analyzer(
            normalizer(form, fold_diacritics=folds),
            always_normalize=folds,
            composes=form != "none",
            patterns=self._tokenization.detect_special_patterns,
            split_patterns=self._tokenization.compat_split_special_patterns,
            bigrams=True,
            words_of_run=self._segmenters.words_of_run,
            rules=self.rules,
            prepares=self.prepares,
            keeps_order=self._keeps_order,
        )

    def _sonic_analyzer(self) -> Analyzer:
        form, folds = self._normalization.unicode_normalization, self._normalization.diacritic_folding_enabled
        return Analyzer(
            sonic_normalizer(form, fold_diacritics=folds),
            always_normalize=folds,
            composes=form != "none",
            patterns=self._tokenization.detect_special_patterns,
            split_patterns=self._tokenization.compat_split_special_patterns,
            fold_special=False,
            at_borders=False,
            marks_are_words=True,
            rules_special=True,
            whole_pieces=True,
            stops_in_any_form=True,
        )

    @property
    def prepares(self) -> bool:
        """Whether some characters of a text are replaced before words are cut; see ext/tables/prepared.py."""
        return self.rules >= NEWEST and self._normalization.unicode_normalization == "nfkc"

    def prepared(self, text: str) -> str:
        """Return a text in which characters are replaced as before words are cut. Raises UnicodeEncodeError if the text
        holds a lone surrogate."""
        return prepared(text) if self.prepares else text

    def normal(self, text: str) -> str:
        """Return a text in the normal form of words, as one piece. Errors as in `prepared`."""
        form, folds = self._normalization.unicode_normalization, self._normalization.diacritic_folding_enabled
        made = (sonic_normalizer if self._compat else normalizer)(form, fold_diacritics=folds)
        return made(self.prepared(text))

    def prepare(self) -> None:
        """Read the tables of the guesser now, so that no text has to wait for them; see `SonicGuesser.prepare`."""
        self._guesser.prepare()

    def lex(self, text: str, lang: str | None) -> Terms:
        """Return the distinct terms of a query; stop words are flagged, or left out where the settings drop them.

        Args:
            lang: a result of `sonicpy.langcodes.language_code`; "none": no language; None: guess the language.

        Raises:
            UnicodeEncodeError: the text holds a lone surrogate.
        """
        if lang is None:
            lang = self._guesser.guess(text)
        elif lang == NO_LANGUAGE and self._compat:
            return self.lex_plain(text)
        elif lang in turkish.LANGUAGES and not self._compat:  # a guess may be wrong, and I is in every language
            text = turkish.folded(text)
        return self.lex_piece(text, lang)

    def lex_piece(self, text: str, code: str | None) -> Terms:
        """Return the terms of a piece of a query whose language was guessed.

        Args:
            code: the language that was guessed for the whole query; None: unknown. Where LANG gives it, see `lex`.

        Raises:
            UnicodeEncodeError: the text holds a lone surrogate.
        """
        analyzer = self._analyzers.get(code) or self._bind(code)
        return analyzer.analyze(text)

    def lex_push(self, text: str, lang: str | None) -> Terms:
        """Return the terms of a text for PUSH: those of `lex`, but in the default mode without flags for stop words.

        The language is guessed only if the terms depend on it. Arguments and errors as in `lex`.
        """
        if self._stores_plain:
            return self._stores.analyze(turkish.folded(text) if lang in turkish.LANGUAGES else text)
        if lang is None and self._sonic_guesser is not None and not self._is_stemming:
            return self._lex_guessed(self._sonic_guesser, text)
        if self._compat:
            return self.lex(text, lang)
        if lang in turkish.LANGUAGES:
            text = turkish.folded(text)
        if lang is None:
            lang = self._guesser.guess(text)
        code = lang if lang in self._known else None  # any tag may come: not each has an analyzer
        analyzer = self._storing.get(code)
        if analyzer is None:
            stops, drops = (self._stop_set(code), True) if self._lists_decide else (None, False)
            stem = self._stem_function(code)
            analyzer = self._storing[code] = BoundAnalyzer(self._analyzer, stops, drops, stem, joints=True)
        return analyzer.analyze(text)

    def note_language(self, terms: Terms, text: str, lang: str | None) -> None:
        """Note in the terms of a PUSH the language that the bucket counts: LANG, or a guess.

        Callers skip texts without LANG unless their objects are in the sample (`is_sampled`), because each guess takes
        time.
        """
        if self.rules < NEWEST or not isinstance(self._guesser, LanguageGuesser):
            return
        code = self._guesser.counted(text) if lang is None else lang
        if code is not None and code in self._counted:
            terms.languages = code.encode()

    def _lex_guessed(self, guesser: "SonicGuesser", text: str) -> Terms:
        """Return the terms of a text without a given language. The detector is called only if its result can change
        them."""
        found = guesser.decide(text)
        if len(found) == 3:  # Undecided, whose module few texts need
            if guesser.has_whatlang:  # it finds none but the candidates
                terms = self._candidates(found.script).analyze(text)
                if not any(flags & STOP for flags in terms.flags):
                    return terms
            found = guesser.ask(found)
        code = found[0]
        return (self._analyzers.get(code) or self._bind(code)).analyze(text)

    def lex_query(self, text: str, lang: str | None) -> tuple[Terms, str | None]:
        """Return the terms of a query, and the language that was used: a code, "none", or None for an unknown one."""
        if lang is None:
            lang = self._guesser.guess(text)
            return self.lex_piece(text, lang), lang
        return self.lex(text, lang), lang

    def listed(self, words: Iterable[str]) -> list[str]:
        """Return those words that matter to `languages_of`."""
        return self._guesser.listed(words) if isinstance(self._guesser, LanguageGuesser) else []

    def languages_of(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return the most likely languages of the words of a few texts, the best one first.

        The result is empty if no list of stop words has any of the words, and in compat mode.
        """
        return self._guesser.languages_of(words) if isinstance(self._guesser, LanguageGuesser) else ()

    def language(self, text: str, lang: str | None) -> tuple[str | None, str]:
        """Return the language that `lex` uses for a text, and the reason: "given", or the guesser's reason."""
        if lang is not None:
            return (None if lang == NO_LANGUAGE else lang), "given"
        return self._guesser.explain(text)

    def dropped(self, text: str, lang: str | None) -> list[bytes]:
        """Return the stop words of a text that `lex` leaves out because the settings drop them.

        Args:
            lang: as in `lex`.
        """
        if self._stopwords.mode != "drop" or lang == NO_LANGUAGE:
            return []
        code = self.language(text, lang)[0]
        stops = self._stop_set(code)
        terms = BoundAnalyzer(self._analyzer, stops, segment=self._segment(code)).analyze(text)
        return [] if stops is None else [word for word in terms.words if word in stops]

    def is_stop_word(self, word: bytes, code: str | None) -> bool:
        """Return whether a term is on the list of stop words, changed by the settings, of the language with a code
        (None: unknown). Single letters of a run without blanks never are."""
        stops = self._stop_set(code)
        return stops is not None and word in stops

    def lex_plain(self, text: str) -> Terms:
        """Return the distinct terms of a text whose stop words count like all others: for SUGGEST.

        As in Sonic, LANG(none) only keeps stop words; words are still stemmed by the guessed language.

        Raises:
            UnicodeEncodeError: the text holds a lone surrogate.
        """
        if not self._is_stemming:
            return self._plain.analyze(text)
        lang = self._guesser.guess(text)
        analyzer = self._stemming.get(lang)
        if analyzer is None:
            stem, segment = self._stem_function(lang), self._segment(lang)
            analyzer = self._stemming[lang] = BoundAnalyzer(self._analyzer, stem=stem, segment=segment)
        return analyzer.analyze(text)

    def lex_every_way(self, text: str) -> list[bytes]:
        """Return every term that PUSH of a text may have stored, whatever its language was: for POP.

        Raises:
            UnicodeEncodeError: the text holds a lone surrogate.
        """
        analyzers = [self._stores]
        if self._is_stemming:
            algorithms = sorted({language.stemmer for language in LANGUAGES if language.stemmer})
            analyzers += [BoundAnalyzer(self._analyzer, stem=self._stemmer(algorithm)) for algorithm in algorithms]
        readings = self.readings(text)
        found = {word: None for analyzer in analyzers for one in readings for word in analyzer.analyze(one).words}
        if self._compat and self._segmenters.has_zh:
            segmenting = BoundAnalyzer(self._analyzer, segment=self._segmenters.chinese_text)
            found.update(dict.fromkeys(segmenting.analyze(text).words))
        return list(found)

    def readings(self, text: str) -> list[str]:
        """Return a text as `lex` reads it in each language: as it is, as UPSERT stores it, with one blank for any white
        space, and with the Turkish i if that differs.
        """
        if self._compat:
            return [text]
        return list(dict.fromkeys(each for one in (text, normal_text(text)) for each in (one, turkish.folded(one))))

    def analyser(self) -> dict[str, str]:
        """Return the settings that decide the terms that PUSH stores, by key; a store saves and compares them."""
        settings = {
            "lexer": str(VERSION),
            "server.compat": "sonic" if self._compat else "none",
            **self._segmenters.in_use(),
        }
        if self._compat and (self._segmenters.has_zh or dict(self._normalization) != PLAIN_NORMALIZATION):
            settings["lexer.compat"] = str(SONIC_VERSION)
        for section, values in (
            ("normalization", dict(self._normalization)),
            ("tokenization", dict(self._tokenization)),
            ("stopwords", dict(self._stopwords)),
        ):
            for name, value in values.items():
                if name in LISTS and not self._lists_decide:
                    continue
                settings[f"{section}.{name}"] = ",".join(sorted(value)) if isinstance(value, tuple) else str(value)
        return settings

    def _bind(self, code: str | None) -> BoundAnalyzer:
        """Return the analyzer for texts in the language with a code (None: unknown), which later texts reuse; languages
        without a table share one."""
        if code is not None and code not in by_code:
            return self._analyzers.get(None) or self._bind(None)
        stops, drops = self._stop_set(code), self._stopwords.mode == "drop"
        analyzer = BoundAnalyzer(self._analyzer, stops, drops, self._stem_function(code), self._segment(code))
        self._analyzers[code] = analyzer
        return analyzer

    def _candidates(self, script: str) -> BoundAnalyzer:
        """Return the analyzer that flags the stop words of all languages that the detector may find in a script."""
        analyzer = self._any_of.get(script)
        if analyzer is None:
            from sonicpy.lexer.sonic_language import CANDIDATES  # noqa: PLC0415  loaded when it is needed

            words = frozenset().union(*(self._lists.sonic_words(code) for code in CANDIDATES[script]))
            analyzer = self._any_of[script] = BoundAnalyzer(self._analyzer, self._as_stop_set(words))
        return analyzer

    def _stop_set(self, code: str | None) -> StopSet | None:
        if code not in by_code:
            code = None
        if code not in self._stop_sets:
            listed = self._list(code) if code else frozenset()
            self._stop_sets[code] = self._as_stop_set(listed)
        return self._stop_sets[code]

    def _as_stop_set(self, listed: frozenset[str]) -> StopSet | None:
        """Return a list of stop words, changed by the settings, in every form that the analyzer looks up; None: it is
        empty.
        """
        # The settings' words are compared as they are written: "Bar" never equals the folded word "bar".
        words = (listed - set(self._stopwords.allow)) | set(self._stopwords.deny)
        if self._compat:  # Sonic ignores how a letter is composed, and which of its forms it is
            words |= {unicodedata.normalize(form, word) for word in words for form in ("NFKC", "NFD")}
        return StopSet(word.encode() for word in words) if words else None

    def _list(self, code: str) -> frozenset[str]:
        if self._compat:
            return self._lists.sonic_words(code)
        return self._lists.words(code) if self._lists_decide else self._lists.short_words(code)

    def _stem_function(self, code: str | None) -> Stem | None:
        if not self._is_stemming or code is None:
            return None
        algorithm = by_code[code].stemmer
        return None if algorithm is None else self._stemmer(algorithm)

    def _stemmer(self, algorithm: str) -> Stem:
        stemmer = self._stemmers.get(algorithm)
        if stemmer is None:
            stemmer = self._stemmers[algorithm] = Stemmer.Stemmer(algorithm)
        stem: Stem = stemmer.stemWord
        return stem

    def _segment(self, code: str | None) -> Segmenter | None:
        """Return the dictionary that cuts a whole text, as Sonic does in Chinese; None: there is none for this language
        and mode.

        The default mode uses dictionaries for runs of letters only, in any language.
        """
        return self._segmenters.chinese_text if self._compat and code == "cmn" and self._segmenters.has_zh else None
