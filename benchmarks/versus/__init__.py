"""Compare servers side by side: on loopback, with equal settings and equal texts."""
