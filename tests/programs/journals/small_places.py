"""Starts reporting programs in a mount namespace of its own, where /dev/shm and /run/user have the sizes asked for.

Reads what to do as JSON; prints where the journals are, what the programs said and what two viewers find, as JSON.
"""

import json
import os
import subprocess
import sys

from ttmem.sources import Journals, Places

asked = json.load(sys.stdin)
uid = asked["uid"]


def is_here(path: str) -> bool:
    """Root also sees what is in other mount namespaces: other tests run at the same time."""
    return not path.startswith("/proc/")


def run() -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [asked["program"]], env=asked["environ"], user=uid, group=uid, extra_groups=[], capture_output=True, text=True
    )


for place, size in asked["sizes"].items():
    os.makedirs(place, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", place], check=True)
for path, owner, kind in asked["made"]:
    if kind == "directory":
        os.mkdir(path, 0o700)
    else:
        os.symlink("/", path)
    os.chown(path, owner, owner, follow_symlinks=False)
runs = [run() for _ in range(asked["times"])]
paths = [one.stdout for one in runs]
views = [Journals(Places.from_environment({}, uid=viewer)) for viewer in (uid, 0)]
answer = {
    "codes": [one.returncode for one in runs],
    "paths": paths,
    "said": [one.stderr for one in runs],
    "kept": sorted(path for path in paths if os.path.exists(path)),
    "seen": [sorted(found.path for found in view.scan() if is_here(found.path)) for view in views],
    "findings": [(one.name, one.path, one.text) for one in views[0].findings if is_here(one.path)],
}
print(json.dumps(answer))
