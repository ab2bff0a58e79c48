"""`sonicpy mcp`: an index as tools of an assistant, over the Model Context Protocol."""
