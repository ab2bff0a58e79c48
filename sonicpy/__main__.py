"""`python -m sonicpy` is the command `sonicpy`."""

import sys

from sonicpy.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
