"""Build-time only: turns public data sets into the tables that the native modules and the lexer read."""
