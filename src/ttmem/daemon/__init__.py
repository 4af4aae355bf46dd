"""One process that knows all figures of a machine, serves the allocation server's socket, and answers over HTTP."""
