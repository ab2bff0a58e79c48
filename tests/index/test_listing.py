"""Lists of collections, buckets, objects and words, page by page, in any state of the store."""

import threading
from pathlib import Path

import pytest

import sonicpy
from sonicpy import InvalidArgument
from sonicpy.index import listing
from sonicpy.store.disk.transaction import Transaction
from tests.index.shorthand import B, C, open_index, push


def test_names_of_collections_and_buckets(tmp_path: Path) -> None:
    scopes = [("b", "x"), ("aa", "z"), ("aa", "y"), ("ab", "z"), ("a", "b\0"), ("a", "b"), ("z" * 128, "a")]
    with open_index(tmp_path) as index:
        assert index.collections() == [] == index.buckets("aa")
        for scope in scopes:
            index.push(*scope, "o", "text")
        for _ in range(2):
            assert index.collections() == ["a", "aa", "ab", "b", "z" * 128]
            assert index.buckets("aa") == ["y", "z"]
            assert index.buckets("a") == ["b", "b\0"]
            assert index.buckets("unknown") == []
            index.consolidate()
        index.flush("aa", "y")
        index.flush("b")
        index.flush("ab", "z", "o")
        assert index.buckets("aa") == ["z"]
        assert index.collections() == ["a", "aa", "ab", "z" * 128], (
            "a bucket without objects is there until it is flushed"
        )


def test_pages_of_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "NAMES_AT_ONCE", 3)
    with open_index(tmp_path) as index, index.batch():
        for number in range(20):
            index.push(f"c{number}", "b", "o", "text")
            index.push("many", f"b{number:02}", "o", "text")
        assert index.collections() == sorted([*(f"c{number}" for number in range(20)), "many"])
        assert index.buckets("many") == [f"b{number:02}" for number in range(20)]
        assert index.collections_after("c9", 2) == ["c10", "c11"], "short names come first"
        assert index.buckets_after("many", "b055", 2) == ["b06", "b07"], "the name need not exist"


def test_objects_come_in_the_order_of_their_first_push(tmp_path: Path) -> None:
    names = [f"o{number * 7919 % 1000}" for number in range(1000)]
    with open_index(tmp_path) as index:
        assert index.objects(C, B) == []
        with index.batch():
            for name in names:
                push(index, name, "eins")
        assert index.objects(C, B) == names[:100]
        assert index.objects(C, B, limit=None) == names == list(index.bucket(C, B))
        assert index.objects(C, B, limit=7, after=names[20]) == names[21:28]
        assert index.objects(C, B, after=names[-1]) == index.objects(C, B, limit=0) == []
        push(index, names[0], "zwei")
        assert index.objects(C, B, limit=1) == names[:1], "a second text moves nothing"
        with_nine = [name for name in names if name.startswith("o9")]
        assert index.objects(C, B, prefix="o9", limit=None) == with_nine
        assert index.objects(C, B, prefix="o9", after=with_nine[4], limit=3) == with_nine[5:8]
        assert index.objects(C, B, prefix="x") == index.objects(C, "other") == []
        for name in names[::2]:
            index.flush(C, B, name)
        assert index.objects(C, B, limit=None) == names[1::2]
        with pytest.raises(InvalidArgument, match="after is 'o0', which is no object of the bucket 'bucket'"):
            index.objects(C, B, after="o0")


@pytest.mark.parametrize("count", [1, 15, 16, 17, 160])
def test_every_page_size_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(listing, "ROWS_EXAMINED", 2)
    with open_index(tmp_path) as index:
        with index.batch():
            for bucket in (B, "next"):
                for number in range(count):
                    index.push(C, bucket, f"{bucket}{number}", "eins")
        names = [f"{B}{number}" for number in range(count)]
        for size in (1, 2, 15, 16, 17, 200):
            monkeypatch.setattr(listing, "NAMES_AT_ONCE", size)
            assert list(index.iterate_objects(C, B)) == index.objects(C, B, limit=None) == names
            pages, after = [], None
            while page := index.objects(C, B, limit=size, after=after):
                pages += page
                after = page[-1]
            assert pages == names


def test_a_bucket_is_a_collection_of_names(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        bucket = index.bucket(C, B)
        assert len(bucket) == 0 and bucket and list(bucket) == [] and 5 not in bucket
        for number in range(50):
            bucket.push(number, "eins")
        assert len(bucket) == bucket.count_objects() == bucket.count(of="objects") == 50
        assert 5 in bucket and "5" in bucket and 5.0 in bucket and 50 not in bucket
        assert bucket.exists("49") and not bucket.exists("x")
        for name in bucket:
            if int(name) % 2:
                bucket.flush(name)
            if int(name) < 3:
                bucket.push(f"10{name}", "zwei")
        assert list(bucket) == [*(str(number) for number in range(0, 50, 2)), "100", "101", "102"]


def test_counts_say_what_they_count(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        for number in range(4):
            index.push(C, f"b{number % 2}", number, f"eins zwei wort{number}", "none")
        assert index.count(C) == index.count(C, of="buckets") == 2
        assert index.count(C, of="objects") == 4
        assert index.count(C, "b0") == index.count(C, "b0", of="words") == 4
        assert index.count(C, "b0", of="objects") == 2
        assert index.count(C, "b0", 2) == index.count(C, "b0", 2, of="words") == 3
        for names, of, allowed in (
            ((C,), "words", 'a collection is "buckets" and "objects"'),
            ((C, "b0"), "buckets", 'a bucket is "words" and "objects"'),
            ((C, "b0", 2), "objects", 'an object is "words"'),
        ):
            with pytest.raises(InvalidArgument, match=f"of is '{of}'; allowed for {allowed}"):
                index.count(*names, of=of)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [{}, {"server__compat": "sonic"}], ids=["default", "compat"])
def test_words_by_prefix_and_after(tmp_path: Path, mode: dict[str, str]) -> None:
    words = sorted(["haus", "hausboot", "hausbau", "hut", "zebra", "élan", *(f"wort{number}" for number in range(200))])
    with open_index(tmp_path, **mode) as index:
        with index.batch():
            for word in words:
                push(index, f"o:{word.encode().hex()}", word)
        index.consolidate()
        listed = index.words(C, B, limit=1000)
        assert sorted(listed) == sorted(index.words(C, B, limit=1000, after=None))
        assert index.words(C, B, prefix="hau") == ["haus", "hausbau", "hausboot"] == index.words(C, B, prefix="HAU")
        assert index.words(C, B, prefix="haus", after="haus") == ["hausbau", "hausboot"]
        assert index.words(C, B, prefix="haus", offset=1, limit=1) == ["hausbau"]
        assert index.words(C, B, after="hausc", limit=1) == ["hut"], "the word need not exist"
        assert index.words(C, B, prefix="x") == index.words(C, B, prefix="y" * 50) == []
        pages, after = [], None
        while page := index.words(C, B, limit=7, after=after):
            pages += page
            after = page[-1]
        assert pages == listed


def test_listing_sees_what_waits_for_a_commit_and_other_threads_see_commits(tmp_path: Path) -> None:
    with sonicpy.Index(tmp_path, autocommit=False) as index:
        for number in range(20):
            index.push(C, f"b{number % 2}", f"o{number}", "eins")
        assert index.collections() == [C] and index.buckets(C) == ["b0", "b1"]
        assert index.objects(C, "b0") == [f"o{number}" for number in range(0, 20, 2)]
        assert index.exists(C, "b1", "o19")
        seen: list[object] = []
        other = threading.Thread(target=lambda: seen.append((index.collections(), index.exists(C, "b1", "o19"))))
        other.start()
        other.join()
        assert seen == [([], False)]


def test_readers_beside_a_writer(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o", "eins")
    with sonicpy.open(tmp_path / "store", {"search.query_alternates_try": 0}, read_only=True) as reader:
        assert (reader.collections(), reader.buckets(C), reader.objects(C, B)) == ([C], [B], ["o"])
        assert reader.exists(C, B, "o") and reader.words(C, B, prefix="ei") == ["eins"]


def test_a_page_reads_few_rows_however_large_the_bucket_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    some_rows = Transaction.some_rows

    def counting(
        self: Transaction, table: int, start: bytes, limit: int, prefix: bytes = b""
    ) -> list[tuple[bytes, bytes]]:
        rows = some_rows(self, table, start, limit, prefix)
        read.append(len(rows))
        return rows

    with open_index(tmp_path) as index:
        index.push_many(((f"o{number}", "eins") for number in range(20_000)), collection=C, bucket=B)
        monkeypatch.setattr(Transaction, "some_rows", counting)
        assert index.objects(C, B, after="o15000", limit=100) == [f"o{number}" for number in range(15_001, 15_101)]
        assert sum(read) <= 40
        read.clear()
        assert index.objects_from(C, B, 0, prefix="x", limit=10) == ([], 16 * listing.ROWS_EXAMINED)
        assert sum(read) <= listing.ROWS_EXAMINED, "a page passes over a limited number of names"
        assert index.objects(C, B, prefix="o1999", limit=None) == ["o1999", *(f"o1999{n}" for n in range(10))]
