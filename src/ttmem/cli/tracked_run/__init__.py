"""How `ttmem run` runs a program: its process, its signals, the journals it and its children leave."""
