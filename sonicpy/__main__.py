"""Makes `python -m sonicpy` the same as the command `sonicpy`."""

import sys

from sonicpy.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
