from sonicpy._native.term_rows import TermInfo
from sonicpy.store.views.bucket_reader import BucketReader

def count_together(
    reader: BucketReader, before: list[list[TermInfo]], words: list[TermInfo], window: int = 0
) -> list[int]: ...
