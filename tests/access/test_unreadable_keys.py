"""Keys that cannot be read any more: a server answers, and says in its log which keys and why."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.access.admission import Keys
from sonicpy.access.key import Key, hash_of, make_key, new_secret
from sonicpy.access.key_file import KeyFile
from sonicpy.access.key_store import KeyStore
from sonicpy.errors import ConfigError, SessionEnded
from sonicpy.server.connections.permits import admitting

SECRET = new_secret("web")
SECTION = f'[web]\nhash = "{hash_of(SECRET.encode()).hex()}"\nverbs = ["all"]\nscopes = ["*"]\n'


class Unreadable:
    """A source of keys that cannot be read."""

    def get(self, name: str) -> Key | None:
        raise ConfigError("the keys in a folder cannot be used: Permission denied.")


def test_a_file_with_a_fault_leaves_the_keys_before_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(SECTION)
    keys = Keys([KeyFile(path)], None)
    for fault in (SECTION + "[other\n", "web = 1\n"):
        caplog.clear()
        path.write_text(fault)
        for _ in range(3):
            assert keys.admit(SECRET.encode()) is not None
            assert keys.admit(b"other.secret") is None
        assert caplog.text.count(str(path)) == 1, "once for each change"
    caplog.clear()
    path.unlink()
    for _ in range(3):
        assert keys.admit(SECRET.encode()) is not None
    assert caplog.text.count("No such file or directory") == 1
    path.write_text("")
    assert keys.admit(SECRET.encode()) is None, "a file without the key revokes it"
    path.write_text(SECTION)
    assert keys.admit(SECRET.encode()) is not None


def test_a_session_ends_with_a_line(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SessionEnded) as ended:
        admitting(Keys([Unreadable()], None))(SECRET.encode())
    assert ended.value.reason == "internal_error"
    assert "Permission denied" in caplog.text


def test_http_answers_500(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("fastapi", reason="needs the extra [http]")
    httpx = pytest.importorskip("httpx", reason="needs httpx")
    from sonicpy.http import app  # noqa: PLC0415

    async def ask(index: sonicpy.Index) -> Any:
        served: Any = app(index, keys=Keys([Unreadable()], None))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url="http://localhost") as client:
            return await client.get("/v1/collections", headers={"Authorization": f"Bearer {SECRET}"})

    with sonicpy.open(":memory:") as index:
        answer = asyncio.run(ask(index))
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert "Permission denied" in caplog.text
    assert "Permission denied" not in answer.text


def test_a_folder_that_cannot_be_made_or_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    store = KeyStore(tmp_path / "file")
    with pytest.raises(ConfigError, match="cannot be used"):
        store.put(make_key("web", hash_of(SECRET.encode()), {"scopes": ["*"]}))

    def refuse(path: Path, **_: object) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(ConfigError, match="cannot be used.*Permission denied"):
        KeyStore(tmp_path / "other").get("web")
