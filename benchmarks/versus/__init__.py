"""Comparison of servers: on loopback, with equal settings and equal texts."""
