from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from sonicpy._native.lengths import Lengths
from sonicpy._native.name_map import NameMap
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import BufferedRow
from sonicpy._native.term_cache import TermCache
from sonicpy._native.terms import Terms

_Kind = TypeVar("_Kind", bound=Counters)
_Rows = list[tuple[bytes, bytes]]

class _Tables(Protocol):
    def read_names(self, key: bytes) -> bytes | None: ...
    def find_among(self, iids: tuple[int, ...], oid: bytes) -> tuple[int, ObjectRecord] | None: ...
    def read_words(self, keys: list[bytes]) -> _Rows: ...
    def read_blocks(self, keys: list[bytes]) -> list[tuple[bytes, bytes] | None]: ...
    def read_terms(self, term_ids: list[int]) -> dict[int, bytes]: ...
    def end_digest(self, iid: int) -> None: ...
    def write_push(
        self,
        iid: int,
        rewritten: list[int] | None,
        new_terms: list[tuple[int, bytes]] | None,
        appeared: list[bytes] | None,
        record: bytes | None,
        blocks: _Rows | None,
    ) -> None: ...
    def write_cut(
        self,
        iid: int,
        vanished: list[bytes] | None,
        blocks: _Rows | None,
        deleted_blocks: list[bytes] | None,
        shorter: list[tuple[int, int]] | None,
    ) -> None: ...

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

def unpack_counters(kind: type[_Kind], row: bytes) -> _Kind: ...
def count_states(rows: Iterable[tuple[bytes, bytes]], prefix: bytes, place: int) -> int: ...

class PushWriter:
    def __init__(
        self,
        counters: Counters,
        tables: _Tables,
        terms: TermCache,
        names: NameMap,
        newest: BufferedRow,
        lengths: Lengths,
        by_association: bool,
        letters: bool,
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
    def forget_named(self) -> None: ...
    def found(self, oid: str) -> tuple[int, ObjectRecord] | None: ...
