"""How good the answers are: ours, plain BM25 and a real Sonic side by side; writes the tables of docs/quality.md."""
