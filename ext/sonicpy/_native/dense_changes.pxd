"""Changes of one record of a dense row, for native code that keeps rows."""

cpdef bytes changed_row(bytes row, int place, bytes record)
