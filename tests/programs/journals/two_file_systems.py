"""A journal on one file system; the process that its header names maps the file of the same number on another.

Arguments: a directory to mount them in, and a journal to copy. Prints what came of it as JSON.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.journals.forgeries import VICTIM_UID, name_in, somebody
from tests.support.journals.watching import Watch

place, content = sys.argv[1:]
folders = [Path(place, name) for name in ("mapped", "journals")]
for folder in folders:
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], capture_output=True).returncode:
        sys.exit("NOT TESTED: no file system can be mounted here")
files = [folder / "1.journal" for folder in folders]
for file in files:
    file.write_bytes(Path(content).read_bytes())
    os.chmod(file, 0o600)
    os.chown(file, VICTIM_UID, VICTIM_UID)
facts = [os.stat(file) for file in files]
with somebody(VICTIM_UID, f"map:{files[0]}") as process, Watch(folders[1]) as watch:
    name_in(files[1], process.pid)
    rows = watch.come_to_rest()["processes"]
answer = {
    "same_inode": facts[0].st_ino == facts[1].st_ino,
    "other_device": facts[0].st_dev != facts[1].st_dev,
    "states": [row["state"] for row in rows],
}
print(json.dumps(answer))
