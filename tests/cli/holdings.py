"""The words of the objects of a folder."""

from sonicpy import Index


def held(folder: str = "d", collection: str = "c", bucket: str = "default") -> dict[str, set[str]]:
    """Return the words of each object; each object must occur once."""
    with Index(folder) as index:
        holdings = list(index.holdings(collection, bucket))
    objects = {holding.object: {*holding.terms, *holding.hidden} for holding in holdings}
    assert len(objects) == len(holdings)
    return objects
