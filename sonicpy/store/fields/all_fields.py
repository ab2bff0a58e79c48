"""The table of fields. A new field of objects or buckets needs one more row here, and a name in `uses.KNOWN`."""

from collections.abc import Iterator
from typing import Final

from sonicpy.store.fields.digest_field import Digests
from sonicpy.store.fields.facts import Facts
from sonicpy.store.fields.field import Field
from sonicpy.store.fields.order_field import WordOrders
from sonicpy.store.fields.tag_field import Tags
from sonicpy.store.fields.term_field import Terms
from sonicpy.store.fields.text_field import Texts
from sonicpy.store.fields.value_field import Values
from sonicpy.store.fields.vector_field import Vectors

TERMS: Final = Terms()
FACTS: Final = Facts()
DIGESTS: Final = Digests()
VECTORS: Final = Vectors()
TAGS: Final = Tags()
VALUES: Final = Values()
TEXTS: Final = Texts()
ORDER: Final = WordOrders()

FIELDS: Final[dict[int, Field]] = {
    field.id: field for field in (TERMS, FACTS, DIGESTS, TAGS, VALUES, VECTORS, TEXTS, ORDER)
}
"""The fields by their numbers in records; terms come first."""


def beside_terms() -> Iterator[Field]:
    """Yield the fields that an object may hold beside its terms."""
    return (field for field in FIELDS.values() if field is not TERMS)
