"""Exceptions from outside: from signal handlers, from other threads, at the end of a program, and beside a fork."""
