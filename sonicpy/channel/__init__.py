"""Sonic Channel without a network: bytes to commands, replies to bytes."""
