"""The answers of nodes to each other's questions, as bytes: the first byte is the kind of the answer."""

from sonicpy.cluster.peers.hedging import NOT_HERE
from sonicpy.errors import CommandError, InvalidArgument, SonicError, StoreError
from sonicpy.version import VERSION

ANSWER, REFUSAL, FAILED = b"+", b"!", b"?"
"""The first bytes of answers, beside NOT_HERE. ANSWER is followed by the answer; REFUSAL by the code of an error and
its detail; FAILED by the reason why a change failed, or why its outcome is unknown; NOT_HERE by the reason why another
node has to be asked.
"""


class NotHere(SonicError):
    """This node cannot answer, but another one may; nothing was changed."""


def pack_error(error: SonicError, *, is_change: bool) -> bytes:
    """Return the answer to another node whose question, a change if `is_change`, raised an error here."""
    if isinstance(error, CommandError):
        return REFUSAL + f"{error.code}\0{_detail(error)}".encode()
    return (FAILED if is_change and isinstance(error, StoreError) else NOT_HERE) + str(error).encode()


def _detail(error: CommandError) -> str:
    """Return the text in brackets behind the code; for an InvalidArgument without such a text, its sentence."""
    if error.detail is None and _is_sentence(error.code):
        return " ".join(str(error).split()) if isinstance(error, InvalidArgument) else ""
    return error.detail or ""


def _is_sentence(code: str) -> bool:
    return code == "invalid_argument"


def unpack_answer(packed: bytes) -> bytes:
    """Return the answer of another node.

    Raises:
        CommandError: the question was refused.
        NotHere: the node cannot answer.
        StoreError: a change failed or its outcome is unknown, or the kind of the answer is unknown to this version.
    """
    state, answer = packed[:1], packed[1:]
    if state == ANSWER:
        return answer
    if state == NOT_HERE:
        raise NotHere(answer.decode())
    if state == REFUSAL:
        code, _, detail = answer.decode().partition("\0")
        raise InvalidArgument(detail) if detail and _is_sentence(code) else CommandError(code, detail or None)
    if state == FAILED:
        raise StoreError(answer.decode())
    raise StoreError(f"a node gave an answer of a kind that this sonicpy {VERSION} does not know: upgrade it")


def answer_or_refusal(packed: bytes) -> bytes | SonicError | None:
    """Return the answer of another node, or the error of a refusal; None: it cannot answer, and another one may."""
    if packed[:1] == ANSWER:
        return packed[1:]
    try:
        return unpack_answer(packed)
    except CommandError as error:
        return error
    except SonicError:
        return None
