"""What is laid over a view: pages to read, menus, questions, a line to type into.

A panel takes all keys while it is open. `press` answers whether it stays open; what was chosen is told to whoever
opened it.
"""
