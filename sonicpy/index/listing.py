"""Listing: the methods of Index that list collections, buckets and objects. Any thread may call them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sonicpy.arguments import nothing_behind, number_of, text_of
from sonicpy.ids import ObjectName, check_collection, check_names
from sonicpy.late import late
from sonicpy.store.views.bucket_reader import BucketReader, find_object

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine
    from sonicpy.store.views.name_pages import buckets_after, collections_after, objects_from
else:
    buckets_after = late("sonicpy.store.views.name_pages", "buckets_after", __name__)
    collections_after = late("sonicpy.store.views.name_pages", "collections_after", __name__)
    objects_from = late("sonicpy.store.views.name_pages", "objects_from", __name__)

NAMES_AT_ONCE = 1_000
"""The most names that one read of the store returns: less than a millisecond."""
ROWS_EXAMINED = 256
"""The most rows of sixteen objects that one read examines: about half a millisecond."""

WORDS_OF_OBJECT = 200
"""The most words of an object that the page may show."""
WORDS_COMPARED = 20_000
"""The most words of an object of which the most frequent are shown, those that the bucket has held the longest: one
object must not hold a server up.
"""


class ObjectPage(NamedTuple):
    """Names of objects, and the position of the next page.

    Attributes:
        objects: the names.
        next: the position of the next page; None: there are no more objects.
    """

    objects: list[str]
    next: int | None


class Listing:
    """The contents of an index, by name."""

    _engine: "Engine"

    def collections(self) -> list[str]:
        """Return the names of all collections, sorted."""
        names: list[str] = []
        while more := self.collections_after(names[-1] if names else None, NAMES_AT_ONCE):
            names += more
        return sorted(names)

    def buckets(self, collection: str) -> list[str]:
        """Return the names of all buckets of a collection, sorted. Raises InvalidArgument like `push`.

        A bucket exists from its first PUSH until it is flushed, even if all its objects are gone.
        """
        names: list[str] = []
        while more := self.buckets_after(collection, names[-1] if names else None, NAMES_AT_ONCE):
            names += more
        return names

    def synonyms(self, collection: str) -> list[str]:
        """Return the rules that `set_synonyms` gave a collection, in their order. Raises like `push`."""
        check_collection(collection)
        with self._engine.read() as view:
            return [rule.text for rule in view.synonym_rules(collection)]

    def objects(
        self,
        collection: str,
        bucket: str,
        *,
        prefix: str = "",
        after: ObjectName | None = None,
        limit: int | None = 100,
    ) -> list[str]:
        """Return names of objects, in the order in which they were first pushed.

        Args:
            prefix: only names that begin with it; all names are examined, a million in about a second.
            after: only objects after this one, such as the last one of the page before.
            limit: the most names; None: all.

        Raises:
            InvalidArgument: like `push`; there is no object `after`.
        """
        wanted = None if limit is None else number_of("limit", limit)
        position: int | None = 0 if after is None else self.position_after(collection, bucket, after)
        names: list[str] = []
        while position is not None and (wanted is None or len(names) < wanted):
            some = NAMES_AT_ONCE if wanted is None else min(NAMES_AT_ONCE, wanted - len(names))
            more, position = self.objects_from(collection, bucket, position, prefix=prefix, limit=some)
            names += more
        return names

    def iterate_objects(self, collection: str, bucket: str, *, prefix: str = "") -> Iterator[str]:
        """Yield the names of all objects that begin with `prefix`, in the order in which these were first pushed.
        Raises like `push`.

        Each thousand names has a snapshot of its own, so the loop may change the bucket: objects pushed meanwhile are
        yielded, too, and none twice.
        """
        position: int | None = 0
        while position is not None:
            names, position = self.objects_from(collection, bucket, position, prefix=prefix, limit=NAMES_AT_ONCE)
            yield from names

    def exists(self, collection: str, bucket: str, object: ObjectName) -> bool:
        """Return whether the bucket has this object. Raises InvalidArgument like `push`."""
        engine = self._engine
        oid = engine.known_name(collection, bucket, object)
        with engine.read_words(collection, bucket) as lexicon:
            return lexicon is not None and lexicon.reader.holds(oid)

    # -- a page at a time, for the server ------------------------------------------------------------------------------

    def collections_after(self, after: str | None, limit: int) -> list[str]:
        """Return at most `limit` names of collections after a name: short ones first, then in byte order."""
        if after is not None:
            check_collection(after)
        with self._engine.read() as view:
            return collections_after(view, after, limit)

    def buckets_after(self, collection: str, after: str | None, limit: int) -> list[str]:
        """Return at most `limit` names of buckets after a name, in byte order."""
        check_names(collection, collection if after is None else after)
        with self._engine.read() as view:
            return buckets_after(view, collection, after, limit)

    def objects_from(self, collection: str, bucket: str, position: int, *, prefix: str, limit: int) -> ObjectPage:
        """Return at most `limit` names of objects that begin with `prefix`, from a position on; few or none if many
        others have to be skipped."""
        check_names(collection, bucket)
        start = text_of("prefix", prefix).encode(errors="surrogatepass")  # no name begins with a surrogate
        with self._engine.read() as view:
            state = view.bucket(collection, bucket)
            if state is None:
                return ObjectPage([], None)
            return ObjectPage(*objects_from(view, state, position, start, limit, ROWS_EXAMINED))

    def words_of_objects(
        self, collection: str, bucket: str, objects: Sequence[str], limit: int = WORDS_OF_OBJECT
    ) -> list[list[str]]:
        """Return the most frequent words of each of some objects, in falling order; an empty list for a missing object.

        Args:
            objects: their names.
            limit: the most words of an object.
        """
        check_names(collection, bucket)
        with self._engine.read() as view:
            state = view.bucket(collection, bucket)
            if state is None:
                return [[] for _ in objects]
            reader = BucketReader(view, state)
            return [_words_of(reader, name, limit) for name in objects]

    def values_of_objects(self, collection: str, bucket: str, objects: Sequence[str]) -> list[dict[str, int | str]]:
        """Return the values of each of some objects by name, points as text; an empty dict for a missing object.

        Args:
            objects: their names.
        """
        check_names(collection, bucket)
        with self._engine.read() as view:
            state = view.bucket(collection, bucket)
            if state is None:
                return [{} for _ in objects]
            reader = BucketReader(view, state)
            columns = reader.columns
            numbers = [reader.number_of(name) for name in objects]
            return [{} if columns is None or number is None else columns.shown_of(number) for number in numbers]

    def position_after(self, collection: str, bucket: str, object: ObjectName) -> int:
        """Return the position after an object. Raises InvalidArgument if there is no such object."""
        oid = self._engine.known_name(collection, bucket, object)
        with self._engine.read() as view:
            state = view.bucket(collection, bucket)
            found = None if state is None else find_object(view, state, oid)
        if found is None:
            raise nothing_behind(bucket, oid)
        return found[0] + 1


def _words_of(reader: BucketReader, name: str, limit: int) -> list[str]:
    record = reader.object(name)
    if record is None:
        return []
    held = sorted(((-tf, term_id) for term_id, tf, is_hidden, _ in record.terms(WORDS_COMPARED) if not is_hidden))[
        :limit
    ]
    return reader.terms([term_id for _, term_id in held])
