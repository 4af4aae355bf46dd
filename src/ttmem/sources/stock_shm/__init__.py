"""The stock runtime's own counters: one shared-memory file per chip, read and never written."""
