"""Without the extra [http], importing its module names the missing package."""

import subprocess
import sys

from tests.support.patience import WAIT_S


def test_the_module_says_what_to_install() -> None:
    code = "import sys; sys.modules['fastapi'] = None; import sonicpy.http"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT_S, check=False)
    said = "ModuleNotFoundError: sonicpy.http needs fastapi: pip install 'sonicpy-search[http]'"
    assert done.stderr.splitlines()[-1] == said
