"""The texts of a bucket have one set of rules, checked before they are stored."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sonicpy.store.changing.mutations import AnyPush, RulesDiffer

if TYPE_CHECKING:
    from sonicpy.store.views.write_view import WriteView


def check_rules(view: "WriteView", pushes: Sequence[AnyPush]) -> None:
    """Raise RulesDiffer if a bucket exists and has other rules than a text."""
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
