"""Put servers under load and measure the time of their answers: the code behind `sonicpy load`.

test_set.py    the queries: a JSON file
shards.py      one query to several servers: send to all, wait for all, merge
agent.py       a process that sends queries one after the other, when a runner starts a run
hub.py         the runner: agents connect to it; it hands out a test set and collects the results
messages.py    messages between agents and runner, a JSON object a line
report.py      results -> percentiles as text, JSON and CSV

The shape of test sets and of the report is that of Letarette's lrload, whose files work unchanged.
"""
