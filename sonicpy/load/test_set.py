"""A test set: the queries from which agents choose, and the number of queries that each agent sends."""

import json
import math
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sonicpy.errors import CommandError, LoadError
from sonicpy.ids import check_bucket, check_collection
from sonicpy.load.messages import SET_BYTES_MAX, packed

ITERATIONS_MAX = 10_000_000
SYNTAX = ('"', "*")
"""Signs of query languages that Sonic Channel does not have; a hyphen before a word is such a sign, too."""


class TestSet(BaseModel):
    """One test set. Its keys match without regard to case, as in Letarette's files."""

    __test__ = False  # the name is no test of pytest's
    model_config = ConfigDict(extra="forbid", frozen=True)

    Iterations: int = Field(ge=1, le=ITERATIONS_MAX)
    """The number of queries that each connection of an agent sends."""
    Queries: list[str] = Field(min_length=1)
    """The texts, or words for `suggest`, or names of objects for `count`, from which each query is chosen at random."""
    Spaces: list[str] = Field(default=["wp/default"], min_length=1)
    """`collection/bucket`, or a collection alone, whose bucket is `default`. A query searches all of them."""
    Limit: int = Field(default=0, ge=0)
    """The most hits in an answer, over all servers; 0: one from each server."""
    Offset: int = Field(default=0, ge=0)
    """The number of the page of results that each server returns, from 0 on."""
    Op: Literal["query", "suggest", "count", "ping"] = "query"
    Lang: str | None = Field(default=None, pattern="^[A-Za-z]+$")
    """The language of the queries, as an argument of LANG."""
    LimitPerShard: int | None = Field(default=None, ge=1)
    """The most hits in the answer of each server; None: Limit divided by the number of servers, at least 1."""
    Weights: list[float] | None = None
    """The relative frequency of each query, one number per query; None: all queries are equally frequent."""
    Warmup: int = Field(default=0, ge=0, le=ITERATIONS_MAX)
    """The number of queries before the measured ones."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.Weights is not None and (len(self.Weights) != len(self.Queries) or min(self.Weights) < 0):
            raise ValueError("Weights needs one number from 0 on for each of Queries")
        if self.Weights is not None and not math.isfinite(sum(self.Weights)):
            raise ValueError("Weights and their sum must be finite")
        if self.Weights is not None and not sum(self.Weights):
            raise ValueError("one of Weights must be above 0")
        for space in self.scopes:
            try:
                check_collection(space[0])
                check_bucket(space[1])
            except CommandError as error:
                raise ValueError(f'"{"/".join(space)}" in Spaces is no collection/bucket') from error
        return self

    @property
    def scopes(self) -> list[tuple[str, str]]:
        """The (collection, bucket) of each space."""
        pairs = [space.partition("/") for space in self.Spaces]
        return [(collection, bucket or "default") for collection, _, bucket in pairs]

    def limit_of_shard(self, shards: int) -> int:
        """Return the LIMIT for each server, if a query goes to `shards` servers."""
        return self.LimitPerShard or max(1, self.Limit // shards)

    def unknown_syntax(self) -> int:
        """Return the number of queries with the syntax of another query language, which are sent as plain text."""
        return sum(
            any(sign in query for sign in SYNTAX) or any(word.startswith("-") for word in query.split())
            for query in self.Queries
        )


def read_test_set(path: Path) -> tuple[TestSet, list[str]]:
    """Return the test set in a file, and the keys in it that have no meaning.

    Raises:
        LoadError: the file cannot be read as a test set, or holds one that is too large for a message to agents; the
            error names the file and the key.
    """
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise LoadError(f"{path} is no JSON file: {error}") from error
    if not isinstance(held, dict):
        raise LoadError(f"{path} holds no test set: allowed is one JSON object with Iterations and Queries")
    known, unknown = _split(held)
    try:
        asked = TestSet.model_validate(known)
    except ValidationError as error:
        found = error.errors()[0]
        where = ".".join(map(str, found["loc"])) or "the set"
        raise LoadError(f"{path}: {where}: {found['msg']}") from error
    size_bytes = len(packed(asked.model_dump()))
    if size_bytes > SET_BYTES_MAX:
        raise LoadError(f"{path}: the set takes {size_bytes} bytes in a message to agents; allowed are {SET_BYTES_MAX}")
    return asked, unknown


def _split(held: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the values by the names of the fields, and the keys that belong to no field."""
    names = {name.lower(): name for name in TestSet.model_fields}
    # Go writes a list without elements as null.
    known = {names[key.lower()]: value for key, value in held.items() if key.lower() in names and value is not None}
    return known, [key for key in held if key.lower() not in names]
