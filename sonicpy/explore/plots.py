"""A bucket as plots: frequencies of words, lengths of postings lists, growth of the vocabulary."""

from matplotlib import pyplot
from matplotlib.axes import Axes

from sonicpy.explore.data_frames import growth, words
from sonicpy.index.index import Index

WIDTH_INCHES, HEIGHT_INCHES = 6.0, 3.6


def plot_ranks(index: Index, collection: str, bucket: str, ax: Axes | None = None) -> Axes:
    """Plot the number of objects that hold a word against its rank, both logarithmic; Zipf's law is a straight line.

    Stop words are included. Returns the axes. Raises the errors of `words`.

    Args:
        ax: the axes to draw on; None: a new figure.
    """
    counts = words(index, collection, bucket, hidden=True)["objects"]
    ax = _axes(ax)
    draw = ax.loglog if len(counts) else ax.plot  # an empty plot has no logarithmic axes
    draw(range(1, len(counts) + 1), counts, linewidth=1.5)
    ax.set(xlabel="rank of the word", ylabel="objects that hold it", title=f"{collection} / {bucket}: words by rank")
    return ax


def plot_postings(index: Index, collection: str, bucket: str, ax: Axes | None = None) -> Axes:
    """Plot how many words have each number of postings, in bins that double; return the axes.

    If store.kv.retain_word_objects is set, a dashed line shows it: queries do not read the oldest postings of words to
    the right of the line. Arguments and errors as in `plot_ranks`.
    """
    counts = words(index, collection, bucket, hidden=True)["postings"]
    window = index.config.store.kv.retain_word_objects
    edges = [2**power - 0.5 for power in range(int(counts.max() if len(counts) else 1).bit_length() + 1)]
    ax = _axes(ax)
    ax.hist(counts, bins=edges, edgecolor="white")
    ax.set_xscale("log", base=2)
    if len(counts):  # an empty plot has no logarithmic axes
        ax.set_yscale("log")
    if window:
        ax.axvline(window, linestyle="--", color="tab:red", label=f"window of {window}")
        ax.legend()
    ax.set(xlabel="postings", ylabel="words", title=f"{collection} / {bucket}: sizes of postings")
    return ax


def plot_growth(index: Index, collection: str, bucket: str, ax: Axes | None = None) -> Axes:
    """Plot the number of different words against the number of objects, and return the axes; the curve flattens as
    words repeat (Heaps' law).

    Arguments and errors as in `plot_ranks`.
    """
    grown = growth(index, collection, bucket)
    ax = _axes(ax)
    ax.plot(grown.index, grown["words"], linewidth=1.5)
    ax.set(xlabel="objects", ylabel="different words", title=f"{collection} / {bucket}: growth of the vocabulary")
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    drawn: Axes = pyplot.subplots(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")[1]
    return drawn
