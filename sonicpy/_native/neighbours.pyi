from sonicpy._native.terms import Terms

TERMS_MAX: int
TOGETHER_MAX: int
DIGITS_TOGETHER_MAX: int

def words_together(terms: Terms) -> dict[bytes, tuple[int, ...]]: ...
