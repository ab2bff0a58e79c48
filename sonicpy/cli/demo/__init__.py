"""`sonicpy demo`: corpus.py reads real texts that every machine has, verb.py indexes them and serves the result."""
