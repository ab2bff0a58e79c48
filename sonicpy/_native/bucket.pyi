from typing import Protocol, type_check_only

from sonicpy._native.lengths import Lengths
from sonicpy._native.name_map import NameMap
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import BufferedRow
from sonicpy._native.term_cache import TermCache
from sonicpy._native.terms import Terms

_Rows = list[tuple[bytes, bytes]]

@type_check_only
class PushTables(Protocol):
    def read_names(self, key: bytes) -> bytes | None: ...
    def find_among(self, iids: tuple[int, ...], oid: bytes) -> tuple[int, ObjectRecord] | None: ...
    def read_words(self, keys: list[bytes]) -> _Rows: ...
    def read_blocks(self, keys: list[bytes]) -> list[tuple[bytes, bytes] | None]: ...
    def write_blocks(self, rows: _Rows) -> None: ...
    def put_impacts(self, blocks: _Rows) -> None: ...
    def write_terms(self, terms: list[tuple[int, bytes]]) -> None: ...
    def note_appeared(self, keys: list[bytes]) -> None: ...
    def put_record(self, iid: int, record: bytes) -> None: ...

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
        self,
        counters: Counters,
        terms: TermCache,
        names: NameMap,
        newest: BufferedRow,
        lengths: Lengths,
        tables: PushTables,
        by_association: bool = False,
        letters: bool = False,
    ) -> None: ...
    def push(self, oid: str, terms: Terms, *, new: bool = False) -> bool: ...
