"""Chips as the overview draws them: their figures, cards, and rows."""
