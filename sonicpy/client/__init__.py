"""The interface of Index over Sonic Channel: Client blocks, AsyncClient uses asyncio.

Without I/O, shared by both:

    plans.py         the lines that each method sends, and its reading of the answers
    lines.py         the lines to send
    pushes.py        many rows as groups of lines, several groups in flight
    exchange.py      the lines of one command, and the answers to them
    conversation.py  one connection as a state machine: lines out, bytes in, answers in order
    address.py       from a URL to an address
    client_settings.py  time limits, retries, size of the pool
    retry.py         whether to try again, and when
    transport.py     keep-alive and errors of sockets

With I/O, each once in blocking/ and once in aio/, class by class:

    connection.py    BlockingConnection  AsyncConnection  one conversation over a socket
    pool.py          Pool                AsyncPool        the connections of a client; retries
    client.py        Client              AsyncClient      the methods
    connect.py       connect             connect_async    from a URL to a client
    call_turns.py    CallTurns                            which threads may use a connection (blocking only)
    aio/bucket.py                        AsyncBucket      one bucket of an AsyncClient; the other is api/bucket.py
"""
