from collections.abc import Callable, Container

from sonicpy._native.term_rows import TermInfo

def nearest_held(
    words_of: Callable[[list[bytes]], list[TermInfo | None]],
    typed: bytes,
    matches: list[tuple[bytes, int]],
    wanted: int,
    besides: Container[bytes],
    *,
    live: bool,
    examined: int,
    compared: int,
    letter_worth: float,
) -> list[tuple[bytes, TermInfo, int]]: ...
def likeliest_first(
    typed: bytes, words: list[bytes], holders: list[int], compared: int, letter_worth: float
) -> list[int]: ...
def likeliest_misspelt(
    typed: bytes,
    found: list[tuple[bytes, TermInfo, int]],
    taken: Container[bytes],
    compared: int,
    letter_worth: float,
) -> list[tuple[bytes, TermInfo, int]]: ...
def held_beginnings(
    words: list[bytes], rows: list[TermInfo | None], errors: dict[bytes, int] | None, live: bool, most: int
) -> list[tuple[bytes, TermInfo, int]]: ...
def most_frequent(found: list[tuple[bytes, TermInfo, int]], most: int) -> list[tuple[bytes, TermInfo, int]]: ...
