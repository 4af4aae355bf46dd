"""One process that knows all figures of a machine, hears the seeds' programs on their socket, and answers over HTTP."""
