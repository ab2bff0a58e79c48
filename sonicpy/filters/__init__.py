"""Filters: conditions on the tags and values of objects, as plain objects that every part of the package can read."""
