"""The rows of the `meta` table: facts about a whole store.

To add one, add a `MetaKey` to KEYS; `docs/storage-format.md` has to name it in the row of `meta`.
"""

import json
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from sonicpy._native.varint import DamagedBytes, pack_varints, unpack_varints
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.store.disk.table_numbers import META, SMALL_COUNTS
from sonicpy.store.rows.uses import KNOWN, check_known, unknown

if TYPE_CHECKING:
    from sonicpy.store.disk.environment import Environment
    from sonicpy.store.disk.transaction import Transaction


Value = TypeVar("Value")

FORMAT_VERSION = 5
"""The format of a store that uses nothing of `uses.KNOWN`."""
LISTED_FORMAT = 6
"""The format of a store that uses features of `uses.KNOWN`: the row `uses` names them."""
OLDER_FORMATS = ("4",)
"""The formats that this version reads, and that the first commit turns into today's."""
READABLE_FORMATS = (*OLDER_FORMATS, str(FORMAT_VERSION), str(LISTED_FORMAT))
CONVERTED_FORMAT = 3
"""The format that `care/convert.py` reads."""

OPEN_ONCE = "open it for writing once, by a server or by `sonicpy.open`: that converts it"
"""The advice for a store of the format that can be converted."""
RESTORE_ELSEWHERE = (
    "restore it with the version that wrote it and open that store here, or export it there and import it here"
)
"""The advice for a backup of the format that can be converted."""

ORDER = "order of postings"
"""A key of the analyzer: the order of postings lists. "object": by IID; "association": by the time at which objects
gained the word, as in Sonic."""
BY_OBJECT = "object"
BY_ASSOCIATION = "association"


class MetaKey(NamedTuple, Generic[Value]):
    """The description of a row of `meta`: its key, and the functions that pack and unpack its value."""

    name: bytes
    pack: Callable[[Value], bytes]
    unpack: Callable[[bytes], Value]

    def read(self, transaction: "Transaction") -> Value | None:
        """Return the value, or None if the row is missing.

        Raises:
            StoreDamaged: the row cannot be read.
        """
        row = transaction.get(META, self.name)
        try:
            return None if row is None else self.unpack(row)
        except ValueError as error:  # DamagedBytes among them
            raise StoreDamaged(f"the row {self.name.decode()!r} of meta cannot be read: {error}") from error

    def write(self, transaction: "Transaction", value: Value) -> None:
        """Write the value. Raises StoreError as `Transaction.put` does."""
        transaction.put(META, self.name, self.pack(value))


def _pack_text(text: str) -> bytes:
    return text.encode()


def _unpack_text(row: bytes) -> str:
    return row.decode("ascii", "replace")


def _pack_number(number: int) -> bytes:
    return pack_varints((number,))


def _unpack_number(row: bytes) -> int:
    numbers = unpack_varints(row)
    if len(numbers) != 1:
        raise DamagedBytes(f"it holds {len(numbers)} numbers instead of one")
    return numbers[0]


def _unpack_progress(row: bytes) -> tuple[int, int]:
    numbers = unpack_varints(row)
    if len(numbers) != 2:
        raise DamagedBytes(f"it holds {len(numbers)} numbers instead of two")
    return numbers[0], numbers[1]


def _pack_settings(settings: Mapping[str, str]) -> bytes:
    return json.dumps(dict(settings), sort_keys=True).encode()


@lru_cache(maxsize=8)  # readers need it at every commit
def _unpack_settings(row: bytes) -> Mapping[str, str]:
    settings = _unpack_json(row)
    if not isinstance(settings, dict):
        raise ValueError("it is no JSON object")
    return settings


def _unpack_json(row: bytes) -> Any:
    try:
        return json.loads(row)
    except RecursionError as error:  # as any other damage
        raise ValueError("it is nested too deeply") from error


def _pack_names(names: Collection[str]) -> bytes:
    return json.dumps(sorted(names)).encode()


def _unpack_names(row: bytes) -> frozenset[str]:
    names = _unpack_json(row)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("it is no list of names")
    return frozenset(names)


FORMAT: MetaKey[str] = MetaKey(b"format", _pack_text, _unpack_text)
"""The format version of the store. Missing while the store is being created."""
ANALYZER: MetaKey[Mapping[str, str]] = MetaKey(b"analyser", _pack_settings, _unpack_settings)
"""The analysis settings, by key: they decide which terms of a text are stored."""
POSITION: MetaKey[int] = MetaKey(b"position", _pack_number, _unpack_number)
"""The log position of the last commit."""
NEXT_BUCKET: MetaKey[int] = MetaKey(b"next bucket", _pack_number, _unpack_number)
"""The id of the next new bucket."""

NOT_ALWAYS_NOTED = frozenset({"stopwords.allow", "stopwords.deny"})
"""Keys of the analyzer that have an effect only in some modes. Older versions wrote them in every mode."""

MODE = "server.compat"
"""The key of the analyzer from which others follow: if its value differs, the error names only this key."""

SETTINGS = (MODE, "normalization.", "tokenization.", "stopwords.")
"""The prefixes of keys of the analyzer that are settings; the other keys are versions of the analysis."""
SET_BACK = "set it back, or push the texts again into a new store"
"""The advice for a store whose texts were analysed differently. An export would not help: it contains the old terms,
which queries with another analysis miss."""
MAKE_ANEW = "export and import into a new store, or push the texts again into one"

CONVERSION: MetaKey[tuple[int, int]] = MetaKey(b"conversion", pack_varints, _unpack_progress)
"""The progress of a conversion from the old format: buckets below the first number are not converted, and in the first
of them by name the objects from the second number on. Missing in other stores."""

EMPTIED = b"emptied "
"""The prefix of the keys of rows without a value; the name of a collection follows. The collection has once lost all
its buckets: as in Sonic, it exists until it is flushed itself."""
FLUSHING = b"flushing "
"""The prefix of the keys that `flushing` returns; the name of a collection follows."""


def flushing(collection: str) -> MetaKey[int]:
    """Return the meta key that marks a collection as being removed; its value is the first bucket id to keep."""
    return MetaKey(FLUSHING + collection.encode(), _pack_number, _unpack_number)


REPLICA: MetaKey[Mapping[str, Any]] = MetaKey(b"replica", _pack_settings, _unpack_settings)
"""The `LogProgress` of a replica. Missing in a store that is no replica."""

CHANGES: MetaKey[bytes] = MetaKey(b"changes", bytes, bytes)
"""The changes of the last commits, packed by `changes.py`. Missing in a store that an older version wrote last."""

USES: MetaKey[Collection[str]] = MetaKey(b"uses", _pack_names, _unpack_names)
"""The names, of `uses.KNOWN`, of the rules, fields and tables in use. Missing in a store that uses none."""

SMALL_ROWS: MetaKey[Collection[int]] = MetaKey(SMALL_COUNTS, pack_varints, unpack_varints)
"""The numbers of rows in small buckets, by table of SMALL_TABLES; `Transaction` writes them. Missing without these."""

KEYS = (FORMAT, ANALYZER, POSITION, NEXT_BUCKET, CONVERSION, REPLICA, CHANGES, USES, SMALL_ROWS)


def uses_of(transaction: "Transaction") -> frozenset[str]:
    """Return the names of the features that a store uses beyond format 5."""
    return frozenset(USES.read(transaction) or ())


def require(transaction: "Transaction", name: str) -> None:
    """Note that a store uses a rule, a field or a table, in the transaction of its first use.

    Args:
        name: a key of `uses.KNOWN`.

    Raises:
        KeyError: `name` is not in `uses.KNOWN`.
        StoreError: the row could not be written.
    """
    KNOWN[name]
    names = uses_of(transaction)
    if name not in names:
        USES.write(transaction, names | {name})
        note_format(transaction)


def note_format(transaction: "Transaction") -> None:
    """Note the format of a store: whether it has a list of features in use."""
    FORMAT.write(transaction, str(LISTED_FORMAT if uses_of(transaction) else FORMAT_VERSION))


def is_readable(transaction: "Transaction") -> bool:
    """Return whether this version of sonicpy can read the format of the store."""
    return FORMAT.read(transaction) in READABLE_FORMATS and not unknown(uses_of(transaction))


def write_identity(transaction: "Transaction", analyzer: Mapping[str, str]) -> None:
    """Write the format and the analyzer of a new store."""
    note_format(transaction)
    ANALYZER.write(transaction, analyzer)


def check_format(transaction: "Transaction", what: str = "the store", advice: str = OPEN_ONCE) -> None:
    """Raise StoreError unless this version knows the format of the store and each feature that it uses.

    Args:
        what: "the store" or "the backup", for the message.
        advice: the advice, for the message, about a store of the format that can be converted.
    """
    found = FORMAT.read(transaction)
    if found not in READABLE_FORMATS:
        if found != str(CONVERTED_FORMAT):
            advice = "export it with the version that wrote it and import it here"
        known = f"{', '.join(READABLE_FORMATS[:-1])} and {READABLE_FORMATS[-1]}"
        raise StoreError(f"{what} has format version {found or 'none'}, this sonicpy reads {known}: {advice}")
    check_known(uses_of(transaction), what)


def as_made(
    stored: Mapping[str, str] | None, analyzer: Mapping[str, str], older: Mapping[str, str] | None
) -> Mapping[str, str]:
    """Return those analysis settings by which a store was made: `older`, if it has all values in which they differ.

    Args:
        stored: the settings of the store; None: it is new.
        analyzer: the settings of new stores.
        older: the settings of older stores that keep them; None: there are none.
    """
    if not stored or older is None:
        return analyzer
    differing = [key for key in {*analyzer, *older} if analyzer.get(key) != older.get(key)]
    return older if all(stored.get(key) == older.get(key) for key in differing) else analyzer


def made_by(
    environment: "Environment", analyzer: Mapping[str, str], older: Mapping[str, str] | None
) -> Mapping[str, str]:
    """Return the analysis settings by which the store of an environment was made; see `as_made`."""
    with environment.reading() as transaction:
        return as_made(ANALYZER.read(transaction), analyzer, older)


def check_analyzer(folder: Path, transaction: "Transaction", analyzer: Mapping[str, str]) -> None:
    """Raise StoreError unless the store has these analysis settings."""
    stored = ANALYZER.read(transaction) or {}
    for key in sorted({*stored, *analyzer}, key=lambda key: (key != MODE, key)):
        if key in NOT_ALWAYS_NOTED and not (key in stored and key in analyzer):
            continue  # the mode is another key
        if stored.get(key) != analyzer.get(key):
            raise StoreError(
                f"the store {folder} was made with {key} = {_shown(stored.get(key))}, "
                f"not {_shown(analyzer.get(key))}: new texts would get other terms than the texts that it holds; "
                + (SET_BACK if key.startswith(SETTINGS) else MAKE_ANEW)
            )


def _shown(value: str | None) -> str:
    """Return the value of a key of the analyzer, as written in a settings file."""
    if value is None:
        return "unset"
    return value.lower() if value in ("True", "False") else value


def is_by_association(transaction: "Transaction") -> bool:
    """Return whether postings lists are in the order in which objects gained their words, as in Sonic; else by IID."""
    return (ANALYZER.read(transaction) or {}).get(ORDER) == BY_ASSOCIATION


def read_position(transaction: "Transaction") -> int:
    """Return the log position of the last commit."""
    return POSITION.read(transaction) or 0


def take_bucket_id(transaction: "Transaction") -> int:
    """Return the id of a new bucket, which no other bucket gets."""
    number = NEXT_BUCKET.read(transaction) or 0
    NEXT_BUCKET.write(transaction, number + 1)
    return number
