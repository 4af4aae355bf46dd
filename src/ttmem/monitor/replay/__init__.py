"""The monitor on a recording: its figures, its keys, and the line that says where one is."""
