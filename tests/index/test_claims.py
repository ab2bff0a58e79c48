"""A mirror owns a bucket, or the objects whose names begin alike, whichever way its source comes: folder or server."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.cli.main import main
from sonicpy.client.blocking.connect import connect
from sonicpy.errors import CommandError, InvalidArgument, NotOffered
from sonicpy.index import claims
from sonicpy.index.ingest.exported import change_of_facts
from sonicpy.rules import FIRST, NEWEST
from sonicpy.store.rows import mirror_notes
from tests.client.fake import Caller, Fake
from tests.client.ways import ALL_WAYS, EVERY_WAY
from tests.index.shorthand import B, C
from tests.processes import Server

OWNED = "the mirror of 'first'; allowed are another bucket, a prefix that does not overlap, or FLUSHB first"


class Place:
    """A bucket that sources of the command line follow, in the folder of a server, which may run or not."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.server = Server(folder)
        self.folder = folder / "store"
        self._rows = folder / "rows.jsonl"
        self._capsys = capsys

    @property
    def url(self) -> str:
        return f"sonic://{self.server.host}:{self.server.port}"

    def mirror(self, owner: str, *names: str, at: str, prefix: str = "") -> tuple[int, str]:
        """Run `sonicpy mirror` of rows with these names; return its status and its stderr."""
        self._rows.write_text("".join(json.dumps({"id": name, "text": owner}) + "\n" for name in names))
        where = ["--server", self.url] if at == "server" else ["--data", str(self.folder)]
        what = ["--collection", C, "--bucket", B, "--owner", owner, "--prefix", prefix]
        status = main(["mirror", str(self._rows), *what, *where])
        return status, self._capsys.readouterr().err

    def refuses(self, owner: str, *, at: str, prefix: str = "", which: str = f"the bucket '{B}' is") -> None:
        status, said = self.mirror(owner, at=at, prefix=prefix)
        assert (status, said.count("\n")) == (2, 1)
        assert f"{which} {OWNED}" in said

    def objects(self) -> list[str]:
        with sonicpy.open(self.folder) as index:
            assert index.verify() == []
            return sorted(index.iterate_objects(C, B))


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    return Place(tmp_path, capsys)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[sonicpy.Index]:
    with sonicpy.open(tmp_path / "index") as opened:
        yield opened


def test_a_second_source_of_a_server_erases_nothing(place: Place) -> None:
    with place.server as server:
        assert place.mirror("first", "1", "2", at="server") == (0, "")
        place.refuses("second", at="server")
        server.kill()
        server.start()
        place.refuses("second", at="server", prefix="x")
        assert place.mirror("first", "2", "3", at="server") == (0, "")
    assert place.objects() == ["2", "3"]


def test_folder_and_server_see_the_same_owners(place: Place) -> None:
    place.mirror("first", "1", at="folder")
    with place.server:
        place.refuses("second", at="server")
        with connect(place.url) as client:
            client.flush_bucket(C, B)
        assert place.mirror("first", "3", at="server", prefix="f:") == (0, "")
        assert place.mirror("second", "4", at="server", prefix="s:") == (0, "")
    begun = f"the objects of the bucket '{B}' whose names begin with 'f:' are"
    place.refuses("second", at="folder", prefix="f:", which=begun)
    place.refuses("third", at="folder", which=begun)
    assert place.mirror("second", "5", at="folder", prefix="s:") == (0, "")
    assert place.objects() == ["f:3", "s:5"]


def test_a_backup_and_an_export_carry_owners(place: Place, tmp_path: Path) -> None:
    with place.server, connect(place.url) as client:
        client.claim(C, B, "first")
        client.backup(tmp_path / "backup")
        client.flush_collection(C)
        client.claim(C, B, "second")
        client.restore(tmp_path / "backup")
        place.refuses("second", at="server")
    assert main(["export", "-o", str(tmp_path / "all.jsonl"), "--data", str(place.folder)]) == 0
    place.folder = tmp_path / "copy"
    assert main(["import", str(tmp_path / "all.jsonl"), "--data", str(place.folder), "--quiet"]) == 0
    place.refuses("second", at="folder")
    with sonicpy.open(place.folder) as index:
        assert index.stats(C, B)["rules"] == NEWEST


@pytest.mark.parametrize("way", EVERY_WAY)
def test_every_client_claims(way: str, tmp_path: Path) -> None:
    name = 'a "table" of C:\\data\\Zürich'
    with Server(tmp_path) as server, ALL_WAYS[way](f"sonic://{server.host}:{server.port}") as client:
        assert client.claim(C, B, name) is None
        client.claim(C, B, name)
        with pytest.raises(CommandError, match="is the mirror of"):
            client.claim(C, B, "other")
        with pytest.raises(InvalidArgument, match="prefix is 'a b'"):
            client.claim(C, "b2", name, prefix="a b")
    with sonicpy.open(tmp_path / "store") as index:
        index.claim(C, B, name)


def test_compat_mode_and_older_servers_refuse(tmp_path: Path) -> None:
    compat = {"server.compat": "sonic"}
    lacks = "mirrors are not offered in compat mode"
    with sonicpy.open(":memory:", config=compat) as index, pytest.raises(InvalidArgument, match=lacks):
        index.claim(C, B, "first")
    lacks = "^CLAIM .*compat mode offers only the commands of Sonic"
    with Server(tmp_path, compat) as server, connect(f"sonic://{server.host}:{server.port}") as client:
        with pytest.raises(NotOffered, match=lacks):
            client.claim(C, B, "first")
        assert client.count(C) == 0

    def old(caller: Caller) -> None:
        caller.greet("sonicpy v1.0.0")
        while caller.line():
            caller.say("ERR unknown_command")

    with Fake(old) as fake, connect(fake.url) as client, pytest.raises(NotOffered, match=r"^CLAIM .*1\.0\.0"):
        client.claim(C, B, "first")


def test_claims_never_overlap(index: sonicpy.Index) -> None:
    chance, own = random.Random(4), dict[str, str]()
    for _ in range(400):
        bucket = chance.choice("xy")
        prefix, owner = bucket + "".join(chance.choices("ab", k=chance.randrange(4))), chance.choice("PQ")
        is_free = all(
            (other, has) == (prefix, owner) or not (other.startswith(prefix) or prefix.startswith(other))
            for other, has in own.items()
        )
        try:
            index.claim(C, bucket, owner, prefix=prefix)
        except InvalidArgument:
            assert not is_free
        else:
            assert is_free
            own[prefix] = owner
        if chance.random() < 0.05:
            index.flush_bucket(C, bucket)
            own = {prefix: owner for prefix, owner in own.items() if prefix[0] != bucket}
        assert len(index.buckets(C)) <= 2


def test_the_first_of_two_records_counts(index: sonicpy.Index) -> None:
    """Nodes of a cluster record claims without a look at each other: the order of the records decides."""
    for owner, more in (("first", {"watermark": 7}), ("second", {"watermark": 9}), ("first", {})):
        index.engine.apply(claims.claim_of(C, B, owner, "", NEWEST, more))
    with index.engine.read() as view:
        assert claims.notes_in(view, C, B) == {"": {"owner": "first", "watermark": 7}}
    with pytest.raises(sonicpy.SonicError):
        index.engine.apply(change_of_facts(C, B, {43: b"[7]"}))


def test_a_claim_leaves_the_rules_of_a_bucket(index: sonicpy.Index) -> None:
    index.engine.apply(change_of_facts(C, B, {3: b""}))
    index.claim(C, B, "first")
    index.claim(C, "new", "first")
    assert [index.stats(C, bucket)["rules"] for bucket in (B, "new")] == [FIRST, NEWEST]
    assert index.verify() == []


def test_a_bucket_that_was_claimed_first_is_as_any_other(tmp_path: Path) -> None:
    rows: list[Any] = [(str(number), f"word{number % 7} m² text") for number in range(40)]
    found = []
    for name in ("claimed", "pushed"):
        with sonicpy.open(tmp_path / name) as index:
            if name == "claimed":
                index.claim(C, B, "first")
            index.push_many(rows, collection=C, bucket=B)
            index.consolidate()
            found.append((index.stats(C, B), list(index.holdings()), index.query(C, B, "m2 wrod3").pairs()))
    assert found[0] == found[1]


def test_a_bucket_has_a_limited_number_of_mirrors(index: sonicpy.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_notes, "MIRRORS_MAX", 2)
    monkeypatch.setattr(claims, "MIRRORS_MAX", 2)
    for prefix in ("a", "b", "a"):
        index.claim(C, B, "first", prefix=prefix)
    with pytest.raises(InvalidArgument, match=f"the bucket '{B}' has 2 mirrors; allowed are 2"):
        index.claim(C, B, "first", prefix="c")
