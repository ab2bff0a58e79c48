"""Print or write the tables of docs/scale.md, or measure the figures that they are computed from.

python -m benchmarks.scale             print the tables
python -m benchmarks.scale measure     measure on this machine, and write benchmarks/scale/measured.json
python -m benchmarks.scale write       put the tables into docs/scale.md
"""

import json
import re
import sys
from pathlib import Path

from benchmarks.scale.measure import measure
from benchmarks.scale.model import tables

MEASURED = Path(__file__).with_name("measured.json")
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def read() -> dict[str, float | int | str]:
    """Return the figures of `measured.json`."""
    found: dict[str, float | int | str] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def page_with(page: str, made: dict[str, str]) -> str:
    """Return the page with the tables in their places. Raises SystemExit if a place is missing."""
    for name, text in made.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
        if not place.search(page):
            raise SystemExit(f"docs/scale.md has no place for the table {name}")
        page = place.sub(lambda found, text=text: f"{found[1]}\n{text}\n{found[2]}", page)
    return page


def main() -> None:
    match sys.argv[1:]:
        case []:
            for name, text in tables(read()).items():
                print(f"{name}\n\n{text}\n")
        case ["measure"]:
            MEASURED.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
        case ["write"]:
            PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), tables(read())), encoding="utf-8")
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
