"""Mirroring: the methods of Index that keep a bucket in step with a table."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sonicpy.api.columns import TEXT_COLUMN
from sonicpy.arguments import call_of, switch_of
from sonicpy.errors import InvalidArgument

if TYPE_CHECKING:
    from sonicpy.api.rows import OnProgress
    from sonicpy.index.mirrored import Drift, MirroredIndex, MirrorReport


class Mirroring:
    """The methods of an index that fill and check mirrors."""

    def mirror(
        self: "MirroredIndex",
        rows: Any,
        *,
        collection: str,
        bucket: str,
        object: str | None = None,
        text: str | Sequence[str] | Mapping[str, str] = TEXT_COLUMN,
        lang: str | None = None,
        owner: str = "mirror",
        prefix: str = "",
        vector: str | Mapping[str, str] | None = None,
        tags: str | Sequence[str] | None = None,
        values: Sequence[str] | Mapping[str, str] = (),
        whole: bool = True,
        progress: "OnProgress | None" = None,
    ) -> "MirrorReport":
        """Bring a bucket in step with rows: replace the texts that differ, and erase the objects without a row. Return
        a report.

        Objects that are pushed while the pass runs are not erased by it.

        Args:
            rows, object, text, lang, vector, tags, values, progress: as in `push_many`; tags and values that a row
                lacks are removed, and a vector stays.
            collection, bucket: the names for all rows.
            owner: the name of the source; a bucket follows one source only.
            prefix: put before the name of each row to make the name of its object. Only objects with this prefix are
                erased, so several sources can share a bucket.
            whole: the rows are the whole table; False: they are a part of it, and nothing is erased.

        Raises:
            InvalidArgument: as in `push_many`; or the bucket is in step with another source.
            StoreError: rows could not be stored.
        """
        from sonicpy.api.rows import Shape, read_rows  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.mirrored import Mirror  # noqa: PLC0415  loaded when it is needed

        shape = Shape(
            collection, bucket, object, text, lang, vector=vector, tags=tags, values=values, is_one_bucket=True
        )
        whole, progress = switch_of("whole", whole), call_of("progress", progress)
        return Mirror(self, shape, owner, prefix).take(read_rows(rows, shape), whole=whole, progress=progress)

    def check_mirror(
        self: "MirroredIndex",
        rows: Any,
        *,
        collection: str,
        bucket: str,
        object: str | None = None,
        text: str | Sequence[str] | Mapping[str, str] = TEXT_COLUMN,
        lang: str | None = None,
        owner: str = "mirror",
        prefix: str = "",
        vector: str | Mapping[str, str] | None = None,
        tags: str | Sequence[str] | None = None,
        values: Sequence[str] | Mapping[str, str] = (),
    ) -> "Drift":
        """Return the difference between rows and a bucket, by digests alone; change nothing.

        Args:
            rows, object, text, lang, vector, tags, values: as in `push_many`.
            collection, bucket, owner, prefix: as in `mirror`.

        Raises like `mirror`.
        """
        from sonicpy.api.rows import Shape, read_rows  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.mirrored import Mirror  # noqa: PLC0415  loaded when it is needed

        shape = Shape(
            collection, bucket, object, text, lang, vector=vector, tags=tags, values=values, is_one_bucket=True
        )
        mirror = Mirror(self, shape, owner, prefix)
        return mirror.check(read_rows(rows, shape))

    def _is_claimed(self: "MirroredIndex", collection: str, bucket: str, owner: str, prefix: str) -> bool:
        from sonicpy.index.claims import is_claimed, notes_in  # noqa: PLC0415  loaded when it is needed

        with self.engine.read() as view:
            found = is_claimed(notes_in(view, collection, bucket), bucket, owner, prefix)
        if isinstance(found, str):
            raise InvalidArgument(found)
        return found
