"""Whole pages: what a command prints, top to bottom, made of tables and sentences."""
