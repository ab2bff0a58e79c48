"""Time limits of a node's answers to clients, in seconds."""

ANSWER_S = 16.0
"""A node answers every command within this time, at worst with ERR and the reason. The time begins with the answer to
the command before, on the same connection. Long work has no limit: VERIFY, TRIGGER, and counting the words or buckets
of a spread collection."""
GIVE_UP_S = 15.0
"""Time limit for the brokers' acknowledgement of a change, or of the barrier of a strong read: below ANSWER_S, so that
the error is the brokers'."""
READ_S = 3.0
"""Time limit for other nodes' answers to a read, all attempts together."""
RELAYED_S = READ_S + 1.0
"""A read that was relayed without an answer has this much less of ANSWER_S left."""
