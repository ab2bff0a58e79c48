"""How long a node makes a client wait, in seconds."""

ANSWER_S = 16.0
"""A node answers every command within this time, if only with ERR: a client that waits longer hears why. It counts from
the answer to the command before, on the same connection. What takes its time by itself has no limit: VERIFY, TRIGGER,
and to count the words or buckets of a spread collection."""
GIVE_UP_S = 15.0
"""Until brokers have acknowledged a change, or the barrier of a strong read: before ANSWER_S, so that its error is that
of the brokers."""
READ_S = 3.0
"""For an answer of another node to a read, all tries together."""
RELAYED_S = READ_S + 1.0
"""A read that was passed on to another node, which did not answer, has this much less of ANSWER_S."""
