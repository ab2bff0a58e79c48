"""The contents of a bucket as pandas DataFrames and as plots, for notebooks: `pip install 'sonicpy-search[notebook]'`.

Every function takes an `Index` and the names of a collection and a bucket. The index may be opened with
`read_only=True` while a server writes its folder. Plots are matplotlib Axes.
"""

try:
    from sonicpy.explore.data_frames import buckets, growth, objects, terms, words
    from sonicpy.explore.plots import plot_growth, plot_postings, plot_ranks
except ModuleNotFoundError as error:
    raise ImportError("sonicpy.explore needs pandas and matplotlib: pip install 'sonicpy-search[notebook]'") from error

__all__ = ["buckets", "growth", "objects", "plot_growth", "plot_postings", "plot_ranks", "terms", "words"]
