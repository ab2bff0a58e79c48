from sonicpy._native.counters import Counters
from sonicpy._native.table_access import MixedRows

class WordNotes:
    def __init__(
        self,
        transaction: MixedRows,
        number: bytes,
        table: int,
        pending: dict[bytes, bytes],
        recorded: set[int],
        words: list[bytes] | None,
        begins_small: bool,
    ) -> None: ...
    @property
    def terms(self) -> list[tuple[int, bytes]]: ...
    @property
    def words(self) -> list[bytes]: ...
    def write_terms(self, table: int) -> None: ...
    def add(self, counters: Counters, keys: list[bytes], why: int) -> None: ...
