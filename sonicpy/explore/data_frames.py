"""A bucket as DataFrames: its words, its objects, and the distribution of its words over the objects."""

import pandas as pd

from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown
from sonicpy.index.index import Index
from sonicpy.index.report.term_stats import ObjectStats, TermStats


def buckets(index: Index) -> pd.DataFrame:
    """Return the buckets of an index, indexed by collection and bucket: objects, words, average_length.

    The frame has at most the first 1,000 collections, and the first 1,000 buckets of each.
    """
    found = {
        (collection, bucket): figures
        for collection in index.stats()["by_collection"]
        for bucket, figures in index.stats(collection)["by_bucket"].items()
    }
    names = pd.MultiIndex.from_tuples(found, names=["collection", "bucket"])
    columns = ["objects", "words", "average_length"]
    return pd.DataFrame([[figures[name] for name in columns] for figures in found.values()], names, columns)


def words(index: Index, collection: str, bucket: str, *, hidden: bool = False) -> pd.DataFrame:
    """Return the words of a bucket, indexed by word, the most frequent first.

    Columns: `objects`, the number of objects with the word; `postings`, the number of those objects that a search for
        the word can find, the newest ones; `times`, the occurrences of the word in these.

    Args:
        hidden: include words that are only parts of runs without blanks, and the column `hidden_objects`: the number of
            objects in which a word is such a part.

    Raises:
        InvalidArgument: `index` is no Index, or a name is not valid.
        StoreError: the store cannot be read.
    """
    _expect_index(index)
    frame = pd.DataFrame(index.term_stats(collection, bucket), columns=TermStats._fields).set_index("word")
    frame = frame.sort_values(["objects", "times"], ascending=False, kind="stable")
    return frame if hidden else frame[frame["hidden_objects"] < frame["objects"]].drop(columns="hidden_objects")


def objects(index: Index, collection: str, bucket: str) -> pd.DataFrame:
    """Return the objects of a bucket, indexed by name, oldest first.

    Columns: `length`, the number of words, including repeated ones and stop words; `words` and `hidden_words`, the
        numbers of different ones; `new_words`, the number of words that no older object holds. Raises the errors of
        `words`.
    """
    _expect_index(index)
    frame = pd.DataFrame(index.object_stats(collection, bucket), columns=ObjectStats._fields)
    return frame.set_index("object")


def terms(index: Index, collection: str, bucket: str, *, hidden: bool = False) -> pd.DataFrame:
    """Return the number of words for each object frequency, indexed by the object frequency.

    Columns: `words`; their `share` of all words; and `up_to`, the share of words with this frequency or a lower one.
    Arguments and errors as in `words`.
    """
    counts = words(index, collection, bucket, hidden=hidden)["objects"].value_counts().sort_index()
    share = counts / counts.sum()
    return pd.DataFrame({"words": counts, "share": share, "up_to": share.cumsum()}).rename_axis("objects")


def growth(index: Index, collection: str, bucket: str) -> pd.DataFrame:
    """Return the growth of the vocabulary, a row for each object in the order of creation, counted from 1.

    Columns: `tokens`, the length of all objects so far; `words`, the number of different words in them, including
        hidden ones. Raises the errors of `words`.
    """
    made = objects(index, collection, bucket)
    frame = pd.DataFrame({"tokens": made["length"].cumsum(), "words": made["new_words"].cumsum()})
    return frame.set_axis(pd.RangeIndex(1, len(frame) + 1, name="objects"))


def _expect_index(index: object) -> None:
    if not isinstance(index, Index):
        raise InvalidArgument(
            f"index is {shown(index)}; allowed is an Index: open a server's folder with read_only=True"
        )
