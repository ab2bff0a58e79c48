"""The client for asyncio; any number of tasks of one event loop may share it."""
