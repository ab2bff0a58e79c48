"""Config made in Python: defaults, compat mode, and the exact sentences about wrong values."""

import pickle
import traceback
from pathlib import Path

import pytest
from pydantic import ValidationError

from sonicpy.config import ChannelConfig, Config, KvConfig, MetricsConfig, SearchConfig, ServerConfig, split_address
from sonicpy.config.settings import FIELDS, SONIC_DEFAULTS, value_of
from sonicpy.errors import ConfigError

SONIC = {"server": {"compat": "sonic"}}

EXPLICIT_WINS = [
    ("search.ranking", "bm25"),
    ("search.live_words", True),
    ("search.suggest_order", "likely"),
    ("stopwords.mode", "weigh"),
    ("normalization.unicode_normalization", "nfkc"),
    ("store.kv.retain_word_objects", 0),
    ("store.kv.durability", "commit"),
    ("store.kv.group_access", "read"),
]

WRONG = [
    ({"server": {"compat": "solr"}}, 'server.compat is "solr"; allowed is "none" or "sonic".'),
    (
        {"server": {"log_level": "loud"}},
        'server.log_level is "loud"; allowed is "off", "error", "warn", "info", "debug" or "trace".',
    ),
    (
        {"search": {"query_limit_maximum": 70000}},
        "search.query_limit_maximum is 70000; allowed is a whole number from 0 to 65535.",
    ),
    (
        {"search": {"query_limit_maximum": True}},
        "search.query_limit_maximum is true; allowed is a whole number from 0 to 65535.",
    ),
    (
        {"search": {"query_limit_maximum": "many"}},
        'search.query_limit_maximum is "many"; allowed is a whole number from 0 to 65535.',
    ),
    (
        {"search": {"query_limit_maximum": 7.5}},
        "search.query_limit_maximum is 7.5; allowed is a whole number from 0 to 65535.",
    ),
    (
        {"search": {"query_minimum_term_idf_default": float("nan")}},
        "search.query_minimum_term_idf_default is NaN; allowed is a number from 0 upward.",
    ),
    (
        {"http": {"hosts": ["search.example.com:8491"]}},
        'http.hosts holds "search.example.com:8491"; allowed is a list of names without a port, such as '
        '"search.example.com".',
    ),
    (
        {"http": {"hosts": "*"}},
        'http.hosts holds "*"; allowed is a list of names without a port, such as "search.example.com".',
    ),
    (
        {"http": {"proxies": "127.0.0.1, localhost"}},
        'http.proxies holds "localhost"; allowed is a list of IP addresses and networks, such as "127.0.0.1" or '
        '"10.0.0.0/8".',
    ),
    (
        {"http": {"proxies": ["*"]}},
        'http.proxies holds "*"; allowed is a list of IP addresses and networks, such as "127.0.0.1" or "10.0.0.0/8".',
    ),
    ({"search": {"live_words": "maybe"}}, 'search.live_words is "maybe"; allowed is true or false.'),
    ({"search": {"rankin": "bm25"}}, "search.rankin is not a known key; the nearest known key is search.ranking."),
    ({"elsewhere": {}}, "elsewhere is not a known key."),
    ({"search": 3}, "search is 3; allowed is a section with keys."),
    ({"channel": [{"auth_password": "x"}]}, "channel is a value of type list; allowed is a section with keys."),
    ([], "the configuration is []; allowed is a section with keys."),
    (
        {"channel": {"tcp_timeout": -1}},
        "channel.tcp_timeout is -1; allowed is a whole number of seconds from 0 to 4294967295.",
    ),
    (
        {"channel": {"auth_password": 4711}},
        "channel.auth_password is a value of type int; allowed is text in quotes, in UTF-8.",
    ),
    ({"stopwords": {"allow": ["the", 3]}}, "stopwords.allow holds 3; allowed is a list of words, in UTF-8."),
    (
        {"stopwords": {"allow": ["the", "of"], "deny": ["a", "OF"]}},
        'stopwords.deny holds "OF"; allowed are words that stopwords.allow does not hold.',
    ),
    ({"store": {"kv": {"path": ""}}}, 'store.kv.path is ""; allowed is the path of a folder.'),
    (
        {"store": {"kv": {"map_size_mb": 0}}},
        "store.kv.map_size_mb is 0; allowed is a whole number of MiB from 1 to 16777216.",
    ),
    (
        {"store": {"kv": {"database": {"flush_after": 1800}}}},
        "store.kv.database.flush_after is 1800; allowed is less than store.kv.pool.inactive_after, "
        "which is 1800 by default.",
    ),
    (
        {"store": {"fst": {"pool": {"inactive_after": 60}}}},
        "store.fst.pool.inactive_after is 60; allowed is more than store.fst.graph.consolidate_after, "
        "which is 180 by default.",
    ),
    (
        {"search": {"query_limit_maximum": "9" * 100}},
        f'search.query_limit_maximum is "{"9" * 59}...; allowed is a whole number from 0 to 65535.',
    ),
]

INETS = [
    ("127.0.0.1:1491", ("127.0.0.1", 1491), "IPv4"),
    ("[::1]:1491", ("::1", 1491), "IPv6"),
    ("[::]:0", ("::", 0), "any address, any port"),
    ("0.0.0.0:65535", ("0.0.0.0", 65535), "highest port"),
    ("localhost:1491", ("localhost", 1491), "a name"),
    ("search-1.example.net:1491", ("search-1.example.net", 1491), "a name with dots"),
    ("search..example.net:1491", None, "an empty part"),
    ("-x:1491", None, "a hyphen at the beginning"),
    (f"{'x' * 64}:1491", None, "a part that is too long"),
    (f"{'x.' * 127}x:1491", None, "a name that is too long"),
    ("a b:1491", None, "a blank"),
    ("127.0.0.1", None, "no port"),
    ("127.0.0.1:", None, "empty port"),
    (":1491", None, "no address"),
    ("::1:1491", None, "where does the address end?"),
    ("[127.0.0.1]:1491", None, "brackets are for IPv6"),
    ("127.0.0.1:65536", None, "port too high"),
    ("127.0.0.1:+80", None, "int() would take it"),
    ("127.0.0.1:١٤٩١", None, "int() would take it"),
    ("127.0.0.1:" + "1" * 9999, None, "int() would refuse it with a message of its own"),
    ("256.0.0.1:1491", None, "no IPv4 address"),
]


def test_a_bare_config_is_the_default_mode() -> None:
    config = Config()
    assert config.server.compat == "none"
    assert config.search.ranking == "bm25"
    assert config.channel.inet == ("127.0.0.1:1491", "[::1]:1491")
    assert config.channel.auth_password is None
    assert config.store.kv.path == Path("data/store")
    assert config == Config.model_validate({})


def test_compat_mode_changes_the_defaults() -> None:
    for key, default in SONIC_DEFAULTS.items():
        assert value_of(Config.model_validate(SONIC), key) == default


def test_compat_mode_changes_nothing_else() -> None:
    default, sonic = Config(), Config.model_validate(SONIC)
    changed = {key for key in FIELDS if value_of(default, key) != value_of(sonic, key)}
    assert changed <= {*SONIC_DEFAULTS, "server.compat"}


def test_a_given_key_wins_over_compat_mode() -> None:
    for key, value in EXPLICIT_WINS:
        section, *path = key.split(".")
        settings: object = value
        for part in reversed(path):
            settings = {part: settings}
        config = Config.model_validate({"server": {"compat": " Sonic "}, section: settings})
        assert value_of(config, key) == value
        others = {other: default for other, default in SONIC_DEFAULTS.items() if other != key}
        assert {other: value_of(config, other) for other in others} == others


def test_sections_made_one_by_one_follow_the_same_rule() -> None:
    config = Config(server=ServerConfig(compat="sonic"), search=SearchConfig(ranking="newest"))
    assert (config.search.ranking, config.search.live_words) == ("newest", False)


def test_the_given_settings_are_not_changed() -> None:
    settings: dict[str, dict[str, object]] = {"server": {"compat": "sonic"}, "search": {"ranking": "bm25"}}
    Config.model_validate(settings)
    assert settings == {"server": {"compat": "sonic"}, "search": {"ranking": "bm25"}}


def test_a_wrong_setting_is_one_sentence() -> None:
    for settings, sentence in WRONG:
        with pytest.raises(ConfigError) as caught:
            Config.model_validate(settings)
        assert str(caught.value) == sentence
        assert "ValidationError" not in "".join(traceback.format_exception(caught.value))


def test_equal_limits_are_allowed() -> None:
    config = Config.model_validate({"search": {"query_limit_default": 100}})
    assert config.search.query_limit_default == config.search.query_limit_maximum


def test_inet_is_an_address_and_a_port() -> None:
    for inet, address, why in INETS:
        if address is not None:
            assert ChannelConfig(inet=inet).addresses == [address], why
            assert MetricsConfig(inet=inet).address == address, why
            continue
        with pytest.raises(ConfigError, match=r"^channel\.inet holds .*; allowed is an address and a port, such as"):
            Config.model_validate({"channel": {"inet": inet}})


def test_an_address_for_a_client_may_hold_a_name() -> None:
    assert split_address("search.example.net:1491") == ("search.example.net", 1491)


def test_a_default_address_differs_from_the_same_address_given() -> None:
    assert Config().channel.inet_is_default
    assert Config.model_validate(SONIC).channel.inet_is_default
    assert not Config.model_validate({"channel": {"inet": "[::1]:1491"}}).channel.inet_is_default


def test_the_password_is_not_printed() -> None:
    config = Config.model_validate({"channel": {"auth_password": "tower-of-babel"}})
    assert config.channel.auth_password == "tower-of-babel"
    assert "tower-of-babel" not in repr(config)


def test_an_empty_password_is_none() -> None:
    assert Config.model_validate({"channel": {"auth_password": ""}}).channel.auth_password is None


def test_a_config_is_frozen_hashable_and_survives_a_process_border() -> None:
    config = Config.model_validate({"stopwords": {"deny": ["foo"]}, **SONIC})
    with pytest.raises(ValidationError, match="frozen"):
        config.store.kv.retain_word_objects = 5
    copied = pickle.loads(pickle.dumps(config))
    assert copied == config
    assert hash(copied) == hash(config)
    assert copied.channel.inet_is_default


def test_a_layer_can_make_its_section_alone() -> None:
    assert KvConfig(durability="commit").retain_word_objects == 0
