"""What is laid over a view: pages to read, menus, questions, a line to type into; and the table of keys.

A panel takes all keys while it is open. `press` returns whether it stays open; what was chosen goes to a callback.
"""
