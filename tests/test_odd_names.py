"""Odd names, passwords and folders, programs without a home, and limits: each gives a sentence, never a traceback."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import lmdb
import pytest

import sonicpy
import sonicpy.keyvalue
from sonicpy.client.plans import backup, restore
from sonicpy.config import load
from sonicpy.errors import ConfigError, InvalidArgument, StoreDamaged, StoreError
from sonicpy.index.maintenance.verify import verify_store_in_child

NO_TEXT = os.fsdecode(b"st\xffore")
STRING_KEYS = ("channel.auth_password", "stopwords.allow", "stopwords.deny", "store.kv.database.compression_type")


@pytest.mark.parametrize("key", STRING_KEYS)
def test_a_setting_that_is_no_text(key: str) -> None:
    name = f"SONIC_{key.upper().replace('.', '__')}"
    with pytest.raises(ConfigError, match=rf"^environment variable {name}: {key} .*; allowed is .*, in UTF-8\.$"):
        load(None, {name: "p\udcffw"}, {})


def test_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    folder = tmp_path / NO_TEXT
    with sonicpy.open(folder / "store") as index:
        index.push("c", "b", "o", "found")
        index.consolidate()
        assert index.stats()["folder"].endswith("st\\udcffore/store")
        index.restore(index.backup(folder / "backup").parent)
        assert index.verify() == []
    with sonicpy.open(folder / "store", read_only=True) as index:
        assert index.query("c", "b", "found") == ["o"]
    with sonicpy.keyvalue.open(folder / "table") as table:
        table.set(b"k", b"v")
        table.backup(folder / "backup of it")
        assert table.restore(folder / "backup of it") == 1


@pytest.mark.parametrize("plan", [backup, restore])
def test_a_folder_that_cannot_be_sent(plan: Callable[[str], object]) -> None:
    with pytest.raises(InvalidArgument, match=r"'/x/st\\udcffore' cannot be sent: a path must be one word of Unicode"):
        plan(f"/x/{NO_TEXT}")


@pytest.mark.parametrize("key", [b"\x01\xff\xff", b"\xff\xff", b"\0", b"\x05abc", b"\x01c\xff"])
def test_a_damaged_key_of_scopes(tmp_path: Path, key: bytes) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push("c", "b", "o", "found")
    with lmdb.open(str(tmp_path), max_dbs=20, map_size=1 << 26) as environment:
        table = environment.open_db(b"scopes")
        with environment.begin(write=True) as transaction:
            transaction.put(key, transaction.get(b"\x01cb", db=table) or b"", db=table)
    with sonicpy.open(tmp_path, read_only=True) as index:
        for read in (index.stats, lambda: list(index.holdings())):
            with pytest.raises(StoreDamaged, match="^the key b.* of the table scopes is damaged: "):
                read()
        assert index.query("c", "b", "found") == ["o"]
    with pytest.raises(StoreDamaged, match="^the key b.* of the table scopes is damaged: "):
        sonicpy.open(tmp_path)


def test_verify_names_a_damaged_key_of_scopes(tmp_path: Path) -> None:
    sonicpy.open(tmp_path).close()
    with lmdb.open(str(tmp_path), max_dbs=20, map_size=1 << 26) as environment:
        table = environment.open_db(b"scopes")
        with environment.begin(write=True) as transaction:
            transaction.put(b"\x01\xff\xff", b"", db=table)
    [fault] = verify_store_in_child(tmp_path)
    assert fault.startswith("the row b'\\x01\\xff\\xff' of scopes cannot be read: ")


CHILD = """
import pwd, sys

def getpwuid(number):
    raise KeyError(f"getpwuid(): uid not found: {number}")

pwd.getpwuid = getpwuid  # as in a container that runs under an arbitrary user id
import sonicpy

try:
    with sonicpy.open(sys.argv[1]) as index:
        index.push("c", "b", "o", "found")
        index.consolidate()
        print(index.query("c", "b", "found"), index.verify())
except sonicpy.SonicError as error:
    print(type(error).__name__, error)
"""


def child(folder: Path, limit: int) -> str:
    """Return the output of a program without a home directory that may reserve `limit` bytes of address space."""
    variables = {name: value for name, value in os.environ.items() if name not in ("HOME", "USER", "LOGNAME")}
    command = ["sh", "-c", f'ulimit -v {limit >> 10}; exec "$@"', "sh", sys.executable, "-c", CHILD, str(folder)]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_a_limit_of_address_space(tmp_path: Path) -> None:
    said = child(tmp_path, 8 << 30)
    assert said.startswith(f"StoreError cannot open the store in {tmp_path}: there is no address space for 65536 MiB")
    assert "ulimit -v" in said
    assert "store.kv.map_size_mb" in said


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_a_program_without_a_home_and_an_entry(tmp_path: Path) -> None:
    assert child(tmp_path / "store", 200 << 30) == "Hits(['o']) []\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[DEFAULT]\nkey: value\n", "is not TOML"),
        ("[server]\nlog_level = 7\n", "allowed is"),
        ("\0\xff", "is not TOML"),
    ],
)
def test_a_file_of_settings_of_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, why: str
) -> None:
    (tmp_path / "config.cfg").write_text(content, encoding="latin-1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=why) as caught:
        load(None, {}, {})
    assert str(caught.value).endswith(
        "; without -c it is read because of its name, and -c names another file (-c /dev/null: none)."
    )
    with pytest.raises(ConfigError) as caught:
        load(Path("config.cfg"), {}, {})
    assert "working folder" not in str(caught.value)


def test_a_store_error_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store in"):
        sonicpy.open(tmp_path / NO_TEXT, read_only=True)
