"""The digest of an object, from an export to the field of a record."""

from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown
from sonicpy.store.changing.mutations import Fields
from sonicpy.store.fields.all_fields import DIGESTS
from sonicpy.store.rows.digests import NO_DIGEST, imported_digest


def digest_of_export(held: object, settings: bytes) -> Fields:
    """Return the field of the digest of an object of an export; (): it has none that holds under these settings.

    Args:
        settings: the settings of the analysis of texts, packed.

    Raises:
        InvalidArgument: it is no digest.
    """
    if held is None:
        return ()
    try:
        digest = imported_digest(str(held), settings)
    except ValueError as error:
        raise InvalidArgument(f"digest is {shown(held)}; allowed is as an export has it") from error
    return () if digest == NO_DIGEST else ((DIGESTS.id, digest),)
