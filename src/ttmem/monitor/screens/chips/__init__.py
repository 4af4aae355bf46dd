"""Chips side by side: what is told of each, as cards, as pairs of bars or as single lines, and which of them fits."""
