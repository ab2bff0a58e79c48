BM25_K1: float
BM25_B: float

def idf(objects: int, df: int) -> float: ...
