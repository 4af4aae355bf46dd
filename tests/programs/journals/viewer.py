"""Looks at a directory of journals for each line of stdin; prints pid, state, reason and bytes of processes as JSON.

Argument: the directory.
"""

import json
import os
import sys

from ttmem._native import testing
from ttmem.collector import Collector
from ttmem.sources import Places

collector = Collector(Places(uid=os.geteuid(), directory=sys.argv[1]))
for _ in sys.stdin:
    collector.wait_settled()
    rows = testing.flat_rows(collector.ledger)
    used = {row[0]: row[3] for row in rows["process_pools"]}
    found = [[row["pid"], row["state"], row["reason"], used.get(row["key"], 0)] for row in rows["processes"]]
    print(json.dumps(found), flush=True)
