"""The documentation as a site that needs no network: docs/ into build/site, to be opened from the disk."""
