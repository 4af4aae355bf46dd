"""Becomes another user and looks at a directory of journals; prints as JSON what it may and may not read.

Arguments: the directory, and the user's id.
"""

import json
import os
import sys

from ttmem.collector import Collector
from ttmem.sources import Places

directory, uid = sys.argv[1], int(sys.argv[2])
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
collector = Collector(Places(uid=uid, directory=directory))
collector.tick()
collector.tick()
snapshot = collector.snapshot()
answer = {
    "foreign": [[row.path, row.uid] for row in snapshot.foreign],
    "damaged": [[finding.path, finding.text] for finding in snapshot.damaged],
    "processes": [process.path for process in snapshot.processes],
}
print(json.dumps(answer))
