"""The settings that a program gives with `config=`: a Config, or a mapping of sections."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from sonicpy.config.defaults import DEFAULTS, PlainSection
from sonicpy.errors import ConfigError
from sonicpy.ids import shown

if TYPE_CHECKING:
    from sonicpy.config import Config

Settings: TypeAlias = "Config | Mapping[str, Any] | None"
"""None: the defaults. A mapping is `{"search": {"ranking": "newest"}}` or `{"search.ranking": "newest"}`."""


def config_of(settings: Any) -> "Config":
    """Return settings as a Config; for None, the defaults, which need no check.

    Raises:
        ConfigError: they are neither a Config nor a mapping, or a key or a value is not allowed.
    """
    if settings is None:
        return DEFAULTS
    if isinstance(settings, PlainSection):
        return cast("Config", settings)
    Config = _config_class()  # noqa: N806
    if isinstance(settings, Config):
        return settings
    if not isinstance(settings, Mapping):
        raise ConfigError(f'config is {shown(settings)}; allowed are a Config and a mapping: {{"search": {{...}}}}.')
    return Config.model_validate(_by_section(settings))


def full_config(settings: "Config") -> "Config":
    """Return a result of `config_of` as a full Config: the defaults become one."""
    if not isinstance(settings, PlainSection):
        return settings
    return _config_class().model_validate({"store": {"kv": {"path": settings.store.kv.path}}})


def plain_config(settings: "Config") -> "Config":
    """Return the same settings without checks, from which a query reads a setting in a fifth of the time."""
    return cast("Config", _plain(settings))


def _plain(value: Any) -> Any:
    if isinstance(value, PlainSection) or not hasattr(value, "model_copy"):
        return value
    return PlainSection(**{name: _plain(inner) for name, inner in value})


def _config_class() -> "type[Config]":
    # Imported when settings are given; see sonicpy/config/defaults.py.
    return cast("type[Config]", importlib.import_module("sonicpy.config").Config)


def _by_section(settings: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a mapping with every dotted key moved into its section. Raises ConfigError if a key names a part of
    something that is no section.
    """
    sections = {str(key): value for key, value in settings.items() if "." not in str(key)}
    for key, value in settings.items():
        *path, last = str(key).split(".")
        if not path:
            continue
        place = sections
        for name in path:
            inner = place.get(name, {})
            if not isinstance(inner, Mapping):
                raise ConfigError(f"{key} cannot be set, because {name} is {shown(inner)}; allowed is a section.")
            place[name] = dict(inner)
            place = place[name]
        place[last] = value
    return sections
