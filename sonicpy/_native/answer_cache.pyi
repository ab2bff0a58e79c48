from collections.abc import Hashable

ROOM: int
OVERHEAD: int
ENTRY_BYTES: int
LONGEST: int

_Moment = tuple[object, ...] | None
"""The state of a bucket: the serial of its reader's cache, the version of its word graph, and the synonyms of its
collection; of several, the state of each. None: there was no bucket."""
_Kept = tuple[int, _Moment, list[str]]
"""The stamp of the store (`Store.readable_stamp`), the moment of the bucket, the answer."""

class AnswerCache:
    def __init__(self) -> None: ...
    def get(self, question: Hashable) -> _Kept | None: ...
    def put(self, question: Hashable, kept: _Kept) -> None: ...
