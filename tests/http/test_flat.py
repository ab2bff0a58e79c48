"""Flat bodies are read as the json module reads them; others are refused quickly."""

import json
import time
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra [http]")
from hypothesis import given, settings
from hypothesis import strategies as some

from sonicpy.http.flat import PLAIN_BYTES, flat_json
from tests.support.examples import examples
from tests.support.patience import is_below

VALUES = some.none() | some.booleans() | some.integers(-(10**128), 10**128) | some.floats(-1e20, 1e20) | some.text()
LONG = " " * PLAIN_BYTES


@settings(max_examples=examples(100), deadline=None)
@given(some.dictionaries(some.text(), VALUES, max_size=8), some.booleans(), some.sampled_from([None, 1]))
def test_flat_objects_are_read_as_json_reads_them(held: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    try:
        body = json.dumps(held, ensure_ascii=ascii_only, indent=indent).encode()
    except UnicodeEncodeError:
        return
    assert flat_json(body) == json.loads(body)
    assert flat_json(LONG.encode() + body + b"\n") == json.loads(body)


@given(some.lists(some.floats(allow_nan=False, allow_infinity=False) | some.integers(-999, 999), max_size=1024))
@settings(max_examples=examples(20), deadline=None)
def test_lists_of_numbers_are_read(numbers: list[float]) -> None:
    body = json.dumps({"a": numbers, "b": "x"})
    if len(body) < 30_000:
        assert flat_json((LONG + body).encode()) == json.loads(body)


@given(some.dictionaries(some.text("abc"), VALUES | some.lists(some.integers() | some.floats(0, 1)), max_size=4))
@settings(max_examples=examples(50), deadline=None)
def test_an_inner_object_may_hold_lists_of_numbers(inner: dict[str, Any]) -> None:
    try:
        body = json.dumps({"a": inner, "b": "x"}, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    assert flat_json(LONG.encode() + body) == json.loads(body)


@pytest.mark.parametrize(
    "wrong",
    ["", "{", "[]", "1", '{"a": [[1]]}', '{"a": {"b": {}}}', '{"a": [{}]}', '{"a": [1,]}',
     '{"a": [1',
     '{"a": {"b": [[]]}}', '{"a": {"b": ["x"]}}',
     '{"a": [' + ",".join(['"x"'] * 300) + "]}", '{"a": 1,}', '{"a" 1}', '{"a": 01}', '{"a": 1} {}',
     '{"a": nul}',
     '{"a": "', "{a: 1}", '{"a": 1x}', '{"a": NaN}', "{" + ",".join(f'"k{n}": 1' for n in range(40)) + "}"],
)  # fmt: skip
def test_other_bodies_are_refused(wrong: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        flat_json((LONG + wrong).encode())


def test_a_hostile_body_takes_no_time() -> None:
    began = time.thread_time()
    for body in (
        b"[" * 250_000,
        b"[" + b"[]," * 80_000 + b"1]",
        b'{"a":' * 50_000,
        b'{"a":' + b"9" * 200_000 + b"}",
    ):
        with pytest.raises(json.JSONDecodeError):
            flat_json(body)
    with pytest.raises(json.JSONDecodeError):
        flat_json(b"[" * 1_999)
    with pytest.raises(UnicodeDecodeError):
        flat_json(b"\xff" * 250_000)
    assert is_below(time.thread_time() - began, 0.5)
