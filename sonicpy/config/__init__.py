"""The settings: Config, one frozen model for each section, and load(), which reads them. A layer gets only its section.

sections.py  one model for each section, with the defaults
settings.py  Config: all sections, compat mode, rules that tie two keys
defaults.py  the defaults as plain constants, for an index opened without settings
kinds.py     the allowed values of each kind
searched_files.py  the files that load() looks for
sources.py   load(): file, environment and flags merged
legacy.py    keys of other versions of Sonic
lines.py     the line of each key in a settings file
problems.py  error messages for wrong settings
toml.py      settings as TOML
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonicpy.config.kinds import split_address
    from sonicpy.config.searched_files import SEARCHED_FILES
    from sonicpy.config.sections import (
        ChannelConfig,
        FstConfig,
        HttpConfig,
        KvConfig,
        MetricsConfig,
        NormalizationConfig,
        SearchConfig,
        ServerConfig,
        StopwordsConfig,
        StoreConfig,
        TokenizationConfig,
    )
    from sonicpy.config.settings import Config
    from sonicpy.config.sources import Loaded, load
    from sonicpy.config.toml import to_toml

__all__ = [
    "SEARCHED_FILES",
    "ChannelConfig",
    "Config",
    "FstConfig",
    "KvConfig",
    "Loaded",
    "HttpConfig",
    "MetricsConfig",
    "NormalizationConfig",
    "SearchConfig",
    "ServerConfig",
    "StopwordsConfig",
    "StoreConfig",
    "TokenizationConfig",
    "load",
    "split_address",
    "to_toml",
]

# Imported when first asked for: pydantic takes longer to import than a small index to open and to answer.
_PLACES = {"Config": "settings", "SEARCHED_FILES": "searched_files", "Loaded": "sources", "load": "sources",
           "split_address": "kinds", "to_toml": "toml"}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_PLACES.get(name, 'sections')}"), name)
    globals()[name] = value
    return value
