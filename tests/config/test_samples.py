"""Whole settings files, as the versions of Sonic write them, are read unchanged; they are made from the lists of
keys.
"""

from pathlib import Path

from sonicpy.config import Config, load
from sonicpy.config.legacy import UNUSED
from sonicpy.config.settings import FIELDS, value_of

SAMPLES = Path(__file__).parent / "samples"

ENVIRONMENTS = {
    "1.4": {"LEVEL": "info", "ADDRESS": "0.0.0.0:1491", "SECRET": "s3cret", "FOLDER": "/srv/store"},
    "1.5": {
        "SONIC_CHANNEL__SEARCH__QUERY_LIMIT_DEFAULT": "30",
        "sonic_channel__auth_password": "from-outside",
        "SONIC_STORE__KV__DATABASE__FLUSH_AFTER": "998",
    },
    "1.10": {"SONIC_PASSWORD": "open"},
}

CHANGED: dict[str, dict[str, object]] = {
    "1.0": {
        "channel.inet": ("[::1]:1491",),
        "server.log_level": "error",
        "channel.tcp_timeout": 240,
        "channel.auth_password": "SecretPassword",
        "search.query_limit_default": 12,
        "search.query_limit_maximum": 120,
        "search.query_alternates_try": 3,
        "search.suggest_limit_default": 6,
        "search.suggest_limit_maximum": 21,
        "store.kv.path": Path("data/store/kv"),
        "store.kv.retain_word_objects": 900,
        "store.fst.pool.inactive_after": 301,
        "store.fst.graph.consolidate_after": 181,
    },
    "1.3": {
        "channel.inet": ("127.0.0.1:14910",),
        "channel.tcp_timeout": 60,
        "search.query_limit_default": 20,
        "search.query_limit_maximum": 20,
        "search.query_alternates_try": 0,
        "store.kv.path": Path("/srv/sonic/kv"),
        "store.kv.retain_word_objects": 250,
        "store.fst.pool.inactive_after": 120,
        "store.fst.graph.consolidate_after": 60,
        "store.fst.graph.max_size": 4096,
        "store.fst.graph.max_words": 500000,
    },
    "1.4": {
        "server.log_level": "info",
        "channel.inet": ("0.0.0.0:1491",),
        "channel.auth_password": "s3cret",
        "search.query_limit_maximum": 200,
        "search.suggest_limit_maximum": 50,
        "search.list_limit_default": 250,
        "search.list_limit_maximum": 1000,
        "store.kv.path": Path("/srv/store"),
        "store.kv.retain_word_objects": 5000,
        "store.fst.graph.max_words": 100000,
    },
    "1.5": {
        "server.log_level": "debug",
        "channel.inet": ("[::]:1491",),
        "channel.auth_password": "from-outside",
        "search.query_limit_default": 30,
        "search.suggest_limit_default": 7,
        "store.kv.path": Path("/var/lib/sonic/store/kv"),
        "store.fst.pool.inactive_after": 200,
        "store.fst.graph.consolidate_after": 100,
    },
    "1.7": {
        "server.log_level": "info",
        "channel.inet": ("0.0.0.0:1491",),
        "channel.auth_password": 'pass"word\\',
        "normalization.unicode_normalization": "none",
        "normalization.diacritic_folding_enabled": True,
        "normalization.stemming_enabled": True,
        "search.stemming": "off",
        "stopwords.allow": ("order", "will"),
        "stopwords.deny": ("lorem", "ipsum"),
        "search.query_limit_default": 25,
        "search.query_alternates_try": 8,
        "search.suggest_limit_default": 3,
        "search.list_limit_default": 50,
        "store.kv.path": Path("data/store/kv"),
        "store.kv.retain_word_objects": 2000,
        "store.fst.graph.max_size": 1024,
        "store.fst.graph.max_words": 50000,
    },
    "1.8": {
        "channel.tcp_timeout": 900,
        "tokenization.compat_split_special_patterns": False,
        "search.query_minimum_term_idf_default": 0.25,
        "search.query_minimum_term_idf_minimum_object_count": 1000,
        "store.kv.path": Path("kv"),
    },
    "1.10": {
        "server.log_level": "trace",
        "channel.inet": ("192.0.2.1:2000",),
        "channel.tcp_timeout": 0,
        "channel.auth_password": "open",
        "normalization.unicode_normalization": "nfc",
        "normalization.diacritic_folding_enabled": True,
        "tokenization.detect_special_patterns": False,
        "tokenization.compat_split_special_patterns": False,
        "stopwords.allow": ("not",),
        "search.query_limit_default": 1,
        "search.query_limit_maximum": 65535,
        "search.query_alternates_try": 2,
        "search.query_minimum_term_idf_default": 0.0,
        "search.query_minimum_term_idf_minimum_object_count": 50,
        "search.suggest_limit_default": 2,
        "search.suggest_limit_maximum": 30,
        "search.list_limit_default": 600,
        "search.list_limit_maximum": 600,
        "store.kv.path": Path("data/store/kv"),
        "store.kv.retain_word_objects": 100000,
        "store.fst.pool.inactive_after": 400,
        "store.fst.graph.consolidate_after": 200,
        "store.fst.graph.max_size": 8192,
        "store.fst.graph.max_words": 1000000,
    },
}
"""Version of Sonic -> the settings of its file that have an effect and differ from the defaults of the default mode."""

OLD_SEARCH = {
    "1.0": "12: channel.search is the old name of search; it still works and overrides search (query_limit_default, "
    "query_limit_maximum, query_alternates_try, suggest_limit_default, suggest_limit_maximum).",
    "1.3": "10: channel.search is the old name of search; it still works and overrides search (query_limit_default, "
    "query_limit_maximum, query_alternates_try).",
    "1.4": "12: channel.search is the old name of search; it still works and overrides search (query_limit_default, "
    "query_limit_maximum, suggest_limit_maximum, list_limit_default, list_limit_maximum).",
    "1.5": "7: channel.search is the old name of search; it still works and overrides search (query_limit_default, "
    "suggest_limit_default).",
}
"""Version of Sonic -> its only warning, from the line number on; the other versions have none."""


POOL, FST = "store.kv.pool.inactive_after", "store.fst.path"
IGNORED = {
    "1.0": (POOL, "compress parallelism max_files max_compactions max_flushes", FST),
    "1.3": (POOL, "flush_after compress parallelism max_compactions max_flushes write_buffer write_ahead_log", FST),
    "1.4": (
        POOL,
        "flush_after compress parallelism max_files max_compactions max_flushes write_buffer write_ahead_log",
        FST,
    ),
    "1.5": (POOL, "flush_after max_files write_buffer", FST),
    "1.7": (POOL, "flush_after compress parallelism max_compactions max_flushes write_buffer write_ahead_log", FST),
    "1.8": (
        POOL,
        "flush_after write_ahead_log compression_type parallelism max_files max_subcompactions max_background_jobs "
        "write_buffer_size",
        FST,
    ),
    "1.10": (
        POOL,
        "flush_after write_ahead_log compression compress compression_level compression_start_level parallelism "
        "max_open_files write_buffer max_compactions max_flushes max_write_buffer_number min_write_buffer_number "
        "min_write_buffer_number_to_merge block_cache_size cache_index_and_filter_blocks wal_compression "
        "wal_ttl_seconds wal_size_limit_mb wal_bytes_per_sync wal_recovery_mode level0_file_num_compaction_trigger "
        "level0_slowdown_writes_trigger level0_stop_writes_trigger max_bytes_for_level_base "
        "max_bytes_for_level_multiplier target_file_size_base stats_dump_period_sec",
        FST,
    ),
}
"""Version of Sonic -> its keys without effect here: before, in and after store.kv.database."""


def sample(version: str) -> Path:
    return SAMPLES / f"sonic-{version}.cfg"


def test_a_sample_is_read_unchanged() -> None:
    for version in CHANGED:
        loaded = load(sample(version), ENVIRONMENTS.get(version, {}), {})
        default = Config()
        changed = {
            key: value_of(loaded.config, key)
            for key in FIELDS
            if key not in UNUSED and value_of(loaded.config, key) != value_of(default, key)
        }
        assert changed == CHANGED[version]
        expected = OLD_SEARCH.get(version)
        assert loaded.warnings == ((f"{sample(version)}:{expected}",) if expected else ())


def test_a_sample_is_read_unchanged_in_compat_mode() -> None:
    for version in CHANGED:
        environ = ENVIRONMENTS.get(version, {}) | {"SONIC_SERVER__COMPAT": "sonic"}
        config = load(sample(version), environ, {}).config
        assert config.search.ranking == "sonic"
        assert {key: value_of(config, key) for key in CHANGED[version]} == CHANGED[version]


def test_what_means_nothing_here_is_named_once() -> None:
    for version in CHANGED:
        before, database, after = IGNORED[version]
        expected = (before, *(f"store.kv.database.{name}" for name in database.split()), after)
        loaded = load(sample(version), ENVIRONMENTS.get(version, {}), {})
        assert loaded.ignored == expected
        remarks = [remark for remark in loaded.remarks if "have no effect here" in remark]
        assert remarks == [f"These settings have no effect here and are ignored: {', '.join(expected)}."]


def test_every_sample_is_tested() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == {sample(version).name for version in CHANGED}
