"""Compiled modules: their sources are under ext/, their types in the .pyi files beside this one."""
