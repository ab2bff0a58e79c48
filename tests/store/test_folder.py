"""Whether a folder holds a store, also where nobody may look."""

from pathlib import Path

import pytest

from sonicpy.errors import StoreError
from sonicpy.store.folder import holds_store, is_there
from tests.store.shorthand import open_store


def test_a_store_is_there_or_not(tmp_path: Path) -> None:
    open_store(tmp_path / "store").close()
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    assert holds_store(tmp_path / "store")
    for name in ("empty", "none", "file", "no\0name"):
        assert not holds_store(tmp_path / name), name
    assert is_there(tmp_path / "file")


def test_what_may_not_be_looked_into_is_one_sentence(hidden: Path) -> None:
    with pytest.raises(StoreError, match="^cannot look into hidden: Permission denied$"):
        holds_store(hidden)
