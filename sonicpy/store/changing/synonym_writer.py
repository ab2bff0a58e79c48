"""Changes the synonyms of a collection in the open write transaction."""

from typing import TYPE_CHECKING

from sonicpy.store.rows import uses
from sonicpy.store.rows.synonym_rules import RULES_MAX, put_rules, rules_of, unpack_synonyms

if TYPE_CHECKING:
    from sonicpy.store.changing.mutations import ChangeSynonyms
    from sonicpy.store.views.write_view import WriteView

REPLACE, ADD = "set", "add"
"""The modes of a change: the rules replace those that are there, or are added to them."""
TOO_MANY = -1
"""The result of a change that would give a collection too many rules; the rules stay as they were."""


def set_synonyms(view: "WriteView", mutation: "ChangeSynonyms", in_steps: bool) -> int:
    """Change the rules of a collection; return the new number of rules, or TOO_MANY.

    Args:
        in_steps: not used: the change is always made at once.
    """
    collection, mode, packed = mutation
    given = unpack_synonyms(packed)
    before = [] if mode == REPLACE else rules_of(view.transaction, collection)
    rules = list({rule.text: rule for rule in (*before, *given)}.values())
    if len(rules) > RULES_MAX:
        return TOO_MANY
    if rules:
        view.require(uses.SYNONYMS)
    put_rules(view.transaction, collection, rules)
    view.changes += 1
    return len(rules)
