"""Several machines that hold the same index: `sonicpy serve --cluster`. Outside of this package only the command line
imports it, for `--cluster` and `sonicpy cluster`.
"""
