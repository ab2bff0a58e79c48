"""The command `sonicpy`: main.py runs one verb, which parser.py finds; a file for each group of `sonicpy help`.

    server       serve.py, ping.py, config.py: a file each, because serve must not load modules of the others
    search       search.py
    ingest       ingest.py; importing/, whose verb.py is `import`
    evaluation   eval.py
    maintenance  maintenance.py
    shell        help.py, completion.py
    assistants   mcp/, whose verb.py is `mcp`

Shared by verbs: arguments.py (names, numbers, texts), settings.py (flags that give settings), target.py (the index that
a verb works on), output.py (lines or JSON, and remarks).
"""
