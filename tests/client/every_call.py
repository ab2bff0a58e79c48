"""A call of each public method of the clients, for tests of all of them."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

COLLECTION, BUCKET = "calls", "b"
OBJECTS = 9
"""The number of objects; the object o:N holds N words."""

Call = Callable[[Any, Path], Any]
"""A function that takes a client, or one of its buckets, and a folder; it returns the result, or an object to await or
to iterate over.
"""

OF_A_CLIENT: dict[str, Call] = {
    "backup": lambda client, folder: client.backup(folder / "backup"),
    "bucket": lambda client, folder: client.bucket(COLLECTION, BUCKET),
    "buckets": lambda client, folder: client.buckets(COLLECTION),
    "collections": lambda client, folder: client.collections(),
    "consolidate": lambda client, folder: client.consolidate(),
    "count": lambda client, folder: client.count(COLLECTION, BUCKET),
    "count_buckets": lambda client, folder: client.count_buckets(COLLECTION),
    "count_object_words": lambda client, folder: client.count_object_words(COLLECTION, BUCKET, "o:3"),
    "count_objects": lambda client, folder: client.count_objects(COLLECTION, BUCKET),
    "count_words": lambda client, folder: client.count_words(COLLECTION, BUCKET),
    "exists": lambda client, folder: client.exists(COLLECTION, BUCKET, "o:1"),
    "explain": lambda client, folder: client.explain(COLLECTION, BUCKET, "w1x0"),
    "flush": lambda client, folder: client.flush("other", BUCKET, "o"),
    "flush_bucket": lambda client, folder: client.flush_bucket("other", BUCKET),
    "flush_collection": lambda client, folder: client.flush_collection("other"),
    "flush_object": lambda client, folder: client.flush_object("other", BUCKET, "o"),
    "drop_vectors": lambda client, folder: client.drop_vectors("other", BUCKET),
    "claim": lambda client, folder: client.claim("other", BUCKET, "a table", prefix="t:"),
    "info": lambda client, folder: client.info(),
    "iterate_objects": lambda client, folder: client.iterate_objects(COLLECTION, BUCKET),
    "objects": lambda client, folder: client.objects(COLLECTION, BUCKET),
    "ping": lambda client, folder: client.ping(),
    "pop": lambda client, folder: client.pop("other", BUCKET, "o", "text"),
    "push": lambda client, folder: client.push("other", BUCKET, "o", "some text " * 9_000, lang="none"),
    "push_many": lambda client, folder: client.push_many(rows(600), collection="other", bucket=BUCKET, lang="none"),
    "query": lambda client, folder: client.query(COLLECTION, BUCKET, "w1x0", total=True),
    "similar": lambda client, folder: client.similar(COLLECTION, BUCKET, "o:3"),
    "restore": lambda client, folder: client.restore(folder / "kept"),
    "stats": lambda client, folder: client.stats(),
    "suggest": lambda client, folder: client.suggest(COLLECTION, BUCKET, "w"),
    "set_synonyms": lambda client, folder: client.set_synonyms("other", [f"w{n}, v{n}" for n in range(3_000)]),
    "synonyms": lambda client, folder: client.synonyms("other"),
    "tag": lambda client, folder: client.tag("other", BUCKET, "o", ["red", "Ben & Jerry's"], values={"price": 5}),
    "facets": lambda client, folder: client.facets(COLLECTION, BUCKET, of="*"),
    "upsert": lambda client, folder: client.upsert("other", BUCKET, "o", "some text " * 9_000, lang="none"),
    "verify": lambda client, folder: client.verify(),
    "words": lambda client, folder: client.words(COLLECTION, BUCKET),
}
OF_A_BUCKET: dict[str, Call] = {
    "count": lambda bucket, folder: bucket.count(),
    "count_objects": lambda bucket, folder: bucket.count_objects(),
    "exists": lambda bucket, folder: bucket.exists("o:1"),
    "explain": lambda bucket, folder: bucket.explain("w1x0"),
    "flush": lambda bucket, folder: bucket.flush("none"),
    "drop_vectors": lambda bucket, folder: bucket.drop_vectors(),
    "objects": lambda bucket, folder: bucket.objects(),
    "pop": lambda bucket, folder: bucket.pop("o:1", "none"),
    "push": lambda bucket, folder: bucket.push("o:1", "w1x0", lang="none"),
    "push_many": lambda bucket, folder: bucket.push_many([("o:1", "w1x0")], lang="none"),
    "query": lambda bucket, folder: bucket.query("w1x0"),
    "similar": lambda bucket, folder: bucket.similar("o:1"),
    "stats": lambda bucket, folder: bucket.stats(),
    "suggest": lambda bucket, folder: bucket.suggest("w"),
    "tag": lambda bucket, folder: bucket.tag("o:1", values={"price": None}),
    "facets": lambda bucket, folder: bucket.facets(of="*"),
    "upsert": lambda bucket, folder: bucket.upsert("o:1", "w1x0", lang="none"),
    "words": lambda bucket, folder: bucket.words(),
}
ELSEWHERE = {"batch", "close", "server"}
"""Public names of a client that have tests of their own, or that send no command."""


def rows(count: int) -> Iterable[tuple[str, str]]:
    """Return rows for push_many."""
    return [(f"o:{number}", f"text{number}") for number in range(count)]


def calls(client: Any) -> dict[str, Call]:
    """Return a call of each public method of a client and of its buckets; fail if a method has none."""
    assert {*OF_A_CLIENT, *ELSEWHERE} == set(dir(client))
    assert {*OF_A_BUCKET, "bucket", "collection"} == set(dir(client.bucket(COLLECTION, BUCKET)))
    of_a_bucket = {f"bucket.{name}": _of_a_bucket(call) for name, call in OF_A_BUCKET.items()}
    return OF_A_CLIENT | of_a_bucket


def _of_a_bucket(call: Call) -> Call:
    return lambda client, folder: call(client.bucket(COLLECTION, BUCKET), folder)


def fill(client: Any, folder: Path) -> None:
    """Push the objects for the calls, and make a backup of them."""
    for number in range(1, OBJECTS + 1):
        client.push(COLLECTION, BUCKET, f"o:{number}", words(number), lang="none")
    client.backup(folder / "kept")


def words(number: int) -> str:
    """Return the words of an object."""
    return " ".join(f"w{number}x{word}" for word in range(number))
