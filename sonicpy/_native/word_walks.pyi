from sonicpy._native.letter_folding import Folding
from sonicpy._native.stem_ends import StemEnds
from sonicpy._native.word_source import WordSource

EDGE_BUDGET: int

def find_words(
    sources: list[WordSource],
    patterns: list[bytes],
    folding: Folding,
    *,
    distance: int = 0,
    begins: bool = False,
    swaps: bool = True,
    spelled: bool = False,
    joined: bool = False,
    besides: bytes = b"",
    most: int = 100_000,
    budget: int = ...,
    ends: StemEnds | None = None,
    stem: bytes = b"",
) -> dict[bytes, int]: ...
