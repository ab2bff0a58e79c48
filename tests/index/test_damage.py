"""Damaged files: checks report them in sentences, and no signal ends the calling process; queries detect some damage.

docs/operations.md lists the damage that a query cannot detect.
"""

import json
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sonicpy
from sonicpy import Index
from sonicpy.errors import SonicError, StoreDamaged, StoreError
from sonicpy.index.maintenance.verify import verify_folder, verify_in_child
from sonicpy.store.care import check_rows
from sonicpy.store.disk import check_process, page_check
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.data_file import BRANCH_PAGE, META_PAGES, PAGE_HEADER, newest_meta_page
from sonicpy.store.disk.environment import DATA_FILE, Environment
from sonicpy.store.disk.page_tree import PageTrees
from sonicpy.store.disk.table_numbers import StoredRow
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import bucket_key
from sonicpy.store.rows.names import oids_from
from tests.index.shorthand import B, C, open_index
from tests.processes import run_here
from tests.support.examples import some

PAGE_BYTES = 4096
WORDS = [f"word{number}" for number in range(200)]
ASKED = [*WORDS[::8], "late", "word0 word1", "word3 word7 late"]
OBJECTS = 1_500

ASK = """
import json, sys
import sonicpy
from sonicpy.errors import SonicError
found = {}
try:
    with sonicpy.open(sys.argv[1], read_only=True) as index:
        for text in json.loads(sys.argv[2]):
            try:
                found[text] = list(index.query("collection", "bucket", text, limit=2000, lang="none"))
            except SonicError as error:
                found[text] = str(error)
except SonicError as error:
    found = str(error)
print(json.dumps(found))
"""


Answers = dict[str, list[str] | str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a closed store with rows in every table, and pages that later commits freed."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    chance = random.Random(3)
    shares = [1 / (place + 1) for place in range(len(WORDS))]
    with Index(folder) as index:
        with index.batch():
            for number in range(OBJECTS):
                index.push(C, B, f"object:{number}", " ".join(chance.choices(WORDS, shares, k=8)), "none")
        index.consolidate()
        for first in range(0, OBJECTS, 300):  # few commits: most pages of the file should be in use
            with index.batch():
                for number in range(first, first + 300, 9):
                    index.push(C, B, f"object:{number}", "late", "none")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of the folder that may be damaged."""
    return shutil.copytree(whole, tmp_path / "store")


def ask(folder: Path) -> Answers:
    """Return the results of each text, or the error."""
    found: Answers = {}
    with sonicpy.open(folder, read_only=True) as index:
        for text in ASKED:
            try:
                found[text] = list(index.query(C, B, text, limit=2000, lang="none"))
            except StoreError as error:
                found[text] = str(error)
    return found


def pages_of(folder: Path) -> tuple[list[int], list[int]]:
    """Return the numbers of the pages of a store that are in use, and of those that are free."""
    descriptor = os.open(folder / DATA_FILE, os.O_RDONLY)
    try:
        meta = newest_meta_page(descriptor)
        free = {page for pages in PageTrees(descriptor, meta).free_pages(meta.number) for page in pages}
        return [page for page in range(META_PAGES, meta.pages) if page not in free], sorted(free)
    finally:
        os.close(descriptor)


def waiting_names(folder: Path) -> set[str]:
    """Return the names of the objects that only records hold."""
    environment = Environment(folder, 1 << 30, read_only=True)
    try:
        with environment.reading() as transaction:
            ((_, row),) = transaction.rows(tables.SCOPES, b"")
            assert row is not None
            state = BucketState.unpack(row)
            return {oid.decode() for _, oid in oids_from(transaction, state.bucket, state.named)}
    finally:
        environment.close()


# -- pages -------------------------------------------------------------------------------------------------------------

Damage = Callable[[bytearray, int, random.Random], bytearray]


def flip(data: bytearray, page: int, chance: random.Random) -> bytearray:
    data[page * PAGE_BYTES + chance.randrange(PAGE_BYTES)] ^= 1 << chance.randrange(8)
    return data


def zero(data: bytearray, page: int, chance: random.Random) -> bytearray:
    data[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = bytes(PAGE_BYTES)
    return data


def copy_over(data: bytearray, page: int, chance: random.Random) -> bytearray:
    other = chance.randrange(2, len(data) // PAGE_BYTES)
    data[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = data[other * PAGE_BYTES : (other + 1) * PAGE_BYTES]
    return data


@pytest.mark.parametrize("damage", [zero, copy_over])
def test_many_damaged_pages_are_sentences(whole: Path, folder: Path, damage: Damage) -> None:
    chance, content = random.Random(11), bytearray((whole / DATA_FILE).read_bytes())
    for page in range(8, len(content) // PAGE_BYTES, 2):
        content = damage(content, page, chance)
    (folder / DATA_FILE).write_bytes(content)
    status, printed, said = run_here(["verify", str(folder)], folder)
    assert status == 1
    assert said.count("\n") == 1 and said.startswith("sonicpy: ") and "Traceback" not in printed, said


def test_a_page_that_refers_to_itself_ends_the_check(folder: Path) -> None:
    """A check ends although LMDB would descend for ever from a page that refers to itself."""
    content = bytearray((folder / DATA_FILE).read_bytes())
    branches = 0
    for begin in range(2 * PAGE_BYTES, len(content), PAGE_BYTES):
        number, _, flags, places_end, _ = PAGE_HEADER.unpack_from(content, begin)
        if number == begin // PAGE_BYTES and flags == BRANCH_PAGE:
            for place in range(begin + PAGE_HEADER.size, begin + places_end, 2):
                node = begin + int.from_bytes(content[place : place + 2], sys.byteorder)
                struct.pack_into("=HHH", content, node, number & 0xFFFF, number >> 16, 0)
            branches += 1
    assert branches
    (folder / DATA_FILE).write_bytes(content)
    status, _, said = run_here(["verify", str(folder)], folder)
    assert status == 1 and said.count("\n") == 1, said
    fault = check_rows.first_fault(folder, compare=True)
    assert fault and "is used twice" in fault


def is_same(found: Answers | str, expected: Answers, waiting: set[str]) -> bool:
    """Return whether answers are right, whatever other names objects got whose names only records hold."""
    if isinstance(found, str) or found.keys() != expected.keys():
        return False
    for text, names in expected.items():
        others = found[text]
        if isinstance(others, str) or len(others) != len(names):
            return False
        if any(name != other and name not in waiting for name, other in zip(names, others, strict=True)):
            return False
    return True


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("damage", [flip, zero, copy_over])
def test_no_answer_is_wrong_where_the_check_finds_nothing(whole: Path, folder: Path, damage: Damage) -> None:
    expected, content, chance = ask(whole), (whole / DATA_FILE).read_bytes(), random.Random(12)
    outcomes = {"answers are right": 0, "the check names it": 0}
    waiting = waiting_names(whole)
    used, free = pages_of(whole)
    for page in [*chance.sample(used, 25), *chance.sample(free, 15)]:
        (folder / DATA_FILE).write_bytes(damage(bytearray(content), page, chance))
        try:
            faults = verify_in_child(folder)
        except StoreError as error:
            faults = [str(error)]
        assert all(fault and "\n" not in fault for fault in faults)
        command = [sys.executable, "-c", ASK, str(folder), json.dumps(ASKED)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        is_right = done.returncode == 0 and is_same(json.loads(done.stdout), expected, waiting)
        assert is_right or faults, f"page {page}: {done.stdout[:500]} {done.stderr[-500:]}"
        outcomes["the check names it" if faults else "answers are right"] += 1
    print(damage.__name__, outcomes)
    assert outcomes["the check names it"]


class Taken:
    """Records the pages that a check finds in use, and those that it finds free."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.used: set[int] = set()
        self.free: set[int] = set()
        take = page_check._PageCheck._take

        def note(check: page_check._PageCheck, name: str, first: int, pages: int) -> bool:
            caller = sys._getframe(1).f_code.co_name
            (self.free if caller == "_take_row" else self.used).update(range(first, first + pages))
            return take(check, name, first, pages)

        with monkeypatch.context() as patched:
            patched.setattr(page_check._PageCheck, "_take", note)
            assert page_faults_of(folder) == []


def page_faults_of(folder: Path) -> list[str]:
    """Return the faults of the pages of the last commit, found without LMDB."""
    return list(page_check.page_faults(folder / DATA_FILE))


def commit_of(folder: Path) -> int:
    """Return the number of the last commit in the meta pages."""
    content = (folder / DATA_FILE).read_bytes()[: 2 * PAGE_BYTES]
    return max(int.from_bytes(content[at + 144 : at + 152], sys.byteorder) for at in (0, PAGE_BYTES))


def test_every_page_of_a_whole_store_is_in_use_once_or_free(
    whole: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Taken(monkeypatch, whole)
    pages = (whole / DATA_FILE).stat().st_size // PAGE_BYTES
    assert taken.used and taken.free
    assert taken.used | taken.free <= set(range(2, pages))
    with Index(folder) as index:
        for number in range(300):  # rows with pages of their own, flushed buckets, and a backup
            index.push(C, f"b{number % 5}", f"o{number}", "amber birch", "none")
        index.flush_bucket(C, "b3")
        index.backup(folder / "backup")
        assert index.verify() == []
    assert page_faults_of(folder) == []
    assert verify_in_child(folder / "backup") == []


@pytest.mark.parametrize("step", [31, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("damage", [zero, copy_over])
def test_every_page_that_is_not_what_it_should_be_is_found(
    whole: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, damage: Damage, step: int
) -> None:
    taken = Taken(monkeypatch, whole)
    content, chance = (whole / DATA_FILE).read_bytes(), random.Random(13)
    for page in range(2, max(taken.used | taken.free) + 1, step):
        damaged = damage(bytearray(content), page, chance)
        if damaged != content:
            (folder / DATA_FILE).write_bytes(damaged)
            assert bool(page_faults_of(folder)) == (page in taken.used), page


def test_a_page_that_is_in_use_and_free_is_found(whole: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check finds a page that is in use although it is listed as free, so that LMDB would overwrite it."""
    taken = Taken(monkeypatch, whole)
    free, used = max(taken.free), max(taken.used)
    content = (whole / DATA_FILE).read_bytes()
    named, wrong = (number.to_bytes(8, sys.byteorder) for number in (free, used))
    found = 0
    for place in range(2 * PAGE_BYTES, len(content), 8):
        if content[place : place + 8] == named and place % PAGE_BYTES:  # a page begins with its own number
            (folder / DATA_FILE).write_bytes(content[:place] + wrong + content[place + 8 :])
            if any(f"page {used} is used twice" in fault for fault in page_faults_of(folder)):
                found += 1
                fault, _ = verify_in_child(folder)
                assert fault.startswith(f"page {used} is used twice, by the ")
    assert found == 1


def test_a_page_that_nobody_has_is_found(whole: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check finds a page that is neither in use nor free, so that it would never be used again."""
    free = max(Taken(monkeypatch, whole).free)
    content, told = (whole / DATA_FILE).read_bytes(), set[str]()
    for place in range(2 * PAGE_BYTES + 8, len(content), 8):
        count = int.from_bytes(content[place - 8 : place], sys.byteorder)
        if content[place : place + 8] == free.to_bytes(8, sys.byteorder) and 0 < count < 500:
            fewer = (count - 1).to_bytes(8, sys.byteorder)
            (folder / DATA_FILE).write_bytes(content[: place - 8] + fewer + content[place:])
            told.update(page_faults_of(folder))
    assert [fault.partition(",")[0] for fault in told] == ["1 pages are neither in use nor free"]


def test_an_older_commit_is_not_checked_and_a_short_file_is_named(folder: Path) -> None:
    path, commit = folder / DATA_FILE, commit_of(folder)
    assert list(page_check.page_faults(path, commit - 2)) == []
    with open(path, "r+b") as file:
        file.truncate(10 * PAGE_BYTES)
    (fault,) = page_check.page_faults(path, commit)
    assert fault.startswith("the file has 10 pages, the last one in use is ")
    with pytest.raises(StoreError, match="cannot read"):
        list(page_check.page_faults(folder / "none", commit))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_store_that_was_cut_off_is_a_sentence(folder: Path, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = max(Taken(monkeypatch, folder).used)  # pages behind these are not missed
    with open(folder / DATA_FILE, "r+b") as file:
        file.truncate(int(pages * share) * PAGE_BYTES)
    try:
        (*_, last) = verify_in_child(folder)
    except StoreError as error:
        last = str(error)
    assert str(folder) in last


@pytest.mark.parametrize("number", ["SIGABRT", "SIGBUS", "SIGSEGV"])
def test_a_check_that_a_page_ends_names_what_it_found_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    monkeypatch.setattr(check_process, "CHILD", ENDING.format(number=number))
    *before, last = verify_in_child(folder)
    assert before == ["table words has 1 rows but counts 2"]
    assert last == (
        f"a page of the tables of {folder} is damaged or missing: "
        f"reading it ended the check with {number} (mdb.c: Assertion failed)"
    )


ENDING = """
import os, signal, sys
print('{{"fault": "table words has 1 rows but counts 2"}}', flush=True)
print("one line", "mdb.c: Assertion failed", sep="\\n", file=sys.stderr, flush=True)
os.kill(os.getpid(), signal.{number})
"""


def test_a_check_that_is_killed_is_no_damage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_process, "CHILD", ENDING.format(number="SIGKILL"))
    with pytest.raises(StoreError, match=r"ended with SIGKILL before it was done: mdb.c: Assertion failed"):
        verify_in_child(folder)
    monkeypatch.setattr(check_process, "CHILD", "import sys; sys.exit(7)")
    with pytest.raises(StoreError, match=r"ended with status 7 before it was done: it printed nothing"):
        verify_in_child(folder)


def test_errors_keep_their_class(tmp_path: Path) -> None:
    (tmp_path / "sonicpy.backup").write_bytes(b"x" * 100)
    with pytest.raises(StoreDamaged, match="is not a whole backup"):
        verify_in_child(tmp_path)
    with pytest.raises(StoreError, match="holds neither a store"):
        verify_in_child(tmp_path / "empty")


def test_a_backup_in_the_folder_of_its_index_hides_no_faults(folder: Path) -> None:
    with Index(folder) as index:
        index.backup(folder)
    assert verify_in_child(folder) == []
    content = bytearray((folder / DATA_FILE).read_bytes())
    content[META_PAGES * PAGE_BYTES :] = bytes(len(content) - META_PAGES * PAGE_BYTES)
    (folder / DATA_FILE).write_bytes(content)
    assert verify_in_child(folder)


def test_an_index_is_checked_whatever_backup_its_folder_holds(folder: Path) -> None:
    (folder / "sonicpy.backup").write_bytes(b"x" * 100)
    with Index(folder) as index:
        assert index.verify() == []


# -- rows --------------------------------------------------------------------------------------------------------------


def change(folder: Path, work: Callable[[Transaction], None]) -> None:
    """Change rows of a closed store."""
    environment = Environment(folder, 1 << 30, sync=False)
    try:
        transaction = environment.begin()
        work(transaction)
        environment.commit(transaction)
    finally:
        environment.close()


def rows_of(folder: Path, table: int, prefix: bytes = bucket_key(0)) -> list[StoredRow]:
    environment = Environment(folder, 1 << 30, read_only=True)
    try:
        with environment.reading() as transaction:
            return list(transaction.rows(table, prefix))
    finally:
        environment.close()


NOTICED = {
    tables.COMMON: "the row of a common word is missing",
    tables.POSTINGS: "blocks of postings are missing",
    tables.IMPACTS: "postings, and its blocks have room for",
    tables.OBJECTS: "postings name",
}
"""Table whose missing rows a query reports -> the message."""


@pytest.mark.parametrize("table", NOTICED, ids=lambda table: tables.TABLE_NAMES[table].decode())
def test_a_query_that_needs_a_missing_row_says_so(whole: Path, folder: Path, table: int) -> None:
    expected = ask(whole)
    change(folder, lambda transaction: transaction.delete_rows(table, bucket_key(0), 10_000) and None)
    wrong = {text: found for text, found in ask(folder).items() if found != expected[text]}
    assert wrong
    for found in wrong.values():
        assert isinstance(found, str) and NOTICED[table] in found, found
    assert verify_in_child(folder)


@pytest.mark.parametrize("table", NOTICED, ids=lambda table: tables.TABLE_NAMES[table].decode())
def test_each_missing_row_is_noticed_or_not_needed(whole: Path, folder: Path, table: int) -> None:
    expected = ask(whole)
    rows = rows_of(whole, table)
    for key, row in random.Random(table).sample(rows, min(3, len(rows))):
        change(folder, lambda transaction, key=key: transaction.delete(table, key) and None)  # type: ignore[misc]
        for text, found in ask(folder).items():
            assert found == expected[text] or isinstance(found, str), (key, text)
        change(folder, lambda transaction, key=key, row=row: transaction.put(table, key, row))  # type: ignore[misc]
    assert ask(folder) == expected


@pytest.mark.parametrize("window", [0, 200])
def test_a_list_in_the_order_of_association_is_whole_or_damaged(tmp_path: Path, window: int) -> None:
    settings: dict[str, object] = {"server__compat": "sonic", "store__kv__retain_word_objects": window}
    settings["search__query_minimum_term_idf_default"] = 0  # no word is too common
    with open_index(tmp_path, **settings) as index, index.batch():
        for number in range(400):
            index.push(C, B, f"o{number}", "amber", "none")
    change(tmp_path / "store", lambda rows: rows.delete_rows(tables.POSTINGS, bucket_key(0), 2) and None)
    with open_index(tmp_path, **settings) as index, pytest.raises(StoreDamaged, match="a word counts 400 postings"):
        index.query(C, B, "amber", limit=10, lang="none")


@pytest.mark.parametrize(
    "table", some(range(len(tables.TABLE_NAMES)), 3), ids=[name.decode() for name in tables.TABLE_NAMES]
)
def test_the_check_reads_every_row_of_every_table_and_raises_nothing_else(folder: Path, table: int) -> None:
    environment = Environment(folder, 1 << 30, read_only=True)
    with environment.reading() as transaction:
        rows = list(transaction.rows(table, b""))
    environment.close()
    chance = random.Random(table)
    for key, row in chance.sample(rows, len(rows) if table == tables.META else min(2, len(rows))):
        change(folder, lambda transaction, key=key: transaction.delete(table, key) and None)  # type: ignore[misc]
        # Without the changes readers read everything again; a bucket without a fact is one of version 1.0.
        is_hint = (table, key) == (tables.META, b"changes") or table == tables.FACTS
        assert bool(faults_of(folder)) != is_hint, f"without the row {key!r}"
        value = bytearray(row or b"x")
        value[chance.randrange(len(value))] ^= 1 << chance.randrange(8)
        change(folder, lambda transaction, key=key, value=value: transaction.put(table, key, bytes(value)))  # type: ignore[misc]
        faults_of(folder)
        change(folder, lambda transaction, key=key, row=row: transaction.put(table, key, row))  # type: ignore[misc]
    assert faults_of(folder) == []


def faults_of(folder: Path) -> list[str]:
    try:
        return verify_folder(folder)
    except SonicError as error:
        return [str(error)]
