"""The signals that stop a server cleanly."""

import signal

EACH = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def stop_signals() -> list[signal.Signals]:
    """Return the signals that stop the server: without SIGHUP if this process ignores it, as under `nohup`."""
    return [number for number in EACH if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN]
