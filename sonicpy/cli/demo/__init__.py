"""`sonicpy demo`: corpus.py reads texts that are on every machine, verb.py indexes them and serves the index."""
