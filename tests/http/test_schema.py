"""Schemathesis calls every operation of the schema with many values, and compares the answers with the schema."""

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra [http]")
schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402
from starlette.testclient import TestClient  # noqa: E402

import sonicpy  # noqa: E402
from sonicpy.http import app  # noqa: E402

pytestmark = pytest.mark.full

EXAMPLES = 60
NOT_CALLED = {"/v1/backup", "/v1/restore"}
"""Operations that are not called, because they would write into folders of any name."""


@schemathesis.serializer("application/x-ndjson")  # type: ignore[untyped-decorator]
def rows(context: Any, value: Any) -> bytes:
    return str(value).encode(errors="replace")


@pytest.fixture(scope="module")
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:") as opened:
        yield opened


def operations() -> list[tuple[str, str]]:
    with sonicpy.open(":memory:") as empty:
        paths = TestClient(app(empty)).get("/openapi.json").json()["paths"]
    return sorted((path, method) for path, item in paths.items() for method in item if path not in NOT_CALLED)


@pytest.mark.parametrize(("path", "method"), operations())
def test_answers_are_those_of_the_schema(index: sonicpy.Index, path: str, method: str) -> None:
    index.push("messages", "default", "message:1", "Hello from Nantes")
    operation = schemathesis.openapi.from_asgi("/openapi.json", app(index))[path][method.upper()]
    seen: list[int] = []

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(operation.as_strategy())
    def call(case: Any) -> None:
        seen.append(case.call_and_validate(excluded_checks=[positive_data_acceptance]).status_code)

    call()
    assert seen, "at least one value was sent"
    assert set(seen) - {422}, "some values are those of the schema"
