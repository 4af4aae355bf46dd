"""What a monitor looks at: all of it at a glance, and one chip, program table, process or stretch of time close up.

Each is small enough to be made anew every second. The overview is a snapshot with the processes summed over their
chips; the close-ups are made only while somebody looks at them.
"""
