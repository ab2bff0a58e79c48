class MergedList:
    size_bytes: int

class TypedFrequencies:
    size_bytes: int
