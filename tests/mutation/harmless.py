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
TWO_SYNCS = (
    "two threads would have to end their syncs between the same two instructions; no test meets that often enough"
)
A_SYNC_BETWEEN = "another thread would have to begin its sync between two instructions; no test meets that often enough"

HARMLESS: dict[tuple[str, str, str, str], str] = {
    (LOG, "self._begun = 0  # segments", "0", "(1)"): "only whether it has grown counts",
    (LOG, "self._begun += 1", "1", "(2)"): "only whether it has grown counts",
    (
        LOG,
        "with Held(self._switching):",
        "with Held(self._switching): current, number = Segment(path, position), file.number "
        "older, unsynced = self._older, self._unsynced "
        "if self._begun: older, unsynced = [*older, self._current], [*unsynced, self._file] "
        "# No exception comes between these. "
        "self._older, self._unsynced, self._file, self._current = older, unsynced, file, current "
        "self._descriptor = number self._begun += 1 self._may_have_rest = False self.position = position",
        "if True: current, number = Segment(path, position), file.number "
        "older, unsynced = self._older, self._unsynced "
        "if self._begun: older, unsynced = [*older, self._current], [*unsynced, self._file] "
        "# No exception comes between these. "
        "self._older, self._unsynced, self._file, self._current = older, unsynced, file, current "
        "self._descriptor = number self._begun += 1 self._may_have_rest = False self.position = position",
    ): A_SYNC_BETWEEN,
    (
        LOG,
        "with Held(self._switching):",
        "with Held(self._switching): self._listed = max(self._listed, begun) "
        "self._unsynced = [file for file in self._unsynced if file not in older]",
        "if True: self._listed = max(self._listed, begun) "
        "self._unsynced = [file for file in self._unsynced if file not in older]",
    ): TWO_SYNCS,
    (STORE, "self.stamp += 1", "1", "(2)"): STAMPS,
    (RECOVERY, "self.stamp += 1", "1", "(2)"): STAMPS,
    (RECOVERY, "self.stamp = 0", "0", "(1)"): STAMPS,
    (
        STORE,
        "with Held(self._syncing):",
        "with Held(self._syncing): covered = self._committed_position # taken before the sync begins self._log.sync() "
        "self._environment.sync() if self._refusals.replaced() is None: "
        "# else it would delete by name what may be of another process self._log.retire(covered)",
        "if True: covered = self._committed_position # taken before the sync begins self._log.sync() "
        "self._environment.sync() if self._refusals.replaced() is None: "
        "# else it would delete by name what may be of another process self._log.retire(covered)",
    ): TWO_SYNCS,
    (
        STORE,
        "self._background.note_change(is_urgent=replaced >= CHECKPOINT_BYTES)",
        "replaced >= CHECKPOINT_BYTES",
        "(replaced > CHECKPOINT_BYTES)",
    ): "a sync begins a page earlier or later",
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
