from collections.abc import Iterable
from typing import Any, Protocol

from sonicpy._native.kin import Kin

KIN_CACHED: int
FAMILY_LETTERS_MIN: int
DOUBLED_LETTERS: int

class _Languages(Protocol):
    """The rules and tables of languages; families.py and the modules beside it implement them under these names."""

    fold: Any
    unmarked: Any
    folding: Any
    script_of: Any
    stem_ends: Any
    stemmers: Any
    ELIDED: Any
    ELIDED_ANYWHERE: Any
    ELIDES: Any
    ARTICLES: Any
    MARKS_OF_FORMS: Any
    PREFIXES: Any
    VOICED: Any
    ENDINGS: Any
    SCRIPTS_WITH_MARKS: Any
    BEHIND_MIN: Any
    ZWNJ: Any

class KinMaker:
    def __init__(self, languages: _Languages, rules: Any) -> None: ...
    def of(self, word: str, names: tuple[str, ...], own: str | None) -> Kin | None: ...
    def core(self, word: str, before: tuple[str, ...]) -> str: ...

def patterns(beginnings: Iterable[str], before: tuple[str, ...]) -> list[bytes]: ...
