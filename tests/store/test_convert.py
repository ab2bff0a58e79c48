"""A store of format 3 opens in the present format, and every word finds all its objects again.

The stores in `format3` were written by the last version of that format: seven buckets, lists cut to the newest 3
postings (so that most words find few of their objects), words that objects gained late, objects that were popped, were
flushed or hold nothing, a word of 700 bytes, a flushed bucket, and three changes that only the log holds. `holds.json`
has the pushes: scope -> object -> words.
"""

import hashlib
import json
import shutil
import sys
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

import sonicpy
from sonicpy import Index
from sonicpy.config import Config
from sonicpy.errors import StoreDamaged, StoreError, StoreFull
from sonicpy.index.maintenance.verify import verify_backup, verify_folder
from sonicpy.lexer.lexer import Lexer
from sonicpy.store.care import convert
from sonicpy.store.care.backup import BACKUP_FILE, FORMAT_VERSION, MAGIC, SEAL
from sonicpy.store.disk import environment as environments
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.boot_mark import BOOT_FILE, note_boot
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import bucket_key, scope_key
from sonicpy.store.rows.meta import (
    ANALYZER,
    BY_ASSOCIATION,
    BY_OBJECT,
    CONVERSION,
    FORMAT,
    ORDER,
    check_format,
    take_bucket_id,
)
from tests.disk import disk, fill
from tests.store.trouble import failing_writes
from tests.support.examples import thinned

pytestmark = pytest.mark.usefixtures("extras_as_made")

STORES = Path(__file__).parent / "format3"
MODES = ("default", "compat")
MAP_BYTES = 64 << 20

Holds = dict[str, dict[str, set[str]]]


def config(mode: str, **kv: object) -> Config:
    return Config.model_validate(
        {"server": {"compat": "sonic" if mode == "compat" else "none"}, "store": {"kv": {"path": "unused", **kv}}}
    )


def unpack(mode: str, folder: Path) -> tuple[Path, Holds]:
    """Return the folder of a store of format 3, and its expected content."""
    with tarfile.open(STORES / f"{mode}.tar.xz") as archive:
        if sys.version_info >= (3, 12):
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)
    note_boot(folder / "store", clean=True)  # as the version that wrote them did
    _note_terms(folder / "store", config(mode))
    holds = json.loads((folder / "holds.json").read_text())
    return folder / "store", {scope: {oid: set(words) for oid, words in held.items()} for scope, held in holds.items()}


def _note_terms(folder: Path, config: Config) -> None:
    """Record in a store that its texts, none of them Chinese, have the same terms in the present compat mode."""
    today = Lexer(config.normalization, config.tokenization, config.stopwords, compat=config.server.compat == "sonic")
    with writing(folder) as transaction:
        held = ANALYZER.read(transaction) or {}
        new = {key: value for key, value in today.analyser().items() if key == "lexer.compat"}
        ANALYZER.write(transaction, {**held, **new})


def check(index: Index, holds: Holds) -> None:
    """Check an index by the texts that were pushed into it."""
    assert index.verify() == []
    held: Holds = defaultdict(lambda: defaultdict(set))
    for one in index.holdings():
        held[f"{one.collection}/{one.bucket}"][one.object] |= {*one.terms, *one.hidden}
    assert held == holds
    for scope, objects in holds.items():
        collection, bucket = scope.split("/")
        holders: dict[str, set[str]] = defaultdict(set)
        for oid, words in objects.items():
            for word in words:
                holders[word].add(oid)
        counted = {stats.word: stats.objects for stats in index.term_stats(collection, bucket)}
        assert counted == {word: len(oids) for word, oids in holders.items()}
        assert index.count_objects(collection, bucket) == len(objects)
        if index.config.server.compat == "none":
            for word, oids in holders.items():
                found = index.query_ids(collection, bucket, word, limit=len(objects))
                assert set(found) >= oids, (scope, word)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    answer: str = request.param
    return answer


@pytest.fixture
def small_steps() -> Iterator[None]:
    with mock.patch.object(convert, "STEP_ROWS", 2), mock.patch.object(convert, "SWEPT_ROWS", 300):
        yield


@contextmanager
def writing(folder: Path) -> Iterator[Transaction]:
    """Yield a write transaction of a store that is not open, which is committed at the end of the block."""
    environment = Environment(folder, MAP_BYTES)
    transaction = environment.begin()
    yield transaction
    environment.commit(transaction)
    environment.close()


@contextmanager
def reading(folder: Path) -> Iterator[Transaction]:
    environment = Environment(folder, MAP_BYTES, read_only=True)
    with environment.reading() as transaction:
        yield transaction
    environment.close()


# -- what a conversion keeps -------------------------------------------------------------------------------------------


def test_every_word_finds_every_object(tmp_path: Path, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    folder, holds = unpack(mode, tmp_path)
    with Index(folder, config(mode)) as index:
        check(index, holds)
        assert index.query_ids("messages", "default", "replayedword") == ["object:1"]
        state = index.engine.store.pending_buckets()
        assert state == set(), "the graphs are built"
        assert index.words("messages", "default", limit=2) == ["again0", "again1"]
        assert index.suggest("messages", "default", "repl") == ["replayedword"]
    assert "converting it to format 5, 0 of 367 objects are done" in caplog.text
    assert verify_folder(folder) == []
    caplog.clear()
    with Index(folder, config(mode)) as index:
        check(index, holds)
        index.push("messages", "default", "after", "common")
        assert index.count_objects("messages", "default") == len(holds["messages/default"]) + 1
        while index.engine.sweep(100):
            index.engine.commit()
        assert index.verify() == []
    assert "convert" not in caplog.text


def test_the_order_of_lists_is_noted(tmp_path: Path, mode: str) -> None:
    folder, _ = unpack(mode, tmp_path)
    Index(folder, config(mode)).close()
    with reading(folder) as transaction:
        check_format(transaction)
        assert (ANALYZER.read(transaction) or {})[ORDER] == (BY_ASSOCIATION if mode == "compat" else BY_OBJECT)
        assert CONVERSION.read(transaction) is None


def test_objects_stay_in_their_order(tmp_path: Path) -> None:
    folder, holds = unpack("default", tmp_path)
    with Index(folder, config("default")) as index:
        for scope, objects in holds.items():
            oids = [stats.object for stats in index.object_stats(*scope.split("/"))]
            assert oids == list(objects), "the JSON has them as they were made"


def test_a_store_made_with_other_settings_is_refused_as_it_is(tmp_path: Path) -> None:
    folder, holds = unpack("default", tmp_path)
    with pytest.raises(StoreError, match="was made with .* = .*, not"):
        Index(folder, config("compat"))
    with Index(folder, config("default")) as index:
        check(index, holds)


def test_what_a_restore_has_left_behind_is_dropped(tmp_path: Path) -> None:
    folder, holds = unpack("default", tmp_path)
    with writing(folder) as transaction:
        for number in range(2):
            state = BucketState(take_bucket_id(transaction), 5, 0, 5)
            transaction.put(tables.SCOPES, scope_key("", str(number)), state.pack())
            transaction.put(tables.BUCKETS, bucket_key(state.bucket), scope_key("", str(number)))
            transaction.put(tables.TERMS, bucket_key(state.bucket) + bytes(5), b"word")
    with Index(folder, config("default")) as index:
        check(index, holds)
        assert index.engine.count_scopes() == len(holds)


# -- interruptions -----------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """An exception in place of the death of the process."""


@pytest.mark.usefixtures("small_steps")
def test_a_kill_behind_any_commit(tmp_path: Path, mode: str) -> None:
    """A copy of the folder after each commit represents the folder after a kill."""
    folder, holds = unpack(mode, tmp_path)
    copies: list[Path] = []
    commit = Environment.commit

    def commit_and_copy(self: Environment, transaction: Transaction) -> None:
        commit(self, transaction)
        copies.append(tmp_path / "copies" / str(len(copies)))
        shutil.copytree(folder, copies[-1])

    with mock.patch.object(Environment, "commit", commit_and_copy):
        Index(folder, config(mode)).close()
    assert len(copies) > 15
    for copy in thinned(copies, MODES.index(mode)):  # what commits do is the same in all modes
        with Index(copy, config(mode)) as index:
            check(index, holds)
        shutil.rmtree(copy)


@pytest.mark.usefixtures("small_steps")
def test_a_kill_before_any_commit(tmp_path: Path, mode: str) -> None:
    folder, holds = unpack(mode, tmp_path)
    kills = 0
    while not _is_converted(folder):
        with (
            mock.patch.object(Environment, "commit", autospec=True, side_effect=_killing_after(1)),
            pytest.raises(Killed),
        ):
            Index(folder, config(mode))
        kills += 1
    assert kills > 10
    with Index(folder, config(mode)) as index:
        check(index, holds)


def _killing_after(commits: int) -> Callable[[Environment, Transaction], None]:
    """Return a commit that succeeds `commits` times, and then raises Killed before it writes, as a kill would act."""
    commit = Environment.commit
    passed = 0

    def commit_or_die(self: Environment, transaction: Transaction) -> None:
        nonlocal passed
        passed += 1
        if passed > commits:
            self.abort(transaction)
            raise Killed
        commit(self, transaction)

    return commit_or_die


def _is_converted(folder: Path) -> bool:
    with reading(folder) as transaction:
        return FORMAT.read(transaction) == "5"


@pytest.mark.usefixtures("small_steps")
def test_the_log_tells_how_far_an_interrupted_conversion_was(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder, holds = unpack("default", tmp_path)
    with (
        mock.patch.object(Environment, "commit", autospec=True, side_effect=_killing_after(4)),
        pytest.raises(Killed),
    ):
        Index(folder, config("default"))
    assert not json.loads((folder / BOOT_FILE).read_text())["clean"], "if the machine stops now, every row is checked"
    caplog.clear()
    with Index(folder, config("default")) as index:
        check(index, holds)
    (done,) = (record.args[3] for record in caplog.records if "converting it" in record.message)
    assert 0 < done < 367


@pytest.mark.full
@pytest.mark.usefixtures("small_steps")
def test_a_full_disk_at_any_write(tmp_path: Path) -> None:
    folder, holds = unpack("default", tmp_path / "first")
    tried = 0
    for at in thinned(range(0, 10_000, 37)):
        copy = tmp_path / str(at)
        shutil.copytree(folder, copy)
        with failing_writes({at}, lambda: StoreFull("the disk of the store is full: no room")) as calls:
            try:
                Index(copy, config("default")).close()
            except StoreFull:
                tried += 1
        with Index(copy, config("default")) as index:
            check(index, holds)
        shutil.rmtree(copy)
        if calls.made <= at:
            break
    assert tried > 2


def test_a_disk_that_is_full_indeed(tmp_path: Path) -> None:
    """The store is converted as far as there is room on the disk; with more room, the next start continues."""
    with disk(tmp_path / "disk", 16 << 20) as root, mock.patch.object(convert, "STEP_ROWS", 1):
        folder, holds = unpack("default", root)
        filler = fill(root, 60 << 10)
        with pytest.raises(StoreError):
            Index(folder, config("default"))
        filler.unlink()
        with Index(folder, config("default")) as index:
            check(index, holds)


@pytest.mark.usefixtures("small_steps")
def test_a_map_that_is_too_small_grows(tmp_path: Path) -> None:
    folder, holds = unpack("default", tmp_path)
    with mock.patch.object(environments, "GROW_WHEN_USED", 2.0):  # so that it grows in the middle of a step
        environment = Environment(folder, 1 << 12)  # LMDB maps all of the file, and nothing more
        grown = environment.map_bytes()
        with environment.reading() as transaction:
            analyzer = {**(ANALYZER.read(transaction) or {}), ORDER: BY_OBJECT}
        convert.Conversion(folder, environment, analyzer).run()
        assert environment.map_bytes() > grown > (1 << 12)
        environment.close()
    with Index(folder, config("default")) as index:
        check(index, holds)


# -- what is refused ---------------------------------------------------------------------------------------------------


def half_converted(folder: Path) -> None:
    with (
        mock.patch.object(convert, "STEP_ROWS", 2),
        mock.patch.object(Environment, "commit", autospec=True, side_effect=_killing_after(4)),
        pytest.raises(Killed),
    ):
        Index(folder, config("default"))


@pytest.mark.parametrize("is_begun", [False, True])
def test_readers_say_to_open_it_for_writing_once(tmp_path: Path, is_begun: bool) -> None:
    folder, _ = unpack("default", tmp_path)
    if is_begun:
        half_converted(folder)
    sentence = r"^the store has format version 3, this sonicpy reads 4, 5 and 6: open it for writing once, .* it$"
    with pytest.raises(StoreError, match=sentence):
        sonicpy.open(folder, config("default"), read_only=True)
    with pytest.raises(StoreError, match=sentence):
        verify_folder(folder)


def test_the_version_that_wrote_it_refuses_a_store_half_converted(tmp_path: Path) -> None:
    """The old version has no order of postings, and compares the analysis settings key by key."""
    folder, _ = unpack("default", tmp_path)
    half_converted(folder)
    with reading(folder) as transaction:
        assert ORDER in (ANALYZER.read(transaction) or {})


def test_a_backup_of_format_3(tmp_path: Path) -> None:
    folder, _ = unpack("default", tmp_path)
    content = (folder / "data.mdb").read_bytes()
    backup = tmp_path / "backup"
    backup.mkdir()
    digest = hashlib.blake2b(content, digest_size=32).digest()
    (backup / BACKUP_FILE).write_bytes(content + SEAL.pack(MAGIC, FORMAT_VERSION, digest))
    sentence = (
        r"^the backup has format version 3, this sonicpy reads 4, 5 and 6: restore it with the version that wrote it"
    )
    with pytest.raises(StoreError, match=sentence):
        verify_backup(backup)
    with Index(tmp_path / "other", config("default")) as index, pytest.raises(StoreError, match=sentence):
        index.restore(backup)


def test_rows_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    folder, _ = unpack("default", tmp_path)
    with writing(folder) as transaction:
        key = next(key for key, _ in list(transaction.rows(tables.OBJECTS, b"")))
        transaction.put(tables.OBJECTS, key, b"\0\0\1x\5")
    with pytest.raises(StoreDamaged, match=rf"^the store {folder} cannot be converted: bucket 0, from object 0 on: "):
        Index(folder, config("default"))


def test_a_missing_term_is_named(tmp_path: Path) -> None:
    folder, _ = unpack("default", tmp_path)
    with writing(folder) as transaction:
        transaction.delete(tables.TERMS, next(key for key, _ in list(transaction.rows(tables.TERMS, b""))))
    with pytest.raises(StoreDamaged, match=r"cannot be converted: objects of bucket 0 name 1 missing terms$"):
        Index(folder, config("default"))
