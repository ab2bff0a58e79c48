"""Filters: conditions on the tags and values of objects, as values that every part of the package can read."""
