"""Keys and tenant tokens: secrets that allow some verbs in some buckets, for some time.

scopes.py    the buckets that a key names
grant.py     the rights of a key, and the check of one request
key.py       a key as it is kept: never its secret
key_store.py keys in a folder beside the index, changed by `sonicpy keys`
key_file.py  keys in a file of the configuration
tokens.py    tokens that an application signs
rates.py     limits of the requests of a key
admission.py from a secret to a grant
"""
