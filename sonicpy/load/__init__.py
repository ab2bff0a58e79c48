"""Put servers under load and measure how long their answers take: behind `sonicpy load`.

test_set.py    what to ask: a JSON file
shards.py      one query to several servers: send to all, wait for all, merge
agent.py       a process that asks, one query after the other, whenever a runner tells it to
hub.py         the runner: agents connect to it; it hands out a test set and collects the results
messages.py    what agents and runner say to each other, a JSON object a line
report.py      results -> percentiles as text, JSON and CSV

The shape of test sets and of the report is that of Letarette's lrload, whose files work unchanged.
"""
