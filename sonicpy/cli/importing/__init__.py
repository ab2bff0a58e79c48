"""`sonicpy import`: from the rows of a file to an index.

sources.py   rows of JSONL, CSV, TSV and Parquet files
mapping.py   from a row to an entry: which field says what
sinks.py     from entries into a folder or to a server
job.py       one import: rows in chunks, refused ones set aside
position.py  how far an import has come, so that it can be resumed
progress.py  the progress bar
"""
