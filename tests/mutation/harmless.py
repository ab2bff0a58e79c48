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
ALWAYS_OPEN = "0 is the standard input, which a log never is"
STAMPS = "whoever compares two stamps asks only whether they are the same"
TWO_SYNCS = (
    "two threads would have to end their syncs between the same two instructions; no test meets that often enough"
)
A_SYNC_BETWEEN = "another thread would have to begin its sync between two instructions; no test meets that often enough"

HARMLESS: dict[tuple[str, str, str, str], str] = {
    (LOG, "self._begun = 0  # segments", "0", "(1)"): "only whether it has grown counts",
    (LOG, "self._begun += 1", "1", "(2)"): "only whether it has grown counts",
    (LOG, "if descriptor >= 0:", "descriptor >= 0", "(descriptor > 0)"): ALWAYS_OPEN,
    (LOG, "if descriptor >= 0:", "0", "(1)"): ALWAYS_OPEN,
    (LOG, "if self._descriptor >= 0:", "0", "(1)"): ALWAYS_OPEN,
    (LOG, "if self._descriptor >= 0:", "self._descriptor >= 0", "(self._descriptor > 0)"): ALWAYS_OPEN,
    (
        LOG,
        "with self._switching:",
        "with self._switching: if self._descriptor >= 0: self._unsynced.append((self._current, self._descriptor)) "
        "self._older.append(self._current) self._descriptor = descriptor self._current = Segment(path, position) "
        "self._begun += 1 self._may_have_rest = False self.position = position",
        "if True: if self._descriptor >= 0: self._unsynced.append((self._current, self._descriptor)) "
        "self._older.append(self._current) self._descriptor = descriptor self._current = Segment(path, position) "
        "self._begun += 1 self._may_have_rest = False self.position = position",
    ): A_SYNC_BETWEEN,
    (
        LOG,
        "with self._switching:",
        "with self._switching: self._listed = max(self._listed, begun) for synced in older: "
        "if synced in self._unsynced: self._unsynced.remove(synced) os.close(synced[1])",
        "if True: self._listed = max(self._listed, begun) for synced in older: "
        "if synced in self._unsynced: self._unsynced.remove(synced) os.close(synced[1])",
    ): TWO_SYNCS,
    (STORE, "self._board = None", "self._board = None", "pass"): "nobody asks a closed store for its board",
    (STORE, "self.stamp += 1", "1", "(2)"): STAMPS,
    (RECOVERY, "self.stamp += 1", "1", "(2)"): STAMPS,
    (RECOVERY, "self.stamp = 0", "0", "(1)"): STAMPS,
    (
        STORE,
        "self._is_lost = False  # the open transaction failed, and its recovery has not passed yet",
        "False",
        "(True)",
    ): "opening recovers the store, which sets it again",
    (
        STORE,
        "with self._syncing:",
        "with self._syncing: covered = self._committed_position # taken before the sync begins self._log.sync() "
        "self._environment.sync() self._log.retire(covered)",
        "if True: covered = self._committed_position # taken before the sync begins self._log.sync() "
        "self._environment.sync() self._log.retire(covered)",
    ): TWO_SYNCS,
    (
        STORE,
        "self._background.close()",
        "self._background.close()",
        "pass",
    ): "`close` and the release behind it both end the background sync",
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
        STORE,
        "self._drop_transaction()",
        "self._drop_transaction()",
        "pass",
    ): "whoever begins or closes next drops it first; one place remains each time",
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
    (FOLDER, "os.ftruncate(self._descriptor, 0)", "0", "(1)"): "the process id that is written over it is longer",
    (
        FOLDER,
        "self._descriptor = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)",
        "os.O_RDONLY | os.O_CLOEXEC",
        "(os.O_RDONLY & os.O_CLOEXEC)",
    ): "Python opens every file so that programs it starts do not inherit it",
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
