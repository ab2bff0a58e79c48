cdef enum:
    NAME_MAX_BYTES = 128    # as in sonicpy.ids
