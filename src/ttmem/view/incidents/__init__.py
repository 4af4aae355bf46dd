"""Incidents as people read them: the short block of `ttmem run`, and the whole story of `ttmem explain`."""
