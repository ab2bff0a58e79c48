"""Values that no settings file can hold: the sentence about them is one, and any stream can print it."""

from typing import Any

import pytest

from sonicpy.config import Config
from sonicpy.errors import ConfigError

ROUND: list[Any] = []
ROUND.append(ROUND)
DEEP: list[Any] = []
for _ in range(5_000):
    DEEP = [DEEP]

ODD: dict[str, Any] = {
    "in itself": ROUND,
    "deep": DEEP,
    "keys": {(1, 2): 3},
    "digits": 10**5_000,
    "surrogate": "\udcff",
    "surrogates": ["\udcff"],
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("key", ["ranking", "query_limit_default", "live_words"])
def test_an_odd_value_is_refused_in_one_sentence(key: str, odd: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        Config.model_validate({"search": {key: odd}})
    said = str(refused.value).encode().decode()
    assert said.startswith(f"search.{key} ") and "; allowed is " in said and len(said) < 300


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_section_is_refused_in_one_sentence(odd: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        Config.model_validate({"search": odd})
    assert str(refused.value).encode()


def test_an_empty_key_is_named() -> None:
    with pytest.raises(ConfigError, match='^"" is not a known key'):
        Config.model_validate({"": 1})
