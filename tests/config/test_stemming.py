"""search.stemming and normalization.stemming_enabled: one of them."""

from pathlib import Path

import pytest

from sonicpy import Config
from sonicpy.config import load
from sonicpy.errors import ConfigError


def test_defaults() -> None:
    assert Config().search.stemming == "auto"
    assert Config.model_validate({"server": {"compat": "sonic"}}).search.stemming == "off"
    assert Config.model_validate({"normalization": {"stemming_enabled": True}}).search.stemming == "off"


def test_both_are_an_error_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "sonicpy.cfg"
    file.write_text('[normalization]\nstemming_enabled = true\n[search]\nstemming = "auto"\n')
    with pytest.raises(ConfigError, match=r'sonicpy\.cfg.*4.*is "auto"; allowed is "off"'):
        load(file, {}, {})
