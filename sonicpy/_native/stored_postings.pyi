class StoredPostings:
    bucket: int
    term_id: int
    df: int
    tail_lower: int
    size_bytes: int

    def __init__(
        self,
        bucket: int,
        term_id: int,
        df: int,
        rows: list[bytes],
        tail: bytes,
        tail_lower: int,
        lengths: bytes | bytearray,
    ) -> None: ...
    def extend(self, df: int, rows: list[bytes], tail: bytes, tail_lower: int, lengths: bytes | bytearray) -> None: ...
    @staticmethod
    def of_blocks(
        bucket: int, term_id: int, df: int, blocks: list[bytes], lengths: bytes | bytearray, skipped: int = 0
    ) -> StoredPostings: ...
    def __len__(self) -> int: ...
