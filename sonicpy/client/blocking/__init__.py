"""The client that blocks: any number of threads may share one."""
