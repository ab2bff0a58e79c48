"""Keys of other versions of Sonic: old names, keys that have no effect here, unknown keys.

Only a plain value in the place of a section is an error; for everything else there is at most a warning.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sonicpy.config.problems import hint, show_whole
from sonicpy.config.settings import FIELDS
from sonicpy.errors import ConfigError

OLD_SEARCH = "channel.search"
OLD_SEARCH_KEYS = {
    f"{OLD_SEARCH}.{name}": f"search.{name}"
    for name in (
        "query_limit_default",
        "query_limit_maximum",
        "query_alternates_try",
        "suggest_limit_default",
        "suggest_limit_maximum",
        "list_limit_default",
        "list_limit_maximum",
    )
}
ALIASES = {
    "tokenization.split_special_patterns": "tokenization.compat_split_special_patterns",
    "store.kv.database.compression": "store.kv.database.compression_type",
    "store.kv.database.max_open_files": "store.kv.database.max_files",
    "store.kv.database.write_buffer": "store.kv.database.write_buffer_size",
}
ROCKSDB_KEYS = frozenset(
    f"store.kv.database.{name}"
    for name in (
        "block_cache_size",
        "cache_index_and_filter_blocks",
        "compress",
        "compression_level",
        "compression_start_level",
        "level0_file_num_compaction_trigger",
        "level0_slowdown_writes_trigger",
        "level0_stop_writes_trigger",
        "level_zero_file_num_compaction_trigger",
        "level_zero_slowdown_writes_trigger",
        "level_zero_stop_writes_trigger",
        "max_background_jobs",
        "max_bytes_for_level_base",
        "max_bytes_for_level_multiplier",
        "max_compactions",
        "max_flushes",
        "max_subcompactions",
        "max_write_buffer_number",
        "min_level_to_compress",
        "min_write_buffer_number",
        "min_write_buffer_number_to_merge",
        "stats_dump_period_sec",
        "target_file_size_base",
        "wal_bytes_per_sync",
        "wal_compression",
        "wal_compression_type",
        "wal_recovery_mode",
        "wal_size_limit_mb",
        "wal_ttl_seconds",
    )
)
"""Keys of Sonic that have neither an effect nor a default here; their values are not checked."""

UNUSED = ROCKSDB_KEYS | {
    "store.fst.path",
    "store.kv.pool.inactive_after",
    *(key for key in FIELDS if key.startswith("store.kv.database.")),
}
KNOWN = (*FIELDS, *OLD_SEARCH_KEYS, *ALIASES, *sorted(ROCKSDB_KEYS))
SECTIONS = {OLD_SEARCH} | {
    key[:position] for key in FIELDS for position, character in enumerate(key) if character == "."
}


@dataclass(frozen=True, slots=True)
class Given:
    """One key and its value, from one source.

    Attributes:
        key: the dotted key as it was written.
        value: the value as the source gives it.
        source: "FILE:LINE", "environment variable NAME" or "flag --name".
    """

    key: str
    value: object
    source: str

    @property
    def where(self) -> str:
        """Return the beginning of a message about this key."""
        return f"{self.source}: {self.key}"


@dataclass(slots=True)
class Resolved:
    """The given keys under their current names: values for the models, warnings, and keys without effect."""

    values: dict[str, Given] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def resolve(given: Iterable[Given]) -> Resolved:
    """Return the given keys under their current names; of several values for one key, the last one counts.

    Args:
        given: the keys and values, in the order from lowest to highest precedence.

    Raises:
        ConfigError: a key that names a section has a plain value.
    """
    resolved = Resolved()
    old_search: list[Given] = []
    for item in given:
        if item.key in SECTIONS:
            raise ConfigError(f"{item.where} is {show_whole(item.value)}; allowed is a section with keys.")
        if item.key in OLD_SEARCH_KEYS:
            old_search.append(item)
        else:
            _take(item, resolved)
    if old_search:
        _take_old_search(old_search, resolved)
    return resolved


def _take(item: Given, resolved: Resolved) -> None:
    key = ALIASES.get(item.key, item.key)
    if key not in FIELDS and key not in ROCKSDB_KEYS:
        resolved.warnings.append(f"{item.where} is not a known key and is ignored{hint(item.key, KNOWN)}.")
        return
    if key == "channel.auth_password" and item.value == "":
        resolved.warnings.append(f"{item.where} is empty and counts as not given.")
        return
    if key in UNUSED and item.key not in resolved.ignored:
        resolved.ignored.append(item.key)
    if key in FIELDS:
        resolved.values[key] = item


def _take_old_search(items: list[Given], resolved: Resolved) -> None:
    # Last, because in Sonic the old section overrides the new one, from whatever source each comes.
    for item in items:
        resolved.values[OLD_SEARCH_KEYS[item.key]] = item
    names = ", ".join(dict.fromkeys(item.key.removeprefix(f"{OLD_SEARCH}.") for item in items))
    resolved.warnings.append(
        f"{items[0].source}: {OLD_SEARCH} is the old name of search; it still works and overrides search ({names})."
    )
