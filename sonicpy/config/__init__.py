"""The settings: one frozen model per section (sections.py), together in Config (settings.py), and load() (sources.py).

kinds.py says what a value may be, problems.py how a wrong one is reported, lines.py on which line it stands, legacy.py
which keys have another name, toml.py how settings are written.
A layer gets its own section, not the whole Config.
"""

from sonicpy.config.kinds import split_address
from sonicpy.config.sections import (
    ChannelConfig,
    FstConfig,
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
