"""The benchmarks that five other systems publish, as work for this project and for peers found on the machine.

profiles.py    how much work: tiny (the gate), small (minutes), full
oracle.py      the right answers, from plain dictionaries
table.py       figures of peers, results.json and results.md
plots.py       results.json -> SVG; pages.py: results.json -> docs/benchmarks
*_rows.py      the rows: sonic S1-S4, reindexer R1-R6, synapse Y1-Y4, sniper K1-K4, letarette L1-L4

Peers are found, never built; one that is missing is named with the reason.
"""
