from sonicpy._native.lengths import Lengths
from sonicpy._native.names import WaitingNames
from sonicpy._native.objects import NewestRow
from sonicpy._native.term_cache import TermCache
from sonicpy._native.terms import Terms

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

class PushWriter:
    def __init__(
        self, counters: Counters, terms: TermCache, names: WaitingNames, newest: NewestRow, lengths: Lengths
    ) -> None: ...
    def push(self, oid: str, terms: Terms, window: int, *, new: bool = False) -> bool: ...
