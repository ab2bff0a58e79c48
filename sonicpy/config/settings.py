"""Config: all sections, the defaults that compat mode changes, and the rules that tie two keys.

A Config made in Python gets the same defaults and raises the same ConfigError as one read from a file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel, ModelWrapValidatorHandler, TypeAdapter, ValidationError, ValidationInfo, model_validator
from pydantic.fields import FieldInfo

from sonicpy.config.problems import describe, show
from sonicpy.config.sections import (
    ChannelConfig,
    HttpConfig,
    MetricsConfig,
    NormalizationConfig,
    SearchConfig,
    Section,
    ServerConfig,
    StopwordsConfig,
    StoreConfig,
    TokenizationConfig,
)
from sonicpy.errors import ConfigError

SWITCH = TypeAdapter(bool)

SONIC_DEFAULTS: dict[str, object] = {
    "channel.inet": ("[::1]:1491",),
    "normalization.unicode_normalization": "none",
    "search.complete": False,
    "search.live_words": False,
    "search.ranking": "sonic",
    "search.stemming": "off",
    "search.suggest_order": "alphabetical",
    "stopwords.mode": "drop",
    "store.kv.retain_word_objects": 1000,
}
"""Key -> its default with `server.compat = "sonic"`, where that differs from the default mode."""


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """A rule for two keys: the value of the first must be below that of the second.

    Attributes:
        by_default: whether the rule also holds if the first was not given.
    """

    lower: str
    upper: str
    by_default: bool = True


ORDERS = (
    # Sonic 1.0 has no flush_after, so its files may set inactive_after below the default of flush_after.
    KeyOrder("store.kv.database.flush_after", "store.kv.pool.inactive_after", by_default=False),
    KeyOrder("store.fst.graph.consolidate_after", "store.fst.pool.inactive_after"),
)
"""The rules whose violation is an error, as in Sonic."""

LIMITS = (
    KeyOrder("search.query_limit_default", "search.query_limit_maximum"),
    KeyOrder("search.suggest_limit_default", "search.suggest_limit_maximum"),
    KeyOrder("search.list_limit_default", "search.list_limit_maximum"),
)
"""The rules whose violation logs a warning: Sonic does not have them. Both values may be equal."""


class Config(Section):
    """Every setting of an index and of the server around it.

    `Config()` has the defaults of the default mode; `Config.model_validate({"server": {"compat": "sonic"}})` changes
    some.

    Raises:
        ConfigError: a value is not allowed, a key is not known, or two keys contradict each other.
    """

    server: ServerConfig = ServerConfig()
    channel: ChannelConfig = ChannelConfig()
    http: HttpConfig = HttpConfig()
    metrics: MetricsConfig = MetricsConfig()
    normalization: NormalizationConfig = NormalizationConfig()
    tokenization: TokenizationConfig = TokenizationConfig()
    stopwords: StopwordsConfig = StopwordsConfig()
    search: SearchConfig = SearchConfig()
    store: StoreConfig = StoreConfig()

    @model_validator(mode="wrap")
    @classmethod
    def _check(cls, given: Any, validate: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        origins: Mapping[str, str] = info.context or {}
        try:
            config = validate(_with_sonic_defaults(_with_one_stemming(given)))
        except ValidationError as error:
            # Not "from error": the trace of a ValidationError shows every value, the password too.
            raise ConfigError(describe(error, FIELDS, origins)) from None
        if not _gives_inet(given):
            config.channel.model_fields_set.discard("inet")  # the default of compat mode is a default, too
        for order in ORDERS:
            _check_order(config, order, origins)
        _check_channel(config.channel, origins)
        _check_stopwords(config.stopwords, origins)
        _check_stemming(config, origins)
        return config


def value_of(config: Config, key: str) -> Any:
    """Return the value under a dotted key, such as "store.kv.path"."""
    section, name = _holder(config, key)
    return getattr(section, name)


def doubts(config: Config, origins: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each value, or pair of values, that is allowed but probably a mistake."""
    if any(map(str.isspace, config.channel.auth_password or "")):
        key = "channel.auth_password"
        yield f"{origins.get(key, key)} holds white space, which Sonic Channel cannot send: no client gets in."
    for order in LIMITS:
        default = value_of(config, order.lower)
        if default > value_of(config, order.upper):
            key, found, other, bound = _blame(config, order)
            side = "above" if key == order.lower else "below"
            yield (
                f"{origins.get(key, key)} is {found}, which is {side} {other} ({bound}); "
                f"a command without LIMIT still gives up to {default} results."
            )


def _walk(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            yield from _walk(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


FIELDS: dict[str, FieldInfo] = dict(_walk(Config))
"""Every dotted key with its field, in the order of the settings file."""


def _with_sonic_defaults(given: object) -> object:
    """Return `given` with the defaults of compat mode added; unchanged in the default mode."""
    if not isinstance(given, Mapping):
        return given
    settings = _explicit(given)
    server = settings.get("server")
    compat = server.get("compat") if isinstance(server, dict) else None
    if not isinstance(compat, str) or compat.strip().lower() != "sonic":
        return given
    for key, default in SONIC_DEFAULTS.items():
        _set_default(settings, key.split("."), default)
    return settings


def _gives_inet(given: object) -> bool:
    channel = _explicit(given).get("channel") if isinstance(given, Mapping) else None
    return isinstance(channel, dict) and "inet" in channel


def _with_one_stemming(given: object) -> object:
    """Return `given`; if it turns normalization.stemming_enabled on and does not give search.stemming, return it with
    search.stemming off.
    """
    if not isinstance(given, Mapping):
        return given
    settings = _explicit(given)
    normalization = settings.get("normalization")
    if isinstance(normalization, dict) and _is_on(normalization.get("stemming_enabled")):
        _set_default(settings, ["search", "stemming"], "off")
        return settings
    return given


def _is_on(given: object) -> bool:
    """Return whether a switch is on. A value that is neither on nor off is refused later."""
    try:
        return given is not None and SWITCH.validate_python(given)
    except ValidationError:
        return False


def _explicit(given: Mapping[str, object]) -> dict[str, object]:
    explicit: dict[str, object] = {}
    for name, value in given.items():
        if isinstance(value, BaseModel):
            explicit[name] = value.model_dump(exclude_unset=True)
        else:
            explicit[name] = _explicit(value) if isinstance(value, Mapping) else value
    return explicit


def _set_default(settings: dict[str, object], path: list[str], default: object) -> None:
    for name in path[:-1]:
        section = settings.setdefault(name, {})
        if not isinstance(section, dict):  # a wrong value, which validation reports
            return
        settings = section
    settings.setdefault(path[-1], default)


def _check_order(config: Config, order: KeyOrder, origins: Mapping[str, str]) -> None:
    lower, upper = value_of(config, order.lower), value_of(config, order.upper)
    if lower < upper or not (order.by_default or _is_given(config, order.lower)):
        return
    key, found, other, bound = _blame(config, order)
    relation = "less" if key == order.lower else "more"
    raise ConfigError(f"{origins.get(key, key)} is {found}; allowed is {relation} than {other}, which is {bound}.")


def _blame(config: Config, order: KeyOrder) -> tuple[str, Any, str, str]:
    """Return, for a broken rule, the key to name first, its value, the other key, and a text for the other value."""
    key, other = order.lower, order.upper
    # Prefer a key that was given: a default cannot be found in a file.
    if _is_given(config, other) and not _is_given(config, key):
        key, other = other, key
    default = "" if _is_given(config, other) else " by default"
    return key, value_of(config, key), other, f"{value_of(config, other)}{default}"


def _is_given(config: Config, key: str) -> bool:
    section, name = _holder(config, key)
    return name in section.model_fields_set


def _holder(config: Config, key: str) -> tuple[BaseModel, str]:
    *path, name = key.split(".")
    section: BaseModel = config
    for part in path:
        section = getattr(section, part)
    return section, name


def _check_channel(channel: ChannelConfig, origins: Mapping[str, str]) -> None:
    if not channel.inet and channel.unix_socket is None:
        where = origins.get("channel.inet", "channel.inet")
        raise ConfigError(f"{where} is empty; allowed is at least one address, unless channel.unix_socket is set.")
    if (channel.tls_certificate is None) != (channel.tls_key is None):
        given, missing = ("tls_key", "tls_certificate") if channel.tls_key else ("tls_certificate", "tls_key")
        where = origins.get(f"channel.{given}", f"channel.{given}")
        raise ConfigError(f"{where} is set; allowed is to set channel.{missing} too, or neither.")


def _check_stopwords(stopwords: StopwordsConfig, origins: Mapping[str, str]) -> None:
    allowed = {word.lower() for word in stopwords.allow}
    for word in stopwords.deny:
        if word.lower() in allowed:
            where = origins.get("stopwords.deny", "stopwords.deny")
            raise ConfigError(f"{where} holds {show(word)}; allowed are words that stopwords.allow does not hold.")


def _check_stemming(config: Config, origins: Mapping[str, str]) -> None:
    if config.normalization.stemming_enabled and config.search.stemming != "off":
        where = origins.get("search.stemming", "search.stemming")
        raise ConfigError(
            f'{where} is "{config.search.stemming}"; allowed is "off", because normalization.stemming_enabled is true.'
        )
