"""An index with two messages, and an HTTP client of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import sonicpy

if TYPE_CHECKING:
    from starlette.testclient import TestClient


@pytest.fixture
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:") as opened:
        opened.push("messages", "default", "message:1", "Hello from Nantes, how is the weather?")
        opened.push("messages", "default", "message:2", "Sunny weather in Lisbon")
        yield opened


@pytest.fixture
def client(index: sonicpy.Index) -> "TestClient":
    from starlette.testclient import TestClient  # noqa: PLC0415

    from sonicpy.http import app  # noqa: PLC0415  an extra

    return TestClient(app(index))
