"""load(): find, read and merge the sources of the settings: defaults < file < environment < flags."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sonicpy.config.key_lines import KeyPath, lines_of
from sonicpy.config.legacy import SECTIONS, Given, resolve
from sonicpy.config.searched_files import ENVIRONMENT_PREFIX, find_file
from sonicpy.config.settings import Config, doubts
from sonicpy.errors import ConfigError

FLAGS = {"channel.inet": "--inet", "store.kv.path": "--data", "server.log_level": "--log-level"}
FOUND = "; without -c it is read because of its name, and -c names another file (-c /dev/null: none)"
"""The end of an error message about a settings file that may belong to another program."""
REFERENCE = re.compile(r"\$\{env\.([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings read by load(), and the messages to log about them.

    Attributes:
        config: the settings.
        warnings: the warnings, as whole sentences.
        source: the settings file; None: no file was read.
        ignored: keys that were given and have no effect here, as they were written.
    """

    config: Config
    warnings: tuple[str, ...] = ()
    source: Path | None = None
    ignored: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return the sentences to log at the start: the warnings, and a sentence that names the ignored keys."""
        if not self.ignored:
            return self.warnings
        return *self.warnings, f"These settings have no effect here and are ignored: {', '.join(self.ignored)}."


def load(config_file: Path | None, environ: Mapping[str, str], flags: Mapping[str, object]) -> Loaded:
    """Return the settings merged from all sources.

    Args:
        config_file: the settings file; None: the first of SEARCHED_FILES that exists, or no file.
        environ: the environment, with variables such as SONIC_SEARCH__RANKING in upper or lower case; others are
            ignored.
        flags: dotted key -> value; None means that the flag was not given.

    Raises:
        ConfigError: a file cannot be read, or a setting is wrong.
    """
    if config_file is not None:
        return _load(config_file, environ, flags)
    source = find_file()
    try:
        return _load(source, environ, flags)
    except ConfigError as error:
        sentence = str(error).removesuffix(".")
        if source is None or source.is_absolute() or not sentence.startswith(str(source)):
            raise
        raise ConfigError(f"{sentence}{FOUND}.") from None


def _load(source: Path | None, environ: Mapping[str, str], flags: Mapping[str, object]) -> Loaded:
    given = [*_read_file(source), *_read_environment(environ), *_read_flags(flags)]
    resolved = resolve(_expand(item, environ) for item in given)
    origins = {key: item.where for key, item in resolved.values.items()}
    config = Config.model_validate(_nest(resolved.values), context=origins)
    warnings = (*resolved.warnings, *doubts(config, origins))
    return Loaded(config, warnings, source, tuple(resolved.ignored))


def _read_file(path: Path | None) -> Iterator[Given]:
    if path is None:
        return
    text = _read_text(path)
    try:
        settings = list(_flatten(tomllib.loads(text), ()))
        lines = lines_of(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}.") from error
    except ValueError as error:  # a number too long for int()
        raise ConfigError(f"{path} is not TOML: a number has too many digits.") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is not TOML that can be read: it is nested too deeply.") from error
    for key_path, value in settings:
        yield Given(".".join(key_path), value, f"{path}:{lines[key_path]}")


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except IsADirectoryError as error:
        raise ConfigError(f"{path} is a folder; allowed is a TOML file.") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path} is not TOML: the text is not UTF-8 (at line {line}).") from error


def _flatten(table: Mapping[str, object], prefix: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    """Yield each key and its value; an empty table is the value of its key, unless the key names a section."""
    for name, value in table.items():
        path = (*prefix, name)
        if isinstance(value, dict) and (value or ".".join(path) in SECTIONS):
            yield from _flatten(value, path)
        else:
            yield path, value


def variable_of(key: str) -> str:
    """Return the name of the environment variable that sets a dotted key."""
    return ENVIRONMENT_PREFIX + key.upper().replace(".", "__")


def _read_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    for name, value in environ.items():
        if not name.upper().startswith(ENVIRONMENT_PREFIX):
            continue
        key = name[len(ENVIRONMENT_PREFIX) :].lower().replace("__", ".")
        if "." in key or key in SECTIONS:
            yield Given(key, value, f"environment variable {name}")


def _read_flags(flags: Mapping[str, object]) -> Iterator[Given]:
    for key, value in flags.items():
        if value is not None:
            yield Given(key, value, f"flag {FLAGS.get(key, key)}")


def _expand(item: Given, environ: Mapping[str, str]) -> Given:
    reference = REFERENCE.fullmatch(item.value) if isinstance(item.value, str) else None
    if reference is None:
        return item
    name = reference[1]
    if name not in environ:
        raise ConfigError(f'{item.where} is "{item.value}", but there is no environment variable {name}.')
    return replace(item, value=environ[name])


def _nest(values: Mapping[str, Given]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, item in values.items():
        *path, name = key.split(".")
        table = nested
        for part in path:
            table = table.setdefault(part, {})
        table[name] = item.value
    return nested
