"""Exit codes: what a script learns without reading."""

DONE = 0
NOTHING_READ = 1
NOT_EQUAL = 1  # a demo measured something else than it expected
NOT_EXECUTABLE = 126
NOT_FOUND = 127
KILLED_BY = 128  # plus the signal's number
INTERRUPTED = 130
