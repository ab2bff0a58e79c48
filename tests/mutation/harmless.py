"""Wrong changes that no test detects because they have no visible effect, each with the reason.

Keys are (path, line, before, after), as a run prints them.
"""

LOG = "sonicpy/store/disk/log.py"
STORE = "sonicpy/store/store.py"
RECOVERY = "sonicpy/store/recovery.py"
PASSWORDS = "sonicpy/server/connections/passwords.py"
FOLDER = "sonicpy/store/disk/folder.py"
CONVERSATION = "sonicpy/client/conversation.py"
PUSHES = "sonicpy/client/pushes.py"

FIRST_ONE = "the first wrong password sets it to 0, because the last one was infinitely long ago"
A_BYTE_MORE = "a group of lines is a byte longer or shorter"
NOT_INHERITED = "Python opens every file so that programs it starts do not inherit it"
STAMPS = "whoever compares two stamps asks only whether they are the same"
A_SYNC_BETWEEN = (
    "another thread would have to begin or end its sync between two instructions; no test meets that often enough"
)

HARMLESS: dict[tuple[str, str, str, str], str] = {
    (LOG, "self._begun = 0  # segments", "0", "(1)"): "only whether it has grown counts",
    (LOG, "self._begun += 1", "1", "(2)"): "only whether it has grown counts",
    (
        LOG,
        "with Held(self._switching):",
        "with Held(self._switching): self._adopt(file, Segment(path, position))",
        "if True: self._adopt(file, Segment(path, position))",
    ): A_SYNC_BETWEEN,
    (
        LOG,
        "with Held(self._switching):",
        "with Held(self._switching): self._listed = max(self._listed, begun) "
        "self._synced = max(self._synced, position) "
        "self._unsynced = [file for file in self._unsynced if file not in older]",
        "if True: self._listed = max(self._listed, begun) "
        "self._synced = max(self._synced, position) "
        "self._unsynced = [file for file in self._unsynced if file not in older]",
    ): A_SYNC_BETWEEN,
    (STORE, "self.stamp += 1", "1", "(2)"): STAMPS,
    (RECOVERY, "self.stamp += 1", "1", "(2)"): STAMPS,
    (RECOVERY, "self.stamp = 0", "0", "(1)"): STAMPS,
    (
        STORE,
        "if self._log.bytes_in_segment() > SEGMENT_BYTES:",
        "self._log.bytes_in_segment() > SEGMENT_BYTES",
        "(self._log.bytes_in_segment() >= SEGMENT_BYTES)",
    ): "a segment is a record longer or shorter",
    (
        RECOVERY,
        'raise StoreFull("the store cannot be recovered: its map is full whatever its size")',
        'raise StoreFull("the store cannot be recovered: its map is full whatever its size")',
        "pass",
    ): "no machine has the disk for so many doublings of the map",
    (PASSWORDS, "self.wrong = 0", "0", "(1)"): FIRST_ONE,
    (PASSWORDS, "self.wrong = 0", "self.wrong = 0", "pass"): FIRST_ONE,
    (
        PASSWORDS,
        "doublings = min(attempts.wrong - FREE - 1, 10)  # beyond that, 2**doublings would grow without need",
        "10",
        "(11)",
    ): "the longest delay is reached with fewer doublings",
    (FOLDER, "os.ftruncate(descriptor, 0)", "0", "(1)"): "the process id that is written over it is longer",
    (
        FOLDER,
        "self._files.append(Descriptor(os.open, folder / name, os.O_RDONLY | os.O_CLOEXEC))",
        "os.O_RDONLY | os.O_CLOEXEC",
        "(os.O_RDONLY & os.O_CLOEXEC)",
    ): NOT_INHERITED,
    (
        FOLDER,
        "descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)",
        "os.O_RDONLY | os.O_CLOEXEC",
        "(os.O_RDONLY & os.O_CLOEXEC)",
    ): NOT_INHERITED,
    (
        CONVERSATION,
        "return in_flight",
        "return in_flight",
        "return None",
    ): "the caller looks only for what is complete, and a PENDING completes nothing",
    (PUSHES, "size = 0", "0", "(1)"): A_BYTE_MORE,
    (
        PUSHES,
        "while len(lines) < LINES_IN_FLIGHT_MAX and size < GROUP_BYTES_MAX:",
        "size < GROUP_BYTES_MAX",
        "(size <= GROUP_BYTES_MAX)",
    ): A_BYTE_MORE,
}
