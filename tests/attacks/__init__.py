"""Attacks on a server, a library and a program that uses it; `python -m tests.attacks` runs them."""
