"""Judges the answers of an index, or of any server that speaks Sonic Channel: the code behind `sonicpy eval`.

inputs.py      the content of a path: a collection with judged queries, misspelt words, or sentences by language
searched.py    the judged system: an index in a temporary folder, or a server
relevance.py   judged queries -> nDCG@10, MRR@10, Recall@100, empty answers, time
typos.py       misspelt words -> the place of the right one among suggestions, and whether a query finds it
languages.py   sentences -> whether a part finds its sentence, and whether the language is guessed right
table.py       figures -> lines of text, or JSON
"""
