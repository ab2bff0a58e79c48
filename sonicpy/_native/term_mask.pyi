from typing import Protocol, final

from sonicpy._native.length_masks import LengthMasks
from sonicpy._native.mask import Bits, Mask
from sonicpy._native.query_state import QueryState
from sonicpy._native.stored_postings import StoredPostings
from sonicpy._native.term_rows import TermInfo
from sonicpy.store.disk.table_numbers import StoredRow

@final
class Holders(Mask):
    def __init__(self, windows: int, query: QueryState, number: int) -> None: ...

class _ReadsBlocks(Protocol):
    def read_blocks(self, keys: list[bytes]) -> list[StoredRow]: ...

def lists_of(reader: _ReadsBlocks, lists: list[list[StoredPostings]], lengths: LengthMasks) -> QueryState: ...
def matching(query: QueryState) -> Bits: ...
def count_in_tails(rows: list[TermInfo], among: Bits) -> list[int | None]: ...
def count_each(query: QueryState, among: Bits) -> list[int]: ...
