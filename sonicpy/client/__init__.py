"""The interface of Index over Sonic Channel: blocking (Client) and with asyncio (AsyncClient).

plans.py         what each method asks and makes of the answers; knows no socket
lines.py         the lines it asks with
pushes.py        many rows as batches of lines, several batches under way
conversation.py  one connection as a machine: lines out, bytes in, answers in order
connection.py    its blocking socket       aio_connection.py  its asyncio protocol
pool.py          connections, retries      aio_pool.py        the same with asyncio
client.py        Client                    aio_client.py      AsyncClient
"""
