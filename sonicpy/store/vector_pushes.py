"""Fast paths for a PUSH with a vector, an UPSERT and a FLUSHO. The fast path of other PUSHes is `Store.push`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sonicpy._native.terms import Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreError
from sonicpy.late import late
from sonicpy.rules import FIRST
from sonicpy.store.changing.mutations import (
    Fields,
    FlushObject,
    PushTerms,
    PushWith,
    pack_mutation,
    pack_push_with,
    pack_upsert,
)
from sonicpy.store.disk.log import RECORD_MAX_BYTES
from sonicpy.store.fields.all_fields import DIGESTS, ORDER
from sonicpy.store.refused_changes import Refusals

if TYPE_CHECKING:
    from sonicpy.store.changing.bucket_writer import BucketWriter
    from sonicpy.store.changing.bucket_writer import opened as opened
    from sonicpy.store.changing.mutations import Mutation
    from sonicpy.store.changing.remove_steps import terms_at_once
    from sonicpy.store.recovery import RecoveringStore
else:
    opened = late("sonicpy.store.changing.bucket_writer", "opened", __name__)
    terms_at_once = late("sonicpy.store.changing.remove_steps", "terms_at_once", __name__)
    RecoveringStore = object  # a base of the class that takes these methods

ORDER_ID, DIGEST_ID = ORDER.id, DIGESTS.id
TRIED_AGAIN = (StoreError, DamagedBytes, OverflowError)
"""The errors after which a PUSH is repeated once, in a recovered transaction."""


class VectorPushes(RecoveringStore):
    """A store with fast paths for some changes besides plain PUSHes."""

    _refusals: Refusals
    if TYPE_CHECKING:

        def apply(self, mutation: Mutation, *, in_steps: bool = False) -> int: ...

    def push_with_vector(
        self, collection: str, bucket: str, oid: str, terms: Terms, fields: Fields, rules: int = FIRST
    ) -> bool:
        """Carry out a PUSH whose only field is a vector as `push` does; return False if nothing was done and `apply` is
        needed.

        Raises:
            StoreError: the change was not carried out; all changes before it were.
        """
        writer = self._ready_writer(collection, bucket, rules)
        packed = fields[0][1]
        if writer is None or (slot := writer.vectors.of(packed)) is None:
            return False
        record = pack_push_with(collection, bucket, oid, terms, fields, rules)
        change = (oid, terms, slot, packed)
        return bool(self._short(writer, writer.push_with_vector, change, (collection, bucket), record, terms.languages))

    def upsert(self, collection: str, bucket: str, oid: str, terms: Terms, digest: bytes, rules: int = FIRST) -> bool:
        """Carry out an UPSERT of a text by these rules of the lexer; return False if nothing was done and `apply` is
        needed.

        Args:
            digest: the digest of the text.

        Raises:
            StoreError: the change was not carried out; all changes before it were.
        """
        writer = self._ready_writer(collection, bucket, rules)
        if writer is None:
            return False
        record = pack_upsert(collection, bucket, oid, terms, rules, ((DIGEST_ID, digest),))
        change = (oid, terms, digest)
        return bool(self._short(writer, writer.upsert, change, (collection, bucket), record, terms.languages))

    def flush_object(self, collection: str, bucket: str, oid: str, *, in_steps: bool) -> int | None:
        """Carry out FlushObject and return its result; None: nothing was done, and `apply` is needed.

        Args:
            in_steps: as in `Store.apply`.

        Raises:
            StoreError: the change was not carried out; all changes before it were.
        """
        writer = self._ready_writer(collection, bucket, None)
        if writer is None or writer.view.by_association:
            return None
        record = pack_mutation(FlushObject(collection, bucket, oid))
        most = terms_at_once(in_steps)
        words: int | None = self._short(writer, writer.flush_small, (oid, most), (collection, bucket), record)
        return words

    def _ready_writer(self, collection: str, bucket: str, rules: int | None) -> "BucketWriter | None":
        """Return the writer of a bucket if the change can take a fast path, else None. `rules`: the rules of the text;
        None: any rules.
        """
        view = self.view
        if view is None or self.is_torn or self._refusals.now is not None:
            return None
        removals = view.removals
        if removals.objects or removals.collections or removals.vectors:
            return None
        writer: BucketWriter | None = view.writer_cache.get((collection, bucket))
        if writer is None:
            return opened(view, collection, bucket, rules)
        return writer if rules in (None, writer.rules) else None

    def _short(
        self,
        writer: "BucketWriter",
        work: Callable[..., Any],
        arguments: tuple[Any, ...],
        scope: tuple[str, str],
        record: bytes,
        languages: bytes = b"",
    ) -> Any:
        """Return the result of `work` on a bucket; None: nothing was done, and `apply` is needed."""
        view = self.view
        assert view is not None
        if len(record) > RECORD_MAX_BYTES:
            return None
        self.uncommitted += 1
        self.stamp += 1
        self.is_torn = True
        view.changes += 1
        try:
            answer = work(*arguments)
            if languages and answer is not None:
                writer.count_languages(languages)
        except BaseException as error:
            self.uncommitted -= 1
            self._recover(error if isinstance(error, StoreError) else None)
            if not isinstance(error, TRIED_AGAIN):
                raise
            return None
        self.stamp += 1
        if answer is None:
            self.uncommitted -= 1
        else:
            self._unsealed.append(record)
        self.is_torn = False
        if self._board is not None and answer is not None:
            self._board.mark(*scope, view.transaction.number)
        return answer


def push_of(
    collection: str, bucket: str, oid: str, terms: Terms, rules: int, order: bytes | None
) -> PushTerms | PushWith:
    """Return the mutation of a PUSH of terms by these rules of the lexer, with their order if there is one."""
    if order is None:
        return PushTerms(collection, bucket, oid, terms, rules=rules)
    return PushWith(collection, bucket, oid, terms, ((ORDER_ID, order),), rules)
