from sonicpy._native.object_change import ObjectChange
from sonicpy._native.object_record import ObjectRecord

class RemoveTerms(ObjectChange):
    deleted_blocks: list[bytes]
    used_up: list[int]
    common: list[tuple[bytes, bytes]]
    deleted_words: list[bytes]
    deleted_common: list[bytes]
    deleted_terms: list[bytes]
    removed: int
    removed_shown: int
    def __init__(self, bucket: int, iid: int, words: list[bytes], record: ObjectRecord) -> None: ...
    def words(self) -> list[tuple[bytes, bytes]]: ...
    def record(self) -> bytes | None: ...
