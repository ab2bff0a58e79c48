"""Messages between two processes of a server over a Unix socket, each perhaps with a file descriptor.

    frame    size u32 | whether a descriptor belongs to it u8 | the message, pickled          (little-endian)

A descriptor arrives with the first byte of its frame at the latest. The system drops it if the receiving process may
not open more files; the message arrives nevertheless. Both ends are sonicpy's, so pickles are safe.
"""

import asyncio
import logging
import os
import pickle
import socket
import struct
from collections import deque
from collections.abc import Callable

logger = logging.getLogger(__name__)

FRAME = struct.Struct("<IB")
READ_BYTES = 1 << 16
DESCRIPTORS_MAX = 16
"""The most descriptors that one read may bring."""
CAN_HAND_OVER = hasattr(socket, "send_fds") and hasattr(socket, "AF_UNIX")
"""Whether this system passes descriptors between processes."""
CLOSE_ON_EXEC: int = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
NONE = -1
"""The descriptor of a message that has none, or whose descriptor was dropped."""


class Link:
    """One end of a connection between two processes. Create it while the loop runs.

    Args:
        ours: the socket, which the link owns.
        on_message: called with each message and its descriptor, which the callee then owns, or NONE.
        on_end: called once when the other end is closed; not after `close`.
    """

    def __init__(
        self, ours: socket.socket, on_message: Callable[[object, int], None], on_end: Callable[[], None]
    ) -> None:
        self._socket = ours
        self.on_message = on_message
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._descriptors: deque[int] = deque()
        self._unsent = bytearray()
        self._is_waiting = False  # until the other end takes more
        self.is_open = True
        ours.setblocking(False)
        self._loop.add_reader(ours.fileno(), self._receive)

    @property
    def is_blocked(self) -> bool:
        """Whether the other end has stopped reading."""
        return bool(self._unsent)

    def send(self, message: object) -> None:
        """Send a message, or buffer it until the other end reads. After the end of the link, do nothing."""
        if self.is_open:
            self._unsent += _framed(message, has_descriptor=False)
            if not self._is_waiting:
                self._write()

    def pass_on(self, message: object, descriptor: int) -> bool:
        """Send a message with a duplicate of a descriptor; return whether that worked."""
        if not self.is_open or self._unsent:
            return False
        frame = _framed(message, has_descriptor=True)
        try:
            sent = socket.send_fds(self._socket, [frame], [descriptor])
        except OSError as error:  # it is blocked, or gone
            logger.debug("a descriptor cannot be passed on: %s", error)
            return False
        if sent < len(frame):
            self._unsent += frame[sent:]
            self._write()
        return True

    async def drain(self) -> None:
        """Wait until everything is sent."""
        while self.is_open and self._unsent:
            await asyncio.sleep(0.001)

    def close(self) -> None:
        """Close this end."""
        if not self.is_open:
            return
        self.is_open = False
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_writer(self._socket.fileno())
        self._socket.close()
        while self._descriptors:
            if (descriptor := self._descriptors.popleft()) != NONE:
                os.close(descriptor)

    def _write(self) -> None:
        try:
            sent = self._socket.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._end()
            return
        del self._unsent[:sent]
        if bool(self._unsent) == self._is_waiting:
            return
        self._is_waiting = bool(self._unsent)
        if self._is_waiting:
            self._loop.add_writer(self._socket.fileno(), self._write)
        else:
            self._loop.remove_writer(self._socket.fileno())

    def _receive(self) -> None:
        try:
            data, descriptors, flags, _ = socket.recv_fds(self._socket, READ_BYTES, DESCRIPTORS_MAX, CLOSE_ON_EXEC)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors, flags = b"", [], 0
        self._descriptors.extend(descriptors)
        if flags & socket.MSG_CTRUNC:  # the place of the one that was dropped: no read goes past the next one
            self._descriptors.append(NONE)
        if not data:
            self._end()
            return
        self._received += data
        self._take_messages()

    def _take_messages(self) -> None:
        while self.is_open and (frame := self._next_frame()) is not None:
            packed, descriptor = frame
            try:
                self.on_message(pickle.loads(packed), descriptor)
            except BaseException:
                self._loop.call_soon(self._take_messages)  # an unexpected error: those that follow are taken anyway
                raise

    def _next_frame(self) -> tuple[bytearray, int] | None:
        """Remove the next message from the received bytes; return it, packed, and its descriptor; None: it is
        incomplete."""
        if len(self._received) < FRAME.size:
            return None
        size, has_descriptor = FRAME.unpack_from(self._received)
        end = FRAME.size + size
        if len(self._received) < end:
            return None
        packed = self._received[FRAME.size : end]
        del self._received[:end]
        return packed, self._descriptors.popleft() if has_descriptor else NONE

    def _end(self) -> None:
        if self.is_open:
            self.close()
            self._on_end()


def _framed(message: object, *, has_descriptor: bool) -> bytes:
    packed = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return FRAME.pack(len(packed), has_descriptor) + packed
