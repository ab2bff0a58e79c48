"""The default settings that an index reads, as plain constants. So an index opened without settings does not import
pydantic, which takes longer than opening a small index and answering a query.

Invariant: every value is that of `Config()`; tests/config/test_defaults.py compares them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

if TYPE_CHECKING:
    from sonicpy.config.settings import Config


class PlainSection:
    """A section of settings without checks. It is immutable, like the sections of a Config."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"the setting {name} cannot be changed: settings are given when an index is opened")

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yield the (name, value) of each setting, as the sections of a Config do."""
        return iter(self.__dict__.items())

    def model_copy(self, *, update: Mapping[str, Any]) -> "PlainSection":
        """Return a copy with the values of `update` in place of the present ones, as the sections of a Config do."""
        return PlainSection(**{**self.__dict__, **update})


DEFAULTS = cast(
    "Config",
    PlainSection(
        server=PlainSection(compat="none"),
        normalization=PlainSection(
            unicode_normalization="nfkc", diacritic_folding_enabled=False, stemming_enabled=False
        ),
        tokenization=PlainSection(detect_special_patterns=True, compat_split_special_patterns=True),
        stopwords=PlainSection(mode="weigh", allow=(), deny=()),
        search=PlainSection(
            ranking="bm25",
            live_words=True,
            stemming="auto",
            complete=True,
            alternates_below=10,
            suggest_order="likely",
            query_limit_default=10,
            query_limit_maximum=100,
            query_alternates_try=4,
            query_minimum_term_idf_default=0.1,
            query_minimum_term_idf_minimum_object_count=100,
            suggest_limit_default=5,
            suggest_limit_maximum=20,
            list_limit_default=100,
            list_limit_maximum=500,
            buckets_maximum=1_000,
            note_unanswered=False,
        ),
        store=PlainSection(
            kv=PlainSection(
                path=Path("./data/store/"),
                retain_word_objects=0,
                durability="interval",
                group_access="none",
                map_size_mb=65536,
                reader_limit_mb=4096,
                query_cache_mb=448,
            ),
            fst=PlainSection(graph=PlainSection(consolidate_after=180, max_size=2048, max_words=250000)),
            order=(),
        ),
    ),
)
"""The settings of an index that is opened without settings. A server needs more, and always has a Config."""


def defaults_in(folder: Path) -> "Config":
    """Return the default settings of an index in a folder."""
    store = DEFAULTS.store
    kv = store.kv.model_copy(update={"path": folder})
    return DEFAULTS.model_copy(update={"store": store.model_copy(update={"kv": kv})})
