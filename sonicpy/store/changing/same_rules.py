"""Checks, before texts are stored, that they were cut by the rules of their bucket."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sonicpy.store.changing.mutations import AnyPush, RulesDiffer

if TYPE_CHECKING:
    from sonicpy.store.views.write_view import WriteView


def check_rules(view: "WriteView", pushes: Sequence[AnyPush]) -> None:
    """Raise RulesDiffer if one of the texts was cut by other rules than those of its bucket. A new bucket takes any."""
    if len(pushes) == 1:
        writer = view.writer_cache.get((pushes[0].collection, pushes[0].bucket))
        if writer is not None and writer.rules == pushes[0].rules:
            return
    seen: dict[tuple[str, str], int] = {}
    for push in pushes:
        scope = (push.collection, push.bucket)
        if scope not in seen:
            writer = view.writer_cache.get(scope)
            state = view.bucket(*scope) if writer is None else None
            found = push.rules if state is None else view.rules(state.bucket)
            seen[scope] = found if writer is None else writer.rules
        if seen[scope] != push.rules:
            raise RulesDiffer(scope, seen[scope])
