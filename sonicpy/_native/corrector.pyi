from sonicpy._native.term_rows import TermInfo

EDGE_BUDGET: int

class Corrections:
    @property
    def matches(self) -> list[tuple[bytes, int]]: ...
    @property
    def whole(self) -> bool: ...

def likeliest_first(
    typed: bytes, words: list[tuple[bytes, TermInfo]], letter_worth: float
) -> list[tuple[bytes, TermInfo]]: ...
