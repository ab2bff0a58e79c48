"""Settings files and keys of other versions of Sonic load, with messages about keys that have no effect here."""

from pathlib import Path

import pytest

from sonicpy.config import Config, load
from sonicpy.config.legacy import ALIASES, KNOWN, OLD_SEARCH_KEYS, ROCKSDB_KEYS, SECTIONS, UNUSED, Given, resolve
from sonicpy.config.settings import FIELDS

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


def test_an_unknown_key_is_a_warning_that_names_the_nearest(tmp_path: Path) -> None:
    for key, nearest in UNKNOWN:
        path = write(tmp_path, f"{key} = 1")
        assert load(path, {}, {}).warnings == (
            f"{path}:1: {key} is not a known key and is ignored; the nearest known key is {nearest}.",
        )


def test_a_key_like_no_other_gets_no_advice(tmp_path: Path) -> None:
    for line in ("zzz = 1", "zzz = {}", "[zzz]"):
        path = write(tmp_path, line)
        assert load(path, {}, {}).warnings == (f"{path}:1: zzz is not a known key and is ignored.",)


def test_an_empty_section_says_nothing(tmp_path: Path) -> None:
    for section in SECTIONS:
        loaded = load(write(tmp_path, f"[{section}]\n"), {}, {})
        assert (loaded.config, loaded.remarks) == (Config(), ())


EMPTY_PASSWORDS = [
    ('channel.auth_password = ""', {}, None, "FILE"),
    ("", {"SONIC_CHANNEL__AUTH_PASSWORD": ""}, None, "environment variable SONIC_CHANNEL__AUTH_PASSWORD"),
    ('channel.auth_password = "${env.P}"', {"P": ""}, None, "FILE"),
    (
        'channel.auth_password = "kept"',
        {"SONIC_CHANNEL__AUTH_PASSWORD": ""},
        "kept",
        "environment variable SONIC_CHANNEL__AUTH_PASSWORD",
    ),
]


def test_an_empty_password_counts_as_not_given(tmp_path: Path) -> None:
    for content, environ, password, where in EMPTY_PASSWORDS:
        path = write(tmp_path, content)
        loaded = load(path, environ, {})
        assert loaded.config.channel.auth_password == password
        assert loaded.warnings == (
            f"{where.replace('FILE', f'{path}:1')}: channel.auth_password is empty and counts as not given.",
        )


def test_keys_of_rocksdb_are_accepted_whatever_they_hold() -> None:
    for key in sorted(ROCKSDB_KEYS):
        resolved = resolve([Given(key, ["anything"], "file")])
        assert (resolved.values, resolved.warnings, resolved.ignored) == ({}, [], [key])


def test_every_second_name_leads_to_a_key_and_none_is_a_key_itself() -> None:
    assert {*ALIASES.values(), *OLD_SEARCH_KEYS.values()} <= set(FIELDS)
    assert not {*ALIASES, *OLD_SEARCH_KEYS, *ROCKSDB_KEYS} & set(FIELDS)
    assert len(KNOWN) == len(set(KNOWN))
    assert set(KNOWN) >= UNUSED
