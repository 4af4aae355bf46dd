"""The asking side: how viewers get their figures, from a daemon or without one."""
