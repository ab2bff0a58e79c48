from sonicpy._native.length_masks import LengthMasks
from sonicpy._native.plan import PlannedList
from sonicpy._native.stored_postings import StoredPostings

class QueryTerms:
    def __init__(
        self,
        lengths: bytes | bytearray | LengthMasks,
        average: float,
        k1: float,
        b: float,
        exponent: float,
        *,
        full_first: bool = True,
    ) -> None: ...
    @property
    def ceiling(self) -> float: ...
    def add_term(self, weight: float, *, brings: bool = True, required: bool = False) -> None: ...
    def add_lists(self, lists: list[PlannedList], postings: list[StoredPostings]) -> None: ...
    def add_words(
        self, postings: list[StoredPostings], weight: float, exact_weight: float = 0.0, *, kind: int = 1
    ) -> None: ...
    def give(self, rows: list[tuple[bytes, bytes]]) -> None: ...
