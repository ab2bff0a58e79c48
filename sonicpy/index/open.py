"""sonicpy.open: an index in a folder, in memory, or in a folder that another process writes."""

import os
from pathlib import Path

from sonicpy.arguments import path_of, switch_of
from sonicpy.errors import StoreError
from sonicpy.index.given_settings import Settings
from sonicpy.index.index import Index
from sonicpy.index.ingest.given_vectors import Embed, check_embedder
from sonicpy.store.disk.temporary import MEMORY, temporary_folder


def open_index(
    path: str | os.PathLike[str],
    config: Settings = None,
    *,
    read_only: bool = False,
    autocommit: bool = False,
    embed: Embed | None = None,
) -> Index:
    """Open an index. Any thread of this process may use it; close it at the end, best by `with`.

    Args:
        path: a folder, created if it is missing; or ":memory:", a temporary index that `close` deletes.
        config: the settings, as a Config or a mapping such as `{"search": {"ranking": "newest"}}`; None: the defaults.
        read_only: read a folder that another process writes; every call shows the last commit.
        embed: a function that returns a vector for each text of a list: it makes the vectors of pushed texts and of
            questions, where none is given. Optional attributes: `column`, the name of the column of vectors, and
            `question`, a function for questions. `sonicpy.embedders` makes such functions. No effect in compat mode.
        autocommit: commit each change before its method returns, so that other processes see it at once. Else a change
            survives the death of this process, and all threads see it, when its method returns; processes that read
            the folder see it within 50 ms. A change with its own commit takes about sixteen times as long.

    Raises:
        StoreLocked: another process has the folder open for writing, or this process has it open already.
        StoreError: the folder cannot be opened as an index with these settings; the message says why.
        ConfigError: the settings are wrong.
        InvalidArgument: another argument is wrong.
    """
    folder = path_of("path", path)
    if embed is not None:
        check_embedder(embed)
    read_only, autocommit = switch_of("read_only", read_only), switch_of("autocommit", autocommit)
    if folder != MEMORY:
        if read_only:
            from sonicpy.index.read_only_index import ReadOnlyIndex  # noqa: PLC0415  loaded when it is needed

            return ReadOnlyIndex(Path(folder), config, embed=embed)
        return Index(Path(folder), config, commits_late=not autocommit, embed=embed)
    if read_only:
        raise StoreError("an index in memory begins empty: open it without read_only")
    temporary = temporary_folder()
    try:
        return Index(temporary, config, temporary=True, commits_late=not autocommit, embed=embed)
    except BaseException:
        import shutil  # noqa: PLC0415  loaded when it is needed

        shutil.rmtree(temporary, ignore_errors=True)
        raise
