"""The design that ttmem replaces: its client and server in C++, its questions in Python."""
