"""`sonicpy import`: from the rows of a file to an index.

sources.py   rows of JSONL, CSV, TSV and Parquet files
mapping.py   from a row to an entry: the fields for object, text and so on
sinks.py     entries into a folder or to a server
job.py       one import: rows in chunks, refused ones set aside
position.py  the saved position of an import, to resume it
progress.py  the progress bar
"""
