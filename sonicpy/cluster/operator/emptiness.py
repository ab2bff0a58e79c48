"""Checks that a cluster holds none of certain names yet, by a question to every partition."""

import json

from nats.aio.client import Client
from nats.errors import Error as NatsError

from sonicpy.cluster.peers.questions import Question, pack_question, subject_of_questions
from sonicpy.cluster.registry.registry import Layout
from sonicpy.errors import StoreError

ANSWER_S = 10.0


async def what_is_held(connection: Client, layout: Layout, question: Question) -> str:
    """Put a question to each partition; return the first answer that is not an empty list, as a part of a sentence.

    Args:
        question: asks for names; its answer is a list.

    Returns:
        An empty string if all lists are empty.

    Raises:
        StoreError: a partition does not answer.
    """
    for partition in range(layout.partitions):
        answer = await answer_of(connection, partition, question)
        if answer != b"+[]":
            return not_empty(partition, answer)
    return ""


async def answer_of(connection: Client, partition: int, question: Question) -> bytes:
    """Return the answer of a partition to a question: + and JSON, or an error. Raises StoreError if there is none."""
    packed = pack_question(partition, question)
    try:
        message = await connection.request(subject_of_questions(partition), packed, timeout=ANSWER_S)
    except (NatsError, OSError) as error:
        raise StoreError(f"partition {partition} does not answer: start the nodes that hold it") from error
    return message.data


def not_empty(partition: int, packed: bytes) -> str:
    """Return the names or the error in an answer, as a part of a sentence; "": the list is empty."""
    said = packed[1:].decode()
    return (
        f"which holds {', '.join(json.loads(said))}" if packed[:1] == b"+" else f"partition {partition} answers: {said}"
    )
