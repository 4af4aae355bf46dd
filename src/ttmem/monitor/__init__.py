"""The live monitor: a face for terminals, drawn from sights and nothing else."""
