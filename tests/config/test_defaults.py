"""The defaults of an index opened without settings equal those of Config, and cannot be changed."""

import pytest

from sonicpy.config import Config
from sonicpy.config.defaults import DEFAULTS, PlainSection
from sonicpy.config.settings import FIELDS, value_of
from sonicpy.errors import ConfigError
from sonicpy.index.given_settings import plain_config
from sonicpy.index.open import open_index

SERVERS = ("server.", "channel.", "http.", "metrics.", "store.kv.pool.", "store.kv.database.", "store.fst.p")
"""The beginnings of keys that an index does not read."""


def plain(section: object, prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    assert isinstance(section, PlainSection)
    for name, value in section:
        found |= plain(value, f"{prefix}{name}.") if isinstance(value, PlainSection) else {prefix + name: value}
    return found


def test_values_are_those_of_config() -> None:
    read = {key for key in FIELDS if not key.startswith(SERVERS)} | {"server.compat"}
    expected = {key: value_of(Config(), key) for key in read}
    assert plain(DEFAULTS) == expected  # a new setting of an index has its line in sonicpy/config/defaults.py


def test_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="the setting ranking cannot be changed"):
        DEFAULTS.search.ranking = "newest"
    assert DEFAULTS.search.ranking == "bm25"


def test_an_index_shows_a_config() -> None:
    with open_index(":memory:") as index:
        assert isinstance(index.config, Config)
        assert index.config == Config()


def test_given_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match='search.ranking is "best"; allowed is "bm25", "sonic" or "newest"'):
        open_index(":memory:", {"search.ranking": "best"})


def test_plain_settings_are_those_given() -> None:
    given = Config.model_validate({"search": {"ranking": "newest"}, "store": {"kv": {"retain_word_objects": 7}}})
    assert plain(plain_config(given)) == {key: value_of(given, key) for key in FIELDS}
    assert plain_config(DEFAULTS) is DEFAULTS
    with open_index(":memory:", config=given) as index:
        assert index.config.search == given.search
