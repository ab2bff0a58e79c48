"""The benchmarks that five other systems publish, run with this project and the peers that the machine has.

profiles.py    amounts of work: tiny (the gate), small (minutes), full
oracle.py      the correct answers, from plain dictionaries
table.py       figures of peers, results.json and results.md
plots.py       results.json -> SVG; pages.py: results.json -> docs/benchmarks
*_rows.py      the rows: sonic S1-S4, reindexer R1-R6, synapse Y1-Y4, sniper K1-K4, letarette L1-L4

Peers are not built here; a missing peer is listed with the reason.
"""
