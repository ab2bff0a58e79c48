"""Puts servers under load and measures the time of their answers: the code behind `sonicpy load`.

test_set.py    the queries: a JSON file
shards.py      one query to several servers: send to all, wait for all, merge
agent.py       a process that sends queries one after the other, when a runner starts a run
hub.py         the runner: agents connect to it; it hands out a test set and collects the results
messages.py    messages between agents and runner, one JSON object per line
report.py      results -> percentiles as text, JSON and CSV

Test sets and the report have the form of Letarette's lrload; its files work unchanged.
"""
