"""The command `sonicpy`: main.py runs one verb; verbs have one file for each group of `sonicpy --help`.

    server       serve.py, ping.py, config.py: a file each, because serve must not load what only the others need
    search       search.py
    ingest       ingest.py, with the steps of an import in importing/
    evaluation   eval.py
    maintenance  maintenance.py

Shared by verbs: arguments.py (names, numbers, texts), settings.py (flags that give settings), target.py (the index that
a verb works on), output.py (lines or JSON).
"""
