"""The settings: Config, one frozen model for each section, and load(), which reads them. A layer gets only its section.

sections.py  one model for each section, with the defaults
settings.py  Config: all sections, compat mode, rules that tie two keys
kinds.py     the allowed values of each kind
sources.py   load(): file, environment and flags merged
legacy.py    keys of other versions of Sonic
lines.py     the line of each key in a settings file
problems.py  error messages for wrong settings
toml.py      settings as TOML
"""

from sonicpy.config.kinds import split_address
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
from sonicpy.config.sources import SEARCHED_FILES, Loaded, load
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
