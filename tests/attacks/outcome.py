"""The result of an attack."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """The result of an attack.

    Attributes:
        tried: the number of attempts: requests, interrupts, ends of programs, ...
        wrong: one sentence for each wrong result; empty if everything held.
        note: a measured figure besides the counts, such as "longest hold of the loop 14 ms"; "": none.
    """

    tried: int
    wrong: list[str]
    note: str = ""
