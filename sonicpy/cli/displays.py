"""The displays of hits for `query --show`: titles, texts and links, or values that the objects have."""

import os.path
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sonicpy.api.shown import READERS, Show, shows
from sonicpy.cli.output import remark
from sonicpy.errors import ConfigError
from sonicpy.index.index import Index
from sonicpy.values import is_name

if TYPE_CHECKING:
    from sonicpy.api.hits import Hits
    from sonicpy.cli.target import Target

NOTHING = "-"
"""The cell of an object without a value, so that the cells of a name stay below each other."""


class Display(NamedTuple):
    """A hit as it is shown: the keys beside those of the hit in JSON, and the cells behind its name in a line."""

    keys: dict[str, Any]
    cells: list[str]


DisplayHits = Callable[["Hits"], list[Display]]


def displays(setting: str | None, index: "Target", collection: str, bucket: str) -> DisplayHits:
    """Return the function that displays hits, for the value of --show.

    Args:
        bucket: the bucket of hits that name none.

    Raises:
        ConfigError: the setting shows no objects, its file cannot be read, or it names values and a server is asked.
    """
    if setting is None:
        return lambda hits: [Display({}, []) for _ in hits]
    is_of_rows = "{object}" in setting or Path(setting).suffix in READERS or os.path.isfile(setting)
    if not is_of_rows and all(is_name(name) for name in setting.split(",")):
        return _of_values(setting.split(","), index, collection, bucket)
    return _of_rows(setting, shows(setting), collection, bucket)


def _of_values(names: Sequence[str], index: "Target", collection: str, bucket: str) -> DisplayHits:
    if not isinstance(index, Index):
        raise ConfigError(
            f"flag --show names values ({', '.join(names)}), which servers do not return; "
            "allowed are a folder (--data), or a URL with {object}, a .jsonl or .csv file, or module:function."
        )

    def display(hits: "Hits") -> list[Display]:
        found = []
        for hit in hits:
            (held,) = index.values_of_objects(collection, hit.bucket or bucket, [hit.object])
            values = {name: held.get(name) for name in names}
            cells = [NOTHING if value is None else str(value) for value in values.values()]
            found.append(Display({"values": values}, cells))
        for name in names:
            if found and all(each.keys["values"][name] is None for each in found):
                remark(f"none of these objects has the value {name}")
        return found

    return display


def _of_rows(setting: str, show: Show, collection: str, bucket: str) -> DisplayHits:
    def display(hits: "Hits") -> list[Display]:
        try:
            if hits.buckets is None:
                shown = show(collection, bucket, hits.objects)
            else:
                shown = [show(collection, hit.bucket or bucket, [hit.object])[0] for hit in hits]
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ConfigError(f"{setting!r}, which shows objects, has failed: {reason}.") from error
        kept = [{key: each for key, each in made._asdict().items() if each is not None} for made in shown]
        return [Display(keys, [" ".join(each.split()) for each in keys.values()]) for keys in kept]

    return display
