"""Why a text is not JSON, in words of this package: those of Python name its functions."""

import json


def reason_of(error: ValueError | RecursionError) -> str:
    """Return the reason for which `json` refused a text, as a part of a sentence.

    Args:
        error: the exception of `json.loads` or of a decoder.
    """
    if isinstance(error, RecursionError):
        return "its brackets are nested too deeply"
    if isinstance(error, json.JSONDecodeError | UnicodeError) or "digits" not in str(error):
        return str(error)
    return "a number has too many digits"
