"""Tests of the modes of new files and folders: only their user has access, or a group, too, whatever the umask."""

import ast
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonicpy
import sonicpy.keyvalue
from sonicpy.errors import StoreError
from sonicpy.files import ACCESSES, PRIVATE, make_all, new_text, open_new, open_regular
from tests.processes import Server
from tests.support.texts import MANY_WORDS

PACKAGE = Path(sonicpy.__file__).parent
MADE = {
    "cli/demo/verb.py: open": "in a temporary folder, which only this user may enter",
    "cli/importing/bad_rows.py: open": "--bad, a file of the user",
    "cli/maintenance.py: open": "the output of export, a file of the user",
    "files.py: fdopen": "of what open_new made",
    "files.py: mkdir": "the one place",
    "files.py: open": "the one place",
    "cli/main.py: fdopen": "the streams of the process",
    "cluster/peers/certificates.py: touch": "in a temporary folder, which only this user may enter",
    "cluster/peers/certificates.py: write_bytes": "in a temporary folder, which only this user may enter",
    "cluster/operator/dev.py: fdopen": "of what open_new made",
    "cluster/node/moves.py: touch": "the time of a folder that is there",
    "load/report.py: open": "--output, a file of the user",
    "load/report.py: write_text": "--json, a file of the user",
    "pytest_plugin.py: open": "in the folder of a test",
    "pytest_plugin.py: touch": "in the folder of a test",
    "store/disk/temporary.py: mkdtemp": "which only this user may enter",
}
"""Place that makes a file or a folder without `files.py` -> the reason."""
MAKES = {
    "NamedTemporaryFile", "copy", "copy2", "copyfile", "copytree", "fdopen", "makedirs", "mkdir", "mkdtemp", "mkfifo",
    "mkstemp", "mknod", "touch", "write_bytes", "write_text",
}  # fmt: skip


@pytest.fixture
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Return the modes of all files and folders in a folder, and of the folder itself."""
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}


def make_everything(folder: Path, access: str) -> None:
    """Make an index in `folder`/a, with a log, a graph and a boot mark, and a backup beside it."""
    config = {"store": {"kv": {"group_access": access}}}
    with sonicpy.open(folder / "a" / "store", config=config) as index:
        index.push("c", "b", "o", f"some words {MANY_WORDS}")
        index.consolidate()
        index.backup(folder / "backup")
        assert index.query("c", "b", "some") == ["o"]


def expected(path: str, access: str) -> int:
    """Return the mode that a file or a folder should have."""
    allowed = ACCESSES[access]
    if path.endswith("lock.mdb"):
        return allowed.shared
    return allowed.file if "." in Path(path).name else allowed.folder


@pytest.mark.parametrize(
    ("umask", "access"), [(0o000, "none"), (0o022, "none"), (0o377, "write"), (0o077, "read")], indirect=["umask"]
)
@pytest.mark.usefixtures("umask")
def test_new_files_of_an_index(tmp_path: Path, access: str) -> None:
    make_everything(tmp_path / "new", access)
    found = modes(tmp_path / "new")
    names = {Path(path).suffix for path in found}
    assert {".mdb", ".lock", ".boot", ".checkpoint", ".log", ".graph", ".backup"} <= names
    assert found == {path: expected(path, access) if path != "." else ACCESSES[access].folder for path in found}


def test_new_files_of_a_table_of_keys(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with sonicpy.keyvalue.open(tmp_path / "table") as table:
            table.set(b"k", b"v")
            table.backup(tmp_path / "backup")
    finally:
        os.umask(before)
    found = modes(tmp_path / "table") | {f"backup/{name}": mode for name, mode in modes(tmp_path / "backup").items()}
    assert set(found.values()) == {0o600, 0o700}
    assert all(mode == (0o600 if Path(path).suffix else 0o700) for path, mode in found.items()), found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to any group")
def test_new_files_take_the_group_of_their_folder(tmp_path: Path) -> None:
    os.chown(tmp_path, -1, 12_345)
    make_everything(tmp_path, "read")
    assert {path.stat().st_gid for path in tmp_path.rglob("*")} == {12_345}
    make_everything(tmp_path / "other", "none")
    assert {path.stat().st_gid for path in (tmp_path / "other").rglob("*")} == {os.getegid()}


def test_files_that_exist_keep_their_modes_and_a_start_says_so(tmp_path: Path) -> None:
    store = tmp_path / "store"
    sonicpy.open(store).close()
    with Server(tmp_path) as running:
        assert running.log() == ""
    store.chmod(0o755)
    (store / "data.mdb").chmod(0o644)
    with Server(tmp_path) as running:
        [line] = running.log().splitlines()
        assert "may use 1 files of the store" in line
        assert "data.mdb with mode 644" in line
        assert "chmod -R u=rwX,g=,o= " in line
    sonicpy.open(store).close()
    assert modes(store)["data.mdb"] == 0o644
    (store / "sonicpy.boot").chmod(0o644)
    sonicpy.open(store).close()
    assert modes(store)["sonicpy.boot"] == 0o644, "its content is replaced, as a file of its own"


def makes(node: ast.AST) -> str | None:
    """Return the name of a call that makes a file or a folder; None: the node is not such a call."""
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "open":
        text = " ".join(ast.unparse(argument) for argument in (*node.args[1:], *(word.value for word in node.keywords)))
        return name if "O_CREAT" in text or any(f"'{mode}" in text for mode in "wax") else None
    if name.startswith("copy") and ast.unparse(node.func).partition(".")[0] != "shutil":
        return None
    if name == "touch" and node.args:
        return None
    return name if name in MAKES else None


def test_every_place_that_makes_a_file_is_known() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in (*MAKES, "open(")):
            calls = filter(None, map(makes, ast.walk(ast.parse(text))))
            found |= {f"{path.relative_to(PACKAGE)}: {name}" for name in calls}
    assert found == set(MADE)


def test_names_that_lead_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "fifo")
    for name, why in (("link", "symbolic link"), ("fifo", "regular file|No such device")):
        with pytest.raises(OSError, match=why):
            open_new(tmp_path / name, os.O_WRONLY)
        with pytest.raises(OSError, match="symbolic link|regular file"):
            open_regular(tmp_path / name)
    os.link(tmp_path / "target", tmp_path / "other name")
    for name in ("link", "fifo", "other name"):
        new_text(tmp_path / name).close()
        assert not (tmp_path / name).is_symlink()
    assert (tmp_path / "target").read_text() == "precious"
    with new_text(tmp_path / "file") as file:
        file.write("long")
    with new_text(tmp_path / "file") as file:
        file.write("s")
    assert (tmp_path / "file").read_text() == "s"
    assert make_all(tmp_path / "x" / "y", PRIVATE) == [tmp_path / "x", tmp_path / "x" / "y"]
    with pytest.raises(NotADirectoryError, match="is a file, not a folder"):
        make_all(tmp_path / "file" / "y")


# -- what a backup or a restore meets --------------------------------------------------------------------------------


@pytest.fixture
def index(tmp_path: Path) -> Iterator[sonicpy.Index]:
    with sonicpy.open(tmp_path / "store") as index:
        index.push("c", "b", "o", "found")
        yield index


def test_a_backup_follows_no_name_and_waits_for_no_pipe(index: sonicpy.Index, tmp_path: Path) -> None:
    target, folder = tmp_path / "target", tmp_path / "backup"
    target.write_text("precious")
    folder.mkdir()
    fresh = folder / "sonicpy.backup.new"
    for make in (lambda: fresh.symlink_to(target), lambda: os.mkfifo(fresh)):
        make()
        with pytest.raises(StoreError, match="^cannot write the backup .*: it is "):
            index.backup(folder)
        fresh.unlink()
    os.link(target, fresh)  # one of two names: the other one keeps the content
    index.backup(folder)
    assert target.read_text() == "precious"
    backup = folder / "sonicpy.backup"
    backup.unlink()
    backup.symlink_to(target)
    index.backup(folder)
    assert not backup.is_symlink(), "the link itself is replaced"
    assert target.read_text() == "precious"


def test_a_restore_follows_no_name_and_waits_for_no_pipe(index: sonicpy.Index, tmp_path: Path) -> None:
    path = index.backup(tmp_path / "backup")
    elsewhere = path.rename(tmp_path / "elsewhere")
    for make in (lambda: path.symlink_to(elsewhere), lambda: os.mkfifo(path), lambda: path.mkdir()):
        make()
        with pytest.raises(StoreError, match="^cannot read the backup .*: it is "):
            index.restore(tmp_path / "backup")
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    elsewhere.rename(path)
    index.restore(tmp_path / "backup")
    assert index.query("c", "b", "found") == ["o"]
