"""Claims: a source notes that a bucket, or its objects whose names begin alike, are its mirror."""

from collections.abc import Mapping
from typing import Any

from sonicpy.arguments import check_source
from sonicpy.database_urls import without_password
from sonicpy.store.changing.mutations import ChangeFields
from sonicpy.store.fields.all_fields import FACTS
from sonicpy.store.fields.facts import pack_facts
from sonicpy.store.fields.field import FieldMode
from sonicpy.store.rows.bucket_rules import MIRRORS, RULES, pack_rules
from sonicpy.store.rows.mirror_notes import MIRRORS_MAX, Notes, overlapping, pack_mirrors, unpack_mirrors
from sonicpy.store.views.view import View

IN_COMPAT = "mirrors are not offered in compat mode: Sonic lacks them"


def claim_of(
    collection: str, bucket: str, owner: str, prefix: str, rules: int, more: Mapping[str, Any] | None = None
) -> ChangeFields:
    """Return the change that notes a mirror, and creates the bucket if it is missing.

    Args:
        owner: the name of the source; if it is a URL, its password is not noted.
        prefix: the names of the mirror's objects begin with it.
        rules: the rules of a new bucket.
        more: further entries of the note, by name.

    Raises:
        InvalidArgument: the owner or the prefix is not allowed.
    """
    check_source(owner, prefix)
    facts = {
        RULES: pack_rules(rules),
        MIRRORS: pack_mirrors({prefix: {"owner": without_password(owner), **(more or {})}}),
    }
    return ChangeFields(collection, bucket, "", FieldMode.ADD, ((FACTS.id, pack_facts(facts)),))


def notes_in(view: View, collection: str, bucket: str) -> Notes:
    """Return the mirrors of a bucket, by the beginnings of their names."""
    state = view.bucket(collection, bucket)
    return {} if state is None else unpack_mirrors(view.facts(state.bucket).get(MIRRORS))


def is_claimed(held: Notes, bucket: str, owner: str, prefix: str) -> bool | str:
    """Return whether a mirror is noted already, without a password; the reason as a sentence if it cannot be.

    Args:
        held: the mirrors of the bucket.
        bucket: the name of the bucket, for the sentence.
        owner, prefix: the owner and the prefix of the mirror.
    """
    other = overlapping(held, prefix, owner)
    if other is not None:
        which = f"the objects of the bucket {bucket!r} whose names begin with {other!r} are"
        return (
            f"{which if other else f'the bucket {bucket!r} is'} the mirror of "
            f"{without_password(held[other]['owner'])!r}; allowed are another bucket, a prefix that does not overlap, "
            "or FLUSHB first"
        )
    if prefix not in held and len(held) >= MIRRORS_MAX:
        return f"the bucket {bucket!r} has {MIRRORS_MAX} mirrors; allowed are {MIRRORS_MAX}"
    return prefix in held and held[prefix]["owner"] == without_password(owner)
