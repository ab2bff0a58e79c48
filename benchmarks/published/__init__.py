"""The benchmarks that five other systems publish, as work for this project and for peers found on the machine.

profiles.py    how much work: tiny (the gate), small (minutes), full
corpora.py     the data: seeded generators, which print size and SHA-256
oracle.py      the right answers, from plain dictionaries
table.py       measurements: rounds in which the peers take turns, results.json and results.md
plots.py       results.json -> SVG
texts.py       full-text peers in this process; postgres.py: PostgreSQL in a temporary folder
keyvalues.py   peers that keep keys and values
*_rows.py      the rows: sonic S1-S4, reindexer R1-R6, synapse Y1-Y4, sniper K1-K4, letarette L1-L4

Peers are found, never built; one that is missing is named with the reason.
"""
