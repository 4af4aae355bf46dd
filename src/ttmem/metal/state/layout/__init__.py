"""Who lies where in a circular piece of memory: launch by launch, or for a whole trace at once."""
