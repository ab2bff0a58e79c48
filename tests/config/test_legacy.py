"""Settings files and keys of other versions of Sonic: they load, and what they cannot mean here is said."""

from pathlib import Path

import pytest

from sonicpy.config import load
from sonicpy.config.legacy import ALIASES, KNOWN, OLD_SEARCH_KEYS, ROCKSDB_KEYS, UNUSED, Given, resolve
from sonicpy.config.settings import FIELDS

README_2019 = """
[server]
log_level = "error"

[channel]
inet = "[::1]:1491"
tcp_timeout = 300
auth_password = "SecretPassword"

[channel.search]
query_limit_default = 12
query_limit_maximum = 120
query_alternates_try = 3
suggest_limit_default = 6
suggest_limit_maximum = 21

[store]

[store.kv]
path = "./data/store/kv/"
retain_word_objects = 900

[store.kv.pool]
inactive_after = 1800

[store.kv.database]
compress = true
parallelism = 2
max_files = 100
max_compactions = 1
max_flushes = 1

[store.fst]
path = "./data/store/fst/"

[store.fst.pool]
inactive_after = 301

[store.fst.graph]
consolidate_after = 181
"""

SONIC_1_10 = """
[server]
log_level = "debug"

[channel]
inet = "0.0.0.0:1491"
tcp_timeout = 300
auth_password = "${env.SONIC_PASSWORD}"

[normalization]
unicode_normalization = "none"
diacritic_folding_enabled = true
stemming_enabled = false

[tokenization]
detect_special_patterns = true
split_special_patterns = false

[stopwords]
allow = ["order"]
deny = ["lorem"]

[search]
query_limit_default = 10
query_minimum_term_idf_default = 0.2
query_minimum_term_idf_minimum_object_count = 50
list_limit_maximum = 600

[store.kv]
path = "./data/store/kv/"
retain_word_objects = 1000
pool.inactive_after = 1800
database.flush_after = 900
database.compression = "none"
database.max_open_files = 50
database.write_buffer = 8192
database.wal_recovery_mode = "point_in_time"
database.write_ahead_log = true

[store.fst]
path = "./data/store/fst/"
pool.inactive_after = 300
graph.consolidate_after = 180
graph.max_size = 2048
graph.max_words = 250000
"""

UNKNOWN = [
    ("serach.query_limit_default", "search.query_limit_default"),
    ("search.query_limit", "search.query_limit_default"),
    ("server.loglevel", "server.log_level"),
    ("store.kv.database.paralelism", "store.kv.database.parallelism"),
    ("store.kv.database.wal_recovery", "store.kv.database.wal_recovery_mode"),
    ("channel.search.query_minimum_term_idf_default", "search.query_minimum_term_idf_default"),
    ("search.live_words.always", "search.live_words"),
]


def write(folder: Path, content: str) -> Path:
    path = folder / "config.cfg"
    path.write_text(content)
    return path


def test_the_readme_of_2019_loads(tmp_path: Path) -> None:
    path = write(tmp_path, README_2019)
    loaded = load(path, {}, {})
    config = loaded.config
    assert loaded.warnings == (
        f"{path}: channel.search is the old name of search; it still works and overrides search (query_limit_default, "
        "query_limit_maximum, query_alternates_try, suggest_limit_default, suggest_limit_maximum).",
    )
    assert loaded.ignored == (
        "store.kv.pool.inactive_after",
        "store.kv.database.compress",
        "store.kv.database.parallelism",
        "store.kv.database.max_files",
        "store.kv.database.max_compactions",
        "store.kv.database.max_flushes",
        "store.fst.path",
    )
    assert (config.server.log_level, config.channel.auth_password) == ("error", "SecretPassword")
    assert (config.search.query_limit_default, config.search.query_limit_maximum) == (12, 120)
    assert (config.search.suggest_limit_default, config.search.suggest_limit_maximum) == (6, 21)
    assert config.search.query_alternates_try == 3
    assert config.store.kv.retain_word_objects == 900
    assert config.store.kv.path == Path("data/store/kv")
    assert (config.store.fst.pool.inactive_after, config.store.fst.graph.consolidate_after) == (301, 181)
    assert not config.channel.inet_is_default


def test_a_file_of_sonic_1_10_loads(tmp_path: Path) -> None:
    loaded = load(write(tmp_path, SONIC_1_10), {"SONIC_PASSWORD": "open", "SONIC_SERVER__COMPAT": "sonic"}, {})
    config = loaded.config
    assert loaded.warnings == ()
    assert config.channel.auth_password == "open"
    assert config.normalization.diacritic_folding_enabled
    assert not config.tokenization.compat_split_special_patterns
    assert (config.stopwords.allow, config.stopwords.deny) == (("order",), ("lorem",))
    assert config.search.list_limit_maximum == 600
    assert config.search.query_minimum_term_idf_minimum_object_count == 50
    assert config.search.ranking == "sonic"
    database = config.store.kv.database
    assert (database.compression_type, database.max_files, database.write_buffer_size) == ("none", 50, 8192)
    assert "store.kv.database.wal_recovery_mode" in loaded.ignored
    assert "store.kv.database.compression" in loaded.ignored


def test_the_old_section_overrides_the_new_one_in_any_order(tmp_path: Path) -> None:
    content = "channel.search.query_limit_default = 3\nsearch.query_limit_default = 4\n"
    environ = {"SONIC_SEARCH__QUERY_LIMIT_DEFAULT": "5"}
    loaded = load(write(tmp_path, content), environ, {})
    assert loaded.config.search.query_limit_default == 3
    assert len(loaded.warnings) == 1


@pytest.mark.parametrize(("first", "second", "value"), [(1, 2, 2), (2, 1, 1)])
@pytest.mark.parametrize("alias_is_last", [True, False])
def test_of_two_names_the_last_wins(first: int, second: int, value: int, alias_is_last: bool) -> None:
    names = ["store.kv.database.write_buffer_size", "store.kv.database.write_buffer"]
    old, new = names if alias_is_last else reversed(names)
    resolved = resolve([Given(old, first, "file"), Given(new, second, "file")])
    assert resolved.values["store.kv.database.write_buffer_size"].value == value
    assert resolved.ignored == [old, new]


@pytest.mark.parametrize(("key", "nearest"), UNKNOWN)
def test_an_unknown_key_is_a_warning_that_names_the_nearest(tmp_path: Path, key: str, nearest: str) -> None:
    path = write(tmp_path, f"{key} = 1")
    assert load(path, {}, {}).warnings == (
        f"{path}: {key} is not a known key and is ignored; the nearest known key is {nearest}.",
    )


def test_a_key_like_no_other_gets_no_advice(tmp_path: Path) -> None:
    path = write(tmp_path, "zzz = 1")
    assert load(path, {}, {}).warnings == (f"{path}: zzz is not a known key and is ignored.",)


@pytest.mark.parametrize(
    ("content", "environ", "password", "where"),
    [
        ('channel.auth_password = ""', {}, None, "FILE"),
        ("", {"SONIC_CHANNEL__AUTH_PASSWORD": ""}, None, "environment variable SONIC_CHANNEL__AUTH_PASSWORD"),
        ('channel.auth_password = "${env.P}"', {"P": ""}, None, "FILE"),
        (
            'channel.auth_password = "kept"',
            {"SONIC_CHANNEL__AUTH_PASSWORD": ""},
            "kept",
            "environment variable SONIC_CHANNEL__AUTH_PASSWORD",
        ),
    ],
)
def test_an_empty_password_counts_as_not_given(
    tmp_path: Path, content: str, environ: dict[str, str], password: str | None, where: str
) -> None:
    path = write(tmp_path, content)
    loaded = load(path, environ, {})
    assert loaded.config.channel.auth_password == password
    assert loaded.warnings == (
        f"{where.replace('FILE', str(path))}: channel.auth_password is empty and counts as not given.",
    )


@pytest.mark.parametrize("key", sorted(ROCKSDB_KEYS))
def test_keys_of_rocksdb_are_accepted_whatever_they_hold(key: str) -> None:
    resolved = resolve([Given(key, ["anything"], "file")])
    assert (resolved.values, resolved.warnings, resolved.ignored) == ({}, [], [key])


def test_every_second_name_leads_to_a_key_and_none_is_a_key_itself() -> None:
    assert {*ALIASES.values(), *OLD_SEARCH_KEYS.values()} <= set(FIELDS)
    assert not {*ALIASES, *OLD_SEARCH_KEYS, *ROCKSDB_KEYS} & set(FIELDS)
    assert len(KNOWN) == len(set(KNOWN))
    assert set(KNOWN) >= UNUSED
