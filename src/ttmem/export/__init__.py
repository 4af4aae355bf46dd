"""Recordings in formats of other programs: Perfetto, speedscope, Parquet, CSV."""
