from sonicpy._native.object_change import ObjectChange
from sonicpy._native.object_record import ObjectRecord

class RemoveTerms(ObjectChange):
    deleted_blocks: list[bytes]
    common: list[tuple[bytes, bytes]]
    deleted_words: list[bytes]
    deleted_common: list[bytes]
    deleted_terms: list[int]
    removed: int
    removed_shown: int
    def __init__(
        self,
        bucket: int,
        iid: int,
        words: list[bytes],
        record: ObjectRecord,
        by_association: bool = False,
        letters: bool = False,
    ) -> None: ...
    def take_rows(self, found: list[tuple[bytes, bytes]]) -> list[bytes]: ...
    def take_blocks(self, found: list[tuple[bytes, bytes] | None]) -> None: ...
    def words(self) -> list[tuple[bytes, bytes]]: ...
    def record(self) -> bytes | None: ...
    def left(self) -> list[tuple[int, int]]: ...
