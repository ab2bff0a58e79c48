"""Comparison of servers on the loopback interface, with equal settings and equal texts."""
