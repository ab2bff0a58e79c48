"""Exceptions that come from outside: of signal handlers, of other threads, at the end of a program, beside a fork."""
