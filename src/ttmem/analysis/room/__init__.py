"""How much room a recorded run had: full cores, holes, the lowest L1 buffer, room below it, traces, what to ask for."""
