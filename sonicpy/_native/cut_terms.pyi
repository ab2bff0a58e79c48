from sonicpy._native.add_terms import AddTerms
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.term_cache import TermCache

class CutTerms(AddTerms):
    deleted_blocks: list[bytes]
    removed: int
    removed_shown: int
    def left(self) -> list[tuple[int, int]]: ...

def cut_terms(
    bucket: int, iid: int, words: list[bytes], record: ObjectRecord, cache: TermCache, letters: bool, skips: bool
) -> CutTerms: ...
