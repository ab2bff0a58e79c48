from collections.abc import Iterable
from typing import TypeVar

_Kind = TypeVar("_Kind", bound=Counters)

class Counters:
    bucket: int
    next_iid: int
    next_term: int
    objects: int
    total_length: int
    live_words: int
    pending_seq: int
    lexicon_version: int
    graph_words: int
    graph_seq: int
    named: int
    slices: int
    average_length: float
    def __init__(
        self,
        bucket: int,
        next_iid: int = 0,
        next_term: int = 0,
        objects: int = 0,
        total_length: int = 0,
        live_words: int = 0,
        pending_seq: int = 0,
        lexicon_version: int = 0,
        graph_words: int = 0,
        graph_seq: int = 0,
        named: int = 0,
        slices: int = 0,
    ) -> None: ...
    def pack(self) -> bytes: ...

def unpack_counters(kind: type[_Kind], row: bytes) -> _Kind: ...
def count_states(rows: Iterable[tuple[bytes, bytes]], prefix: bytes, place: int) -> int: ...
