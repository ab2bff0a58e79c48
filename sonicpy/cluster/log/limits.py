"""Time limits of a node, in seconds: of its answers to clients, and of its waits for the log."""

ANSWER_S = 16.0
"""The longest time in seconds in which a node answers any command, at worst with ERR and the reason. The time begins
with the answer to the command before, on the same connection. Long work has no limit: VERIFY, TRIGGER, and counting the
words or buckets of a spread collection.
"""
GIVE_UP_S = 15.0
"""The longest wait in seconds for the brokers' acknowledgement of a change, or of the barrier of a strong read: below
ANSWER_S, so that the client gets the brokers' error.
"""
READ_S = 3.0
"""The longest wait in seconds for other nodes' answers to a read, all attempts together."""
RELAYED_S = READ_S + 1.0
"""The time in seconds by which ANSWER_S is shorter for a read that was relayed without an answer."""
EXPECTED_S = 0.5
"""The time in seconds without an acknowledged entry after which the log is read again."""
