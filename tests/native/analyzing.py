"""Analyzers of the default and the compat form, and their terms for a text."""

import unicodedata
from collections.abc import Callable

from sonicpy._native.analyzer import Analyzer, BoundAnalyzer
from sonicpy._native.stop_set import StopSet
from sonicpy._native.terms import Terms
from sonicpy.lexer.normalizer import normalizer

COMPAT = Analyzer(str.casefold, composes=False, fold_special=False, at_borders=False)
COMPAT_WHOLE = Analyzer(str.casefold, composes=False, fold_special=False, at_borders=False, split_patterns=False)
COMPAT_PLAIN = Analyzer(str.casefold, composes=False, patterns=False)


def nfkc_folded(piece: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", piece).casefold())


NORMALIZE = normalizer("nfkc", fold_diacritics=False)
DEFAULT = Analyzer(NORMALIZE)
DEFAULT_PLAIN = Analyzer(nfkc_folded, patterns=False)


def analyze(
    analyzer: Analyzer,
    text: str,
    stops: StopSet | None = None,
    drop_stops: bool = False,
    stem: Callable[[str], str] | None = None,
) -> Terms:
    return BoundAnalyzer(analyzer, stops, drop_stops, stem).analyze(text)


def words(terms: Terms) -> list[str]:
    return [word.decode() for word in terms.words]
