"""A shell with one job, at a terminal:

    python tests/programs/processes/job_shell.py COUNT PYTHON-ARGUMENTS...

When the job is stopped it is sent to the background COUNT times, where it may not have the terminal, and then brought
back; this one ends as the job does.
"""

import os
import signal
import sys
import time

signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
os.waitpid(job, os.WUNTRACED)
os.tcsetpgrp(0, os.getpgrp())
for _ in range(int(sys.argv[1])):
    os.kill(job, signal.SIGCONT)
    os.waitpid(job, os.WUNTRACED)
    time.sleep(0.1)
os.tcsetpgrp(0, job)
os.kill(job, signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))
