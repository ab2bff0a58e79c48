SPECIAL: int
STOP: int
PART: int

class Terms:
    words: list[bytes]
    counts: bytes
    flags: bytes
    typed: list[int]
    last: int
    languages: bytes
    piece: bytes | None
    @property
    def order(self) -> list[int] | None: ...
    def __init__(
        self,
        words: list[bytes],
        counts: bytes,
        flags: bytes,
        typed: list[int] | None = None,
        last: int = -1,
        languages: bytes = b"",
    ) -> None: ...
    def __len__(self) -> int: ...
