"""Build-time only: turns public data sets into the tables that the compiled modules read."""
