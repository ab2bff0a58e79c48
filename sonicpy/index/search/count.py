"""COUNT, COUNTC, COUNTB, COUNTO: exact counts at every moment."""

from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.view import View


def count_buckets(view: View, collection: str, live: bool) -> int:
    """Return how many buckets of a collection hold words; if not `live`, how many have been consolidated."""
    return sum(bool(state.live_words if live else state.lexicon_version) for state in view.buckets(collection))


def count_bucket_words(view: View, collection: str, bucket: str, live: bool) -> int:
    """Return how many words a bucket holds, parts of runs without blanks left out."""
    state = view.bucket(collection, bucket)
    if state is None:
        return 0
    return state.live_words if live else state.graph_words


def count_objects(view: View, collection: str, bucket: str) -> int:
    """Return how many objects a bucket holds."""
    state = view.bucket(collection, bucket)
    return 0 if state is None else state.objects


def count_object_words(view: View, collection: str, bucket: str, oid: str) -> int:
    """Return how many words an object holds; parts of runs without blanks are left out."""
    state = view.bucket(collection, bucket)
    record = None if state is None else BucketReader(view, state).object(oid)
    return 0 if record is None else record.shown
