"""to_toml(): writes the settings in force as a TOML text that load() can read."""

import json
from pathlib import Path

from sonicpy.config.legacy import UNUSED
from sonicpy.config.problems import is_secret
from sonicpy.config.settings import FIELDS, Config, value_of
from sonicpy.config.sources import variable_of
from sonicpy.errors import ConfigError


def to_toml(config: Config, *, with_secrets: bool = False) -> str:
    """Return every setting that has an effect, section by section, in the order of the sample file.

    Without `with_secrets`, a password is written as a reference to its environment variable. A server that reads the
    text without that variable then fails to start, instead of starting without a password.

    Raises:
        ConfigError: TOML cannot hold a value.
    """
    sections: dict[str, list[str]] = {}
    for key in FIELDS:
        if key not in UNUSED:
            section, _, name = key.rpartition(".")
            sections.setdefault(section, []).append(_line(config, key, name, with_secrets))
    return "\n".join(f"[{section}]\n{''.join(lines)}" for section, lines in sections.items())


def _line(config: Config, key: str, name: str, with_secrets: bool) -> str:
    value = value_of(config, key)
    if value is None:
        return f"# {name} is not set.\n"
    if is_secret(FIELDS[key]) and not with_secrets:
        return f'{name} = "${{env.{variable_of(key)}}}"\n'
    line = f"{name} = {_written(value)}\n"
    if key == "channel.inet" and config.channel.inet_is_default:
        # As a comment, because a setting would count as an address that was chosen.
        return f"# As far as this machine has these addresses:\n#{line}"
    if not _is_unicode(line):
        raise ConfigError(f"{key} is {_written(value)!a}; a TOML file holds Unicode only.")
    return line


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, Path):
        value = str(value)
    # For the values of settings JSON is valid TOML, except for one control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_unicode(text: str) -> bool:
    # Python decodes a byte that is not UTF-8, in the environment or in an argument, to a lone surrogate.
    return not any("\ud800" <= character <= "\udfff" for character in text)
