"""ProgressBar: the progress of an import, shown on terminals only."""

import sys
from types import TracebackType
from typing import Never, Self

from tqdm import tqdm

# The rows in postfix are the only rate: a rate of bytes beside it would mean less.
SIZED_BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
ROWS_BAR = "[{elapsed}{postfix}]"


class ProgressBar:
    """Shows the progress of an import on stderr, its speed, and the remaining time.

    Args:
        size: the size of the input; None: unknown.
        unit: the unit of `size`; "B" for bytes.
        shown: False draws nothing and writes notes as plain lines.
    """

    def __init__(self, size: int | None, unit: str, *, shown: bool) -> None:
        self._rows = 0
        self._bar: tqdm[Never] = tqdm(
            total=size, unit=unit if unit == "B" else f" {unit}", unit_scale=unit == "B", file=sys.stderr,
            disable=not shown, dynamic_ncols=True, mininterval=0.2,
            bar_format=ROWS_BAR if size is None else SIZED_BAR,
        )  # fmt: skip

    def advance(self, done: int, rows: int, more: str = "") -> None:
        """Show that `done` of `size` is done, after `rows` more rows; `more` is added to the line."""
        self._rows += rows
        if not self._bar.disable:
            seconds = self._bar.format_dict["elapsed"] or 1.0
            self._bar.set_postfix_str(f"{self._rows} rows, {self._rows / seconds:.0f} rows/s{more}", refresh=False)
            self._bar.update(done - self._bar.n)

    def note(self, line: str) -> None:
        """Write a line above the bar."""
        tqdm.write(line, file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
