"""The columns of rows to push, where no others are named."""

OBJECT_COLUMNS = ("id", "object")
"""Columns for the name of the object, if no column is given; the first that exists is used."""
TEXT_COLUMN = "text"
