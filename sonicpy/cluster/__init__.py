"""A cluster: several machines that hold one index, `sonicpy serve --cluster`.

Outside of this package only the command line imports it, for `--cluster` and `sonicpy cluster`.
"""
