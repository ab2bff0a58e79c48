EDGE_BUDGET: int

class Corrections:
    @property
    def matches(self) -> list[tuple[bytes, int]]: ...
    @property
    def whole(self) -> bool: ...

def likeliest_first(
    typed: bytes, words: list[bytes], holders: list[int], compared: int, letter_worth: float
) -> list[int]: ...
