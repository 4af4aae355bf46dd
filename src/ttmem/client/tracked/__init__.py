"""What a `GraphTracker` remembers of each device: its target, kernels, circular buffers and programs."""
