"""How programs reach the cores: the kernel ring, the caches on the way, traces, and the fast and the slow path."""
