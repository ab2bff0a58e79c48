"""The expected content of an index or a table as plain dicts, and the states that an interrupted call may leave."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import sonicpy
from sonicpy import Index, PushReport, keyvalue
from sonicpy.index.ingest import push_many as ingest

C, B = "collection", "bucket"
OTHER = "other"

Model = dict[Any, Any]
"""The content: for an index, the words of each object, by collection, bucket and object; for a table, values by key."""


class Call(NamedTuple):
    """A call of a public method.

    Attributes:
        names: the methods that it covers.
        run: makes the call, with the scene and the number of the attempt.
        states: returns the states after the given one that the call goes through; the last one is the final state.
    """

    names: tuple[str, ...]
    run: Callable[[Any, int], object]
    states: Callable[[Model, int], list[Model]]


def same(model: Model, number: int) -> list[Model]:
    """Return the possible states after a call that changes nothing."""
    return [model]


def pushed(model: Model, rows: Iterable[tuple[str, str, str, str]]) -> Model:
    """Return the state after some PUSHes."""
    after = dict(model)
    for collection, bucket, oid, text in rows:
        after[collection, bucket, oid] = after.get((collection, bucket, oid), frozenset()) | set(text.split())
    return after


def replaced(model: Model, rows: Iterable[tuple[str, str, str, str]]) -> Model:
    """Return the state after some UPSERTs."""
    return {**model, **{(collection, bucket, oid): frozenset(text.split()) for collection, bucket, oid, text in rows}}


def popped(model: Model, collection: str, bucket: str, oid: str, text: str) -> Model:
    """Return the state after a POP."""
    after = dict(model)
    left = after.pop((collection, bucket, oid), frozenset()) - set(text.split())
    if left:
        after[collection, bucket, oid] = left
    return after


def flushed(model: Model, *names: str) -> Model:
    """Return the state after a flush of a collection, a bucket or an object."""
    return {key: words for key, words in model.items() if key[: len(names)] != names}


def text(number: int) -> str:
    """Return the text that an attempt uses."""
    return f"w{number % 23} v{number % 11} all"


def oid(number: int) -> str:
    """Return the name of the object that an attempt uses."""
    return f"o{number % 9}"


def row(number: int) -> tuple[str, str, str, str]:
    """Return the arguments of the PUSH of an attempt."""
    return C, B, oid(number), text(number)


def rows(number: int) -> list[tuple[str, str, str, str]]:
    """Return some PUSHes that fill more than one chunk."""
    return [(OTHER, B, oid(number + place), text(number + 2 * place)) for place in range(7)]


MIRROR = "mirror"
"""The bucket that a mirror keeps in step with rows."""


def mirrored(number: int) -> list[tuple[str, str]]:
    """Return the rows that a pass of a mirror reads: all objects except one in three, in one chunk."""
    return [(f"o{(number + place) % 3}", text(number + place)) for place in (1, 2)]


def after_pass(model: Model, number: int) -> list[Model]:
    """Return the states that a pass of a mirror goes through."""
    state = replaced(model, [(C, MIRROR, *row) for row in mirrored(number)])
    return [state, flushed(state, C, MIRROR, f"o{number % 3}")]


CHUNK = 3
"""The number of rows of a chunk of push_many; see `small_chunks`."""


def small_chunks() -> None:
    """Make push_many commit few rows at a time."""
    ingest.CHUNK_ROWS = CHUNK


def after_chunks(model: Model, number: int) -> list[Model]:
    """Return the states that push_many goes through."""
    some = rows(number)
    return [pushed(model, some[:end]) for end in (CHUNK, 2 * CHUNK, len(some))]


def after_each(model: Model, number: int) -> list[Model]:
    """Return the states that a batch of PUSHes, followed by a POP, goes through."""
    some = [row(number + place) for place in range(3)]
    states = [pushed(model, some[: end + 1]) for end in range(3)]
    return [*states, popped(states[-1], C, B, oid(number), text(number + 1))]


class IndexScene:
    """An index whose calls are interrupted, with its expected content.

    Args:
        folder: an empty folder.
    """

    autocommit = False
    """Whether each change is committed before its call returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "store"
        self.backup = folder / "backup"
        self.model: Model = {}
        self.report = PushReport()
        self.index: Index
        small_chunks()
        self.open()
        self.index.push_many([(C, B, oid(number), text(number)) for number in range(9)])
        self.index.push(C, "second", "only", "alone here")
        self.index.consolidate()
        self.index.backup(self.backup)
        self.model = self.contents()
        self.backed_up = self.model

    def open(self) -> None:
        """Open the folder."""
        self.index = sonicpy.open(self.folder, autocommit=self.autocommit)

    def close(self) -> None:
        """Close the folder."""
        self.index.close()

    def contents(self) -> Model:
        """Return the content of the index, found only by reads."""
        index = self.index
        seen = {
            (collection, bucket): (index.objects(collection, bucket, limit=None), index.count_words(collection, bucket))
            for collection in index.collections()
            for bucket in index.buckets(collection)
        }
        held: Model = {(each.collection, each.bucket, each.object): frozenset(each.terms) for each in index.holdings()}
        for scope, (objects, words) in seen.items():
            here = {key[2]: terms for key, terms in held.items() if key[:2] == scope}
            assert sorted(here) == sorted(objects), f"reads told {objects}, then an export {sorted(here)}"
            assert len(frozenset().union(*here.values())) == words, "reads counted other words than an export shows"
        assert {key[:2] for key in held} <= set(seen), "an export shows a bucket that no list has"
        for key, terms in list(held.items())[:3]:
            for word in sorted(terms)[:2]:
                found = index.query(key[0], key[1], word, limit=100, lang="none").objects
                holders = [other[2] for other, words in held.items() if other[:2] == key[:2] and word in words]
                # Behind them come objects with words that begin so.
                assert sorted(found[: len(holders)]) == sorted(holders), f"a query for {word} finds {found}"
        return held

    def use(self, number: int) -> None:
        """Change the index and undo the change, as another thread does; neither may have to wait."""
        self.index.push(C, "thread", f"t{number}", "passing by")
        assert self.index.flush(C, "thread", f"t{number}") == 2

    def copy(self, number: int) -> Model:
        """Return the content of the index after a kill at this moment."""
        copied = self.folder.with_name(f"copy-{number}")
        with self.index.engine.changing():  # no late commit comes
            copy_store(self.folder, copied)
        scene = object.__new__(type(self))
        scene.folder = copied
        scene.open()
        try:
            return scene.contents()
        finally:
            scene.close()

    def faults(self) -> list[str]:
        """Return the faults that verify finds."""
        return self.index.verify()


class CommittingScene(IndexScene):
    """An IndexScene whose index commits each change."""

    autocommit = True


def copy_store(folder: Path, to: Path) -> None:
    """Copy the files of a folder in which nothing changes meanwhile."""
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in ("lock.mdb", "sonicpy.lock"):
            target = to / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


def batch(scene: IndexScene, number: int) -> None:
    """Change an index in a batch, and read it inside the batch."""
    with scene.index.batch() as index:
        for place in range(3):
            index.push(*row(number + place), "none")
            index.query(C, B, f"w{(number + place) % 23}")
        index.pop(C, B, oid(number), text(number + 1))
        index.suggest(C, B, "w")
        index.count(C, B)


def push_many(scene: IndexScene, number: int) -> None:
    """Push several chunks, and compare the report with the index."""
    scene.index.push_many(rows(number), lang="none", report=scene.report)


def flush_tagged(scene: IndexScene, number: int) -> None:
    """Give an object a tag of its own, and erase the objects with this tag."""
    scene.index.tag(C, B, oid(number), [f"out{number}"])
    scene.index.flush(C, B, filter=f"out{number}")


def reopen(scene: IndexScene, number: int) -> None:
    """Close and open the folder."""
    scene.close()
    scene.open()


def restore(scene: IndexScene, number: int) -> None:
    """Restore the backup."""
    scene.index.restore(scene.backup)


def restored(scene_model: Model, backed_up: Model) -> Model:
    """Return the state after a restore: the collections of the backup are replaced."""
    gone = {key[0] for key in backed_up}
    return {**{key: words for key, words in scene_model.items() if key[0] not in gone}, **backed_up}


def index_calls(scene: IndexScene) -> list[Call]:
    """Return calls of all public methods of an index."""

    def bucket(number: int) -> Any:
        return scene.index.bucket(C, B)

    return [
        Call(("push",), lambda s, n: s.index.push(*row(n), "none"), lambda m, n: [pushed(m, [row(n)])]),
        Call(
            ("push_terms",),
            lambda s, n: s.index.push_terms(C, B, oid(n), dict.fromkeys(text(n).split(), 1)),
            lambda m, n: [pushed(m, [row(n)])],
        ),
        Call(("push_many", "push_read"), push_many, after_chunks),
        Call(("upsert",), lambda s, n: s.index.upsert(*row(n + 1), "none"), lambda m, n: [replaced(m, [row(n + 1)])]),
        Call(
            ("mirror", "push_read"),
            lambda s, n: s.index.mirror(mirrored(n), collection=C, bucket=MIRROR, lang="none"),
            after_pass,
        ),
        Call(("check_mirror",), lambda s, n: s.index.check_mirror(mirrored(n), collection=C, bucket=MIRROR), same),
        Call(
            ("push",),
            lambda s, n: s.index.push(*row(n), "none", [(-1) ** (n >> bit) for bit in range(8)], values={"n": n}),
            lambda m, n: [pushed(m, [row(n)])],
        ),
        Call(("drop_vectors",), lambda s, n: s.index.drop_vectors(C, B), same),
        Call(("tag",), lambda s, n: s.index.tag(C, B, oid(n), [f"t{n % 3}", "red"], values={"n": None}), same),
        Call(("flush", "objects_passing"), flush_tagged, lambda m, n: [m, flushed(m, C, B, oid(n))]),
        Call(("facets", "find_facets"), lambda s, n: s.index.facets(C, B, "all", of="*", ranges="n: 0,100"), same),
        Call(
            ("digest", "digests", "iterate_digests", "text_rules"),
            lambda s, n: [
                s.index.digest(C, B, oid(n), text(n)),
                s.index.digests(C, B, [oid(n), oid(n + 1)]),
                list(s.index.iterate_digests(C, B)),
            ],
            same,
        ),
        Call(
            ("pop",),
            lambda s, n: s.index.pop(C, B, oid(n), text(n + 1)),
            lambda m, n: [popped(m, C, B, oid(n), text(n + 1))],
        ),
        Call(
            ("flush", "flush_object"),
            lambda s, n: s.index.flush(C, B, oid(n)),
            lambda m, n: [flushed(m, C, B, oid(n))],
        ),
        Call(
            ("flush_object",), lambda s, n: s.index.flush_object(C, B, oid(n)), lambda m, n: [flushed(m, C, B, oid(n))]
        ),
        Call(("flush", "flush_bucket"), lambda s, n: s.index.flush(OTHER, B), lambda m, n: [flushed(m, OTHER, B)]),
        Call(("flush_collection",), lambda s, n: s.index.flush_collection(OTHER), lambda m, n: [flushed(m, OTHER)]),
        Call(("batch",), batch, after_each),
        Call(("query",), lambda s, n: s.index.query(C, B, text(n), total=True), same),
        Call(("query_ids",), lambda s, n: s.index.query_ids(C, B, f"w{n % 23} al"), same),
        Call(("explain",), lambda s, n: str(s.index.explain(C, B, text(n))), same),
        Call(("set_synonyms",), lambda s, n: s.index.set_synonyms(C, [f"qq{n % 5}, rr"], add=n % 2 == 0), same),
        Call(("claim",), lambda s, n: s.index.claim(C, B, f"table{n % 2}", prefix=f"t{n % 2}"), same),
        Call(("synonyms",), lambda s, n: s.index.synonyms(C), same),
        Call(("similar",), lambda s, n: s.index.similar(C, B, oid(n)), same),
        Call(("suggest",), lambda s, n: s.index.suggest(C, B, f"v{n % 5}"), same),
        Call(("words",), lambda s, n: s.index.words(C, B, prefix="w"), same),
        Call(
            ("count", "count_buckets", "count_words", "count_objects", "count_object_words"),
            lambda s, n: [
                s.index.count(C),
                s.index.count(C, of="objects"),
                s.index.count(C, B),
                s.index.count(C, B, of="objects"),
                s.index.count(C, B, oid(n)),
            ],
            same,
        ),  # fmt: skip
        Call(("exists",), lambda s, n: s.index.exists(C, B, oid(n)), same),
        Call(("stats",), lambda s, n: [s.index.stats(), s.index.stats(C), s.index.stats(C, B)], same),
        Call(("holdings",), lambda s, n: list(s.index.holdings()), same),
        Call(("term_stats",), lambda s, n: list(s.index.term_stats(C, B)), same),
        Call(("object_stats",), lambda s, n: list(s.index.object_stats(C, B)), same),
        Call(
            ("collections", "collections_after", "buckets", "buckets_after"),
            lambda s, n: [s.index.collections(), s.index.buckets(C)],
            same,
        ),
        Call(
            ("objects", "objects_from", "position_after"),
            lambda s, n: s.index.objects(C, B, after=next((key[2] for key in s.model if key[:2] == (C, B)), None)),
            same,
        ),
        Call(("words_of_objects",), lambda s, n: s.index.words_of_objects(C, B, [oid(n), oid(n + 1)]), same),
        Call(("iterate_objects",), lambda s, n: list(s.index.iterate_objects(C, B)), same),
        Call(("commit",), lambda s, n: s.index.commit(), same),
        Call(("consolidate", "maintainer"), lambda s, n: s.index.consolidate(), same),
        Call(("backup",), lambda s, n: s.index.backup(s.backup.with_name("next")), same),
        Call(("restore",), restore, lambda m, n: [restored(m, scene.backed_up)]),
        Call(("verify",), lambda s, n: s.index.verify(), same),
        Call(("close", "open"), reopen, same),
        Call(("bucket",), lambda s, n: [bucket(n).query("all"), len(bucket(n)), oid(n) in bucket(n)], same),
    ]


class TableScene:
    """A table of keys and values whose calls are interrupted, with its expected content.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "table"
        self.backup = folder / "backup-of-table"
        self.model: Model = {}
        self.table: keyvalue.KeyValue
        self.open()
        with self.table.batch():
            for number in range(20):
                self.table.set(b"k%d" % number, b"v%d" % number)
        self.table.backup(self.backup)
        self.model = self.contents()
        self.backed_up = self.model

    def open(self) -> None:
        """Open the folder."""
        self.table = keyvalue.open(self.folder)

    def close(self) -> None:
        """Close the folder."""
        self.table.close()

    def contents(self) -> Model:
        """Return the content of the table."""
        with self.table.snapshot() as snapshot:
            count = snapshot.count()
        held = {key: value for key in KEYS if (value := self.table.get(key)) is not None}
        assert count == len(held) == len(self.table), f"{count} keys are counted, {len(held)} are there"
        return held

    def use(self, number: int) -> None:
        """Change the table and undo the change."""
        self.table.set(b"thread", b"1")
        assert self.table.delete(b"thread")

    def copy(self, number: int) -> Model:
        """Return the content of the table after a kill at this moment."""
        copied = self.folder.with_name(f"copy-of-table-{number}")
        copy_store(self.folder, copied)
        scene = object.__new__(TableScene)
        scene.folder = copied
        scene.open()
        try:
            return scene.contents()
        finally:
            scene.close()

    def faults(self) -> list[str]:
        """Return no faults, because `contents` reads everything."""
        return []


KEYS = [b"k%d" % number for number in range(20)] + [b"counter", b"other"]


def fill(scene: TableScene, number: int) -> None:
    """Change a table in a batch, and read it inside the batch."""
    with scene.table.batch():
        scene.table.set(key(number), b"batch %d" % number)
        with scene.table.batch():
            scene.table.incr(b"counter")
        scene.table.get(key(number))
        scene.table.delete(key(number + 1))
        scene.table.count()


def key(number: int) -> bytes:
    """Return the key that an attempt uses."""
    return KEYS[number % 20]


def counted(model: Model, by: int) -> Model:
    """Return the state after `incr`."""
    return {**model, b"counter": (int.from_bytes(model.get(b"counter", bytes(8))) + by).to_bytes(8)}


def without(model: Model, gone: bytes) -> Model:
    """Return the state after `delete`."""
    return {other: value for other, value in model.items() if other != gone}


def read_snapshot(scene: TableScene, number: int) -> None:
    """Read a snapshot."""
    with scene.table.snapshot() as snapshot:
        snapshot.get(key(number))
        snapshot.count()


def table_calls(scene: TableScene) -> list[Call]:
    """Return calls of all public methods of a table."""
    return [
        Call(("set",), lambda s, n: s.table.set(key(n), b"set %d" % n), lambda m, n: [{**m, key(n): b"set %d" % n}]),
        Call(("delete",), lambda s, n: s.table.delete(key(n)), lambda m, n: [without(m, key(n))]),
        Call(("incr",), lambda s, n: s.table.incr(b"counter", 2), lambda m, n: [counted(m, 2)]),
        Call(
            ("incr", "decr"),
            lambda s, n: (s.table.incr(b"counter", 1), s.table.decr(b"counter", 1)),
            lambda m, n: [counted(m, 1), counted(m, 0)],
        ),
        Call(
            ("batch",),
            fill,
            lambda m, n: [without(counted({**m, key(n): b"batch %d" % n}, 1), key(n + 1))],
        ),
        Call(("get",), lambda s, n: (s.table.get(key(n)), key(n) in s.table), same),
        Call(("count",), lambda s, n: (s.table.count(), len(s.table)), same),
        Call(("snapshot",), read_snapshot, same),
        Call(("file_size",), lambda s, n: s.table.file_size(), same),
        Call(("sync",), lambda s, n: s.table.sync(), same),
        Call(("backup",), lambda s, n: s.table.backup(s.backup.with_name("next-of-table")), same),
        Call(("restore",), lambda s, n: s.table.restore(s.backup), lambda m, n: [scene.backed_up]),
        Call(("close", "open"), reopen, same),
    ]
