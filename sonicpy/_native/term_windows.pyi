from sonicpy._native.query_terms import QueryTerms

class TermWindows(QueryTerms):
    made_bytes: int
