from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.plan import Plan
from sonicpy._native.term_rows import TermInfo
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching

TERMS_MAX: int
BRINGING_MAX: int
FAMILIES_MAX: int
READ_MAX: int
COMMON_SHARE: int
COMMON_MIN: int

def similar_plan(
    lexicon: Lexicon, record: ObjectRecord, matching: Matching | None
) -> tuple[Plan, list[TermInfo]] | None: ...
