from sonicpy._native.length_masks import LengthMasks
from sonicpy._native.plan import Plan
from sonicpy._native.term_rows import TermInfo
from sonicpy.store.views.bucket_reader import BucketReader

class QueryState:
    plan: Plan
    reader: BucketReader
    rows: list[TermInfo | None]
    newest: int
    made_bytes: int
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
