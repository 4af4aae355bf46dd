"""What verbs share: exit codes, which a script learns without reading; flags, requests, the screen."""

DONE = 0
NOTHING_READ = 1
NOT_EQUAL = 1  # a demo measured something else than it expected
BAD_FLAG = 2
NOT_RUNNING = 3  # `serve --status`, as systemctl has it
NOT_ANSWERING = 4  # `serve --status`: one runs, but gives no answer
NOT_MET = 4  # `fit`: too few chips would take it
CROSSED = 5  # `check`: a limit was crossed
NOT_EXECUTABLE = 126
NOT_FOUND = 127
KILLED_BY = 128  # plus the signal's number
INTERRUPTED = 130
