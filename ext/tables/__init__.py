"""Build-time only: turn public data sets into the tables that the native modules and the lexer read."""
