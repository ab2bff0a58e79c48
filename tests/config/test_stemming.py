"""Only one of the settings search.stemming and normalization.stemming_enabled may be given."""

from pathlib import Path

import pytest

from sonicpy import Config
from sonicpy.config import load
from sonicpy.errors import ConfigError


def test_defaults() -> None:
    assert Config().search.stemming == "auto"
    assert Config.model_validate({"server": {"compat": "sonic"}}).search.stemming == "off"
    assert Config.model_validate({"normalization": {"stemming_enabled": True}}).search.stemming == "off"


@pytest.mark.parametrize(("given", "stemming"), [
    ("no", "auto"), ("0", "auto"), ("False", "auto"), (0, "auto"),
    ("yes", "off"), ("1", "off"), ("True", "off"), (1, "off"),
])  # fmt: skip
def test_a_switch_may_be_written_as_text(given: object, stemming: str) -> None:
    assert Config.model_validate({"normalization": {"stemming_enabled": given}}).search.stemming == stemming


def test_both_are_an_error_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "sonicpy.cfg"
    file.write_text('[normalization]\nstemming_enabled = true\n[search]\nstemming = "auto"\n')
    with pytest.raises(ConfigError, match=r'sonicpy\.cfg.*4.*is "auto"; allowed is "off"'):
        load(file, {}, {})
