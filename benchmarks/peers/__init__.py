"""The systems that are measured, ours among them: one module for each."""
