"""What follows from a snapshot for a script: which chips would take more, and which are fuller than they may be."""
