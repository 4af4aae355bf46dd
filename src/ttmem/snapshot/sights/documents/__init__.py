"""Sights as JSON-able documents, and back: what a daemon answers and a viewer reads."""
