"""Side by side: our server and those it is compared with, on loopback, with equal settings and equal texts."""
