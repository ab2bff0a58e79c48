"""Random scenarios played against Sonic and compat mode; each difference is shrunk to its smallest form.

scenario.py    seeded random scenarios: lines on several connections, one by one or together,
               consolidations, restarts
servers.py     a server that plays scenarios, each in a collection of its own
judge.py       Sonic twice, sonicpy once: differences, and questions that Sonic itself does not decide
shrink.py      a scenario with a difference -> the smallest one that still has it
deliberate.py  the differences that docs/protocol.md lists: how each is recognised, and taken out of a scenario

counts.py      real texts: the share with another number of words
stop_words.py  the stop words of both, language by language

    SONIC_BIN=/path/to/sonic python -m tests.differential [--count 5000] [--seed 1] [--write FOLDER]
"""
