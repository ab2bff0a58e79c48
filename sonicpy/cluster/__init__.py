"""Several machines that hold the same index: `sonicpy serve --cluster`. Nothing outside of this room imports it, except
the command line where `--cluster` or `sonicpy cluster` asks for it.
"""
