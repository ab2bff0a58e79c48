"""The quality of answers of sonicpy, plain BM25 and the original Sonic; writes the tables of docs/quality.md."""
