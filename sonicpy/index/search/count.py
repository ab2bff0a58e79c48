"""COUNT, COUNTC, COUNTB, COUNTO: exact counts at any time."""

from sonicpy.store.views.bucket_reader import find_object
from sonicpy.store.views.view import View


def count_buckets(view: View, collection: str, live: bool) -> int:
    """Return the number of buckets of a collection that hold words; if not `live`, words as of the last
    consolidation.
    """
    return view.count_buckets(collection, "live_words" if live else "lexicon_version")


def count_bucket_words(view: View, collection: str, bucket: str, live: bool) -> int:
    """Return the number of words in a bucket, without parts of runs without blanks; if not `live`, as of the last
    consolidation."""
    state = view.bucket(collection, bucket)
    if state is None:
        return 0
    return state.live_words if live else state.words_in_graph


def count_objects(view: View, collection: str, bucket: str) -> int:
    """Return how many objects a bucket holds."""
    state = view.bucket(collection, bucket)
    return 0 if state is None else state.objects


def count_object_words(view: View, collection: str, bucket: str, oid: str) -> int:
    """Return the number of words in an object, without parts of runs without blanks."""
    state = view.bucket(collection, bucket)
    found = None if state is None else find_object(view, state, oid)
    return 0 if found is None else found[1].shown
