"""The models, docs/configuration.md and the sample files agree."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from sonicpy.config import SEARCHED_FILES, Config, load
from sonicpy.config.legacy import ALIASES, OLD_SEARCH, ROCKSDB_KEYS, UNUSED
from sonicpy.config.settings import FIELDS, SONIC_DEFAULTS, value_of
from sonicpy.config.sources import FLAGS

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/configuration.md").read_text()
SAMPLE = (ROOT / "configs/sonicpy.cfg").read_text()
COMPAT_SAMPLE = ROOT / "configs/sonic-compat.cfg"

ROW = re.compile(r"^\| `([a-z_.]+)` \| (\S+?)(?:; compat mode: (\S+))? \| (.+) \|$", re.MULTILINE)
SETTING_IN_COMMENT = re.compile(r"^#(?=\w+ = )", re.MULTILINE)

ROWS = {key: (default, in_compat, meaning) for key, default, in_compat, meaning in ROW.findall(DOCUMENT)}
WITHOUT_DEFAULT = {
    "channel.auth_password",
    "channel.tls_certificate",
    "channel.tls_key",
    "channel.unix_socket",
    "http.hits",
    "http.inet",
    "server.embed",
    "metrics.inet",
    "server.keys",
    "server.secret",
    "store.kv.database.max_files",
}


def as_toml(value: object) -> object:
    """Return the value in a cell of a table, such as `"warn"`; None for `none`."""
    return None if value == "none" else tomllib.loads(f"value = {str(value).strip('`')}")["value"]


def as_written(config: Config, key: str) -> object:
    value = value_of(config, key)
    if isinstance(value, Path):
        return f"./{value}/"
    return list(value) if isinstance(value, tuple) else value


def flatten(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in table.items():
        flat |= flatten(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat


SAMPLE_SETTINGS = flatten(tomllib.loads(SETTING_IN_COMMENT.sub("", SAMPLE)))


def test_the_document_has_one_row_for_every_key() -> None:
    assert sorted(key for key, *_ in ROW.findall(DOCUMENT)) == sorted(FIELDS)


def test_the_document_has_the_defaults() -> None:
    for key in FIELDS:
        default, in_compat, _ = ROWS[key]
        assert as_toml(default) == as_written(Config(), key)
        sonic = Config.model_validate({"server": {"compat": "sonic"}})
        assert key == "server.compat" or as_toml(in_compat or default) == as_written(sonic, key)
        assert bool(in_compat) == (key in SONIC_DEFAULTS)


def test_the_document_names_the_rest() -> None:
    names = {key.removeprefix("store.kv.database.") for key in ROCKSDB_KEYS} | {*ALIASES, *FLAGS.values()}
    names |= {f"{OLD_SEARCH}.*"}
    assert [name for name in sorted(names) if f"`{name}`" not in DOCUMENT] == []
    without_effect = DOCUMENT.split("## Keys without effect")[1].split("##")[0]
    assert {key for key, *_ in ROW.findall(without_effect)} == UNUSED - ROCKSDB_KEYS
    shown = [str(path) if path.is_absolute() else f"./{path}" for path in SEARCHED_FILES]
    assert ", ".join(f"`{path}`" for path in shown) in DOCUMENT.replace("\n", " ")


def test_the_sample_has_every_key_with_its_default() -> None:
    assert set(SAMPLE_SETTINGS) == set(FIELDS)
    given = {key: value for key, value in SAMPLE_SETTINGS.items() if key not in WITHOUT_DEFAULT}
    assert given == {key: as_written(Config(), key) for key in given}


def test_the_sample_explains_every_key() -> None:
    groups = [group for group in SAMPLE.split("\n\n") if SETTING_IN_COMMENT.search(group)]
    silent = [group for group in groups if not re.search(r"^# \S", group, re.MULTILINE)]
    explained_above = ("#suggest_limit_default", "#list_limit_default", "[store.kv.pool]", "[store.kv.database]")
    assert [group for group in silent if not group.startswith(explained_above)] == []


def test_the_sample_loads_as_it_is_and_with_all_lines_in_use(tmp_path: Path) -> None:
    loaded = load(ROOT / "configs/sonicpy.cfg", {}, {})
    assert (loaded.config, loaded.warnings, loaded.ignored) == (Config(), (), ())
    path = tmp_path / "all.cfg"
    path.write_text(SETTING_IN_COMMENT.sub("", SAMPLE))
    loaded = load(path, {}, {})
    assert loaded.warnings == ()
    assert set(loaded.ignored) == UNUSED - ROCKSDB_KEYS


def test_the_sample_marks_what_compat_mode_changes() -> None:
    marked = re.findall(r"^# \(\*\)(?:.*\n)(?:# .*\n)*#(\w+) = ", SAMPLE, re.MULTILINE)
    assert sorted(marked) == sorted(key.rpartition(".")[2] for key in SONIC_DEFAULTS)


def test_the_compat_sample_is_the_compat_mode() -> None:
    loaded = load(COMPAT_SAMPLE, {}, {})
    sonic = Config.model_validate({"server": {"compat": "sonic"}})
    assert (loaded.config, loaded.warnings, loaded.ignored) == (sonic, (), ())
    assert load(COMPAT_SAMPLE, {"SONIC_SEARCH__RANKING": "bm25"}, {}).config.search.ranking == "bm25"
