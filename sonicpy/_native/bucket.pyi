from collections.abc import Callable, Iterable

from sonicpy._native.lengths import Lengths
from sonicpy._native.name_map import NameMap
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import BufferedRow
from sonicpy._native.term_cache import TermCache
from sonicpy._native.terms import Terms

_Rows = list[tuple[bytes, bytes]]

_Write = Callable[
    [int, list[int] | None, list[tuple[int, bytes]] | None, list[bytes] | None, bytes | None, _Rows | None], None
]

_WriteCut = Callable[[int, list[bytes] | None, _Rows | None, list[bytes] | None, list[tuple[int, int]] | None], None]

_WriteGone = Callable[
    [int, int, ObjectRecord, bool, list[int], list[bytes] | None, _Rows | None, list[bytes] | None], None
]

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

def floor_rows(cursor: object, keys: list[bytes], prefix_bytes: int) -> list[tuple[bytes, bytes] | None]: ...
def count_states(rows: Iterable[tuple[bytes, bytes]], prefix: bytes, place: int) -> int: ...

class PushWriter:
    def __init__(
        self,
        counters: Counters,
        terms: TermCache,
        names: NameMap,
        newest: BufferedRow,
        lengths: Lengths,
        read_names: Callable[[bytes], bytes | None],
        find_among: Callable[[tuple[int, ...], bytes], tuple[int, ObjectRecord] | None],
        read_words: Callable[[list[bytes]], _Rows],
        read_blocks: Callable[[list[bytes]], list[tuple[bytes, bytes] | None]],
        write: _Write,
        by_association: bool = False,
        letters: bool = False,
        read_terms: Callable[[list[int]], dict[int, bytes]] | None = None,
        write_cut: _WriteCut | None = None,
        end_digest: Callable[[int], None] | None = None,
    ) -> None: ...
    keeps_ids: bool
    @property
    def packed_ids(self) -> bytes: ...
    @property
    def begun(self) -> int: ...
    @property
    def ids(self) -> list[int]: ...
    @property
    def added(self) -> list[int]: ...
    def replace(self, oid: str, terms: Terms) -> int: ...
    def push(self, oid: str, terms: Terms, *, new: bool = False) -> bool: ...
    def flush(self, oid: str, most: int, write_gone: _WriteGone) -> int: ...
    def named(self, oid: str) -> tuple[int, ...]: ...
