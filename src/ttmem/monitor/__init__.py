"""The live monitor: a face for terminals, drawn from the figures of a `FigureQueries` and nothing else."""
