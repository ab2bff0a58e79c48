"""TextDigests: the methods of Index about digests of texts, for a program that keeps an index in step with a table."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sonicpy._native.digest import digest_of, normal_text
from sonicpy.arguments import language_of, not_unicode, text_of
from sonicpy.errors import InvalidArgument
from sonicpy.ids import ObjectName, check_names, is_iterable, object_name, shown
from sonicpy.late import late
from sonicpy.rules import NEWEST
from sonicpy.store.rows.digests import NO_DIGEST
from sonicpy.store.views.bucket_reader import find_object

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine
    from sonicpy.store.views.name_pages import numbered_from
    from sonicpy.store.views.view import View
else:
    numbered_from = late("sonicpy.store.views.name_pages", "numbered_from", __name__)

OBJECTS_AT_ONCE = 1_024
"""The most objects whose digests one read of the store returns: about a millisecond."""


class TextDigests:
    """The digests of texts that `upsert` gave to objects.

    A digest is eight bytes made of the object's name, the text, its language, and the rules of the bucket. As long as
    an object has one, it holds just the words of that text.
    """

    _engine: "Engine"

    def digest(self, collection: str, bucket: str, object: ObjectName, text: str, lang: str | None = None) -> bytes:
        """Return the digest that `upsert` with these arguments would leave. Raises as `push`."""
        oid = self._engine.known_name(collection, bucket, object)
        return text_digest(oid, text, language_of(lang), self.text_rules(collection, bucket))

    def text_rules(self, collection: str, bucket: str) -> int:
        """Return the rules that cut texts of a bucket into words, for `text_digest`. Raises InvalidArgument like
        `push`.
        """
        check_names(collection, bucket)
        return self._engine.read_lexer(collection, bucket).rules

    def digests(self, collection: str, bucket: str, objects: Sequence[ObjectName]) -> list[bytes | None]:
        """Return the digest of each of some objects; None: the object is missing, or other changes followed `upsert`.

        Args:
            objects: their names.

        Raises InvalidArgument as `push`.
        """
        check_names(collection, bucket)
        if isinstance(objects, str) or not is_iterable(objects):
            raise InvalidArgument(f"objects is {shown(objects)}; allowed is a list of names")
        names = [object_name(name) for name in objects]
        with self._engine.read() as view:
            state = view.bucket(collection, bucket)
            if state is None:
                return [None] * len(names)
            found = (find_object(view, state, name) for name in names)
            return [None if one is None else _known(view, state.bucket, one[0]) for one in found]

    def iterate_digests(self, collection: str, bucket: str) -> Iterator[tuple[str, bytes | None]]:
        """Yield the name and the digest, as `digests` returns it, of every object, in the order of their first push.

        As in `iterate_objects`, the loop may change the bucket. Raises InvalidArgument as `push`.
        """
        check_names(collection, bucket)
        position: int | None = 0
        while position is not None:
            with self._engine.read() as view:
                state = view.bucket(collection, bucket)
                if state is None:
                    return
                page, position = numbered_from(view, state, position, OBJECTS_AT_ONCE)
                found = [(oid, _known(view, state.bucket, iid)) for iid, oid in page]
            yield from found


def text_digest(object: str, text: str, lang: str | None, rules: int = NEWEST) -> bytes:
    """Return the digest of a text.

    Args:
        object: the name of its object.
        lang: as the lexer takes it, see `language_of`.
        rules: the rules of the bucket, see `TextDigests.text_rules`.

    Raises:
        InvalidArgument: the text is no str, or not Unicode.
    """
    try:
        return digest_of(object, normal_text(text_of("text", text)), lang, rules)
    except UnicodeEncodeError as error:
        raise not_unicode("text", error) from error


def _known(view: "View", bucket: int, iid: int) -> bytes | None:
    digest = view.digest(bucket, iid)
    return None if digest == NO_DIGEST else digest
