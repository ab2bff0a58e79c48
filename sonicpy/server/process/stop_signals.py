"""The signals that stop a server in order."""

import signal

EACH = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def stop_signals() -> list[signal.Signals]:
    """Return the signals to stop for: all but a SIGHUP that this process ignores because `nohup` started it."""
    return [number for number in EACH if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN]
