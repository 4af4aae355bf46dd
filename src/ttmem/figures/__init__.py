"""Where every face gets its figures: from a daemon if one answers, else from a collector of its own."""

from ttmem.figures.daemon_client import SOCKET_NAME, DaemonClient
from ttmem.figures.source import FigureSource, daemon_directories

__all__ = ["SOCKET_NAME", "DaemonClient", "FigureSource", "daemon_directories"]
