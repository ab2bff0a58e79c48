"""The measured systems, sonicpy among them: one module for each."""
