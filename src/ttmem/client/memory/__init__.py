"""What this process holds on its devices, asked from within: the functions that torch users know.

They read the process's own journal where it is mapped, so they cost about a microsecond and need no daemon. With
tracking off they answer 0 or nothing, and never raise for it.
"""
