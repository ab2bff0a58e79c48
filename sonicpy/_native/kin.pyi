from collections.abc import Callable, Iterable
from typing import Protocol, final

from sonicpy._native.letter_folding import Folding
from sonicpy._native.stem_ends import StemEnds
from sonicpy._native.word_source import WordSource

CANDIDATES_MAX: int

class _Rules(Protocol):
    def is_spelled(self, word: str, /) -> bool: ...
    def fold(self, word: str, own: str | None, /) -> str: ...
    def patterns(self, kin: Kin, beginnings: Iterable[str], /) -> list[bytes]: ...
    def of_stem(self, found: list[bytes], kin: Kin, stem: Stem, /) -> set[bytes]: ...

@final
class Stem:
    algorithm: str
    folded: str
    start: str
    beginnings: list[bytes]
    ends_of_short: list[bytes]
    ends: StemEnds | None
    stem_words: Callable[[list[str]], list[str]]
    def __init__(
        self,
        algorithm: str,
        stem_words: Callable[[list[str]], list[str]],
        folded: str,
        beginnings: list[bytes],
        start: str,
        ends: StemEnds | None,
        ends_of_short: list[bytes],
    ) -> None: ...

@final
class Kin:
    folded: str
    own: str | None
    kept: str | None
    stems: tuple[Stem, ...]
    before: tuple[str, ...]
    spelled: list[bytes]
    def __init__(
        self,
        folded: str,
        own: str | None,
        stems: tuple[Stem, ...],
        kept: str | None,
        before: tuple[str, ...],
        spelled: list[bytes],
        own_folding: Folding,
        kept_folding: Folding,
        rules: _Rules,
    ) -> None: ...

def spelled_words(sources: list[WordSource], kin: Kin) -> set[bytes]: ...
def drawn(sources: list[WordSource], kin: Kin) -> set[bytes]: ...
def forms_of(sources: list[WordSource], kin: Kin, stem: Stem) -> set[bytes]: ...
def joined_words(sources: list[WordSource], wholes: list[WordSource], kin: Kin, typed: bytes) -> set[bytes]: ...
