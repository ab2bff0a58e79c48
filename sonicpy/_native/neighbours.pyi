from sonicpy._native.terms import Terms
from sonicpy._native.word_source import WordSource

TERMS_MAX: int
TOGETHER_MAX: int
DIGITS_TOGETHER_MAX: int

def words_together(terms: Terms, sources: list[WordSource] | None = None) -> dict[bytes, tuple[int, ...]]: ...
