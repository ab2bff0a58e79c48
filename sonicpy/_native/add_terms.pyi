from sonicpy._native.growing_record import GrowingRecord
from sonicpy._native.object_change import ObjectChange
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.term_cache import TermCache
from sonicpy._native.terms import Terms

class AddTerms(ObjectChange):
    changed: bool
    next_term: int
    def __init__(
        self,
        bucket: int,
        iid: int,
        terms: Terms,
        record: ObjectRecord | GrowingRecord,
        next_term: int,
        cache: TermCache,
        by_association: bool = False,
        letters: bool = False,
    ) -> None: ...
    def take_rows(self, found: list[tuple[bytes, bytes]]) -> list[bytes]: ...
    def take_blocks(self, found: list[tuple[bytes, bytes] | None]) -> None: ...
    def finish(self) -> None: ...
    def new_terms(self) -> list[tuple[int, bytes]]: ...
    def record(self) -> bytes: ...
