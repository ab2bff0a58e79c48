"""Completions and corrections of words: one immutable file per bucket, built at once and mapped read-only."""
