"""Settings written as TOML read back as the same settings, and a password is not shown unless asked for."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.config import Config, load, to_toml
from sonicpy.config.legacy import UNUSED
from sonicpy.config.settings import FIELDS, value_of
from sonicpy.errors import ConfigError

SECRET = "tower of babel"
REFERENCE = "SONIC_CHANNEL__AUTH_PASSWORD"

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: "${env." not in text)
WORDS = st.lists(TEXTS.map(lambda text: f"a{text}"), max_size=3)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "server": st.fixed_dictionaries({"compat": st.sampled_from(["none", "sonic"])}),
        "channel": st.fixed_dictionaries({}, optional={"inet": st.just("[::]:7"), "auth_password": TEXTS}),
        "stopwords": st.fixed_dictionaries({}, optional={"allow": WORDS}),
        "search": st.fixed_dictionaries(
            {"query_minimum_term_idf_default": st.floats(0, allow_infinity=False)},
            optional={"live_words": st.booleans(), "query_limit_default": st.integers(0, 65535)},
        ),
        "store": st.fixed_dictionaries({"kv": st.fixed_dictionaries({"path": TEXTS.filter(lambda t: "\0" not in t)})}),
    },
)


def read_back(text: str, folder: Path, environ: Mapping[str, str] | None = None) -> Config:
    path = folder / "shown.cfg"
    path.write_bytes(text.encode())
    loaded = load(path, environ or {}, {})
    assert loaded.ignored == ()
    return loaded.config


def effects(config: Config) -> dict[str, object]:
    return {key: value_of(config, key) for key in FIELDS if key not in UNUSED}


@given(SETTINGS)
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, settings: dict[str, dict[str, object]]
) -> None:
    config = Config.model_validate(settings)
    again = read_back(to_toml(config, with_secrets=True), tmp_path_factory.getbasetemp())
    assert effects(again) == effects(config)
    assert again.channel.inet_is_default == config.channel.inet_is_default


def test_every_setting_with_an_effect_is_written() -> None:
    text = to_toml(Config())
    shown = re.sub(r"^# (\w+) is not set\.$", r"\1 = 0", text.replace("#inet", "inet"), flags=re.MULTILINE)
    tables = tomllib.loads(shown)
    found = {
        f"{prefix}{name}"
        for prefix, table in (
            ("store.", {name: value for name, value in tables["store"].items() if not isinstance(value, dict)}),
            ("store.kv.", tables["store"]["kv"]),
            ("store.fst.pool.", tables["store"]["fst"]["pool"]),
            ("store.fst.graph.", tables["store"]["fst"]["graph"]),
            *((f"{name}.", table) for name, table in tables.items() if name != "store"),
        )
        for name in table
    }
    assert found == set(FIELDS) - UNUSED


def test_keys_without_effect_are_left_out() -> None:
    config = Config.model_validate({"store": {"kv": {"database": {"flush_after": 7}}}})
    assert to_toml(config) == to_toml(Config())


def test_a_password_is_a_reference_unless_asked_for(tmp_path: Path) -> None:
    config = Config.model_validate({"channel": {"auth_password": SECRET}})
    text = to_toml(config)
    assert SECRET not in text
    assert read_back(text, tmp_path, {REFERENCE: SECRET}).channel.auth_password == SECRET
    with pytest.raises(ConfigError, match=f"but there is no environment variable {REFERENCE}"):
        read_back(text, tmp_path)
    assert f'auth_password = "{SECRET}"' in to_toml(config, with_secrets=True)


def test_bytes_that_are_no_text_cannot_be_written() -> None:
    config = Config.model_validate({"store": {"kv": {"path": "/srv/\udce9"}}})
    with pytest.raises(ConfigError, match=r"^store\.kv\.path is .*udce9.*; a TOML file holds Unicode only\.$"):
        to_toml(config)
