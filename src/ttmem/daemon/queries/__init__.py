"""The HTTP side of the daemon: connections, routes, answers. Nothing here imports the daemon that owns it."""
