from collections.abc import Callable
from typing import Protocol

from sonicpy._native.counters import Counters
from sonicpy._native.lengths import Lengths
from sonicpy._native.name_map import NameMap
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import BufferedRow
from sonicpy._native.term_cache import TermCache
from sonicpy._native.terms import Terms
from sonicpy._native.word_notes import WordNotes

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
        record: bytes | None,
        blocks: _Rows | None,
    ) -> None: ...
    def write_cut(
        self,
        iid: int,
        blocks: _Rows | None,
        deleted_blocks: list[bytes] | None,
        shorter: list[tuple[int, int]] | None,
    ) -> None: ...

_WriteGone = Callable[[int, int, ObjectRecord, bool, list[int], _Rows | None, list[bytes] | None], None]

class PushWriter:
    def __init__(
        self,
        counters: Counters,
        tables: _Tables,
        terms: TermCache,
        notes: WordNotes,
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
