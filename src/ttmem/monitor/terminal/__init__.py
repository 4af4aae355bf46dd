"""The monitor on a terminal: the toolkit, the one widget, its colours, and the terminal as it was before."""
