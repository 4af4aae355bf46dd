"""Paths of this checkout without blanks or colons, for those who cannot name others: LD_PRELOAD, lists of words."""

import atexit
import functools
import re
import shutil
import tempfile
from pathlib import Path

from ttmem import _native


@functools.cache
def plain(directory: Path) -> Path:
    """The directory; or a link to it in a directory of our own, if its path has a blank or colon."""
    if not re.search(r"[\s:]", str(directory)):
        return directory
    place = Path(tempfile.mkdtemp(prefix="ttmem-plain-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    (place / "linked").symlink_to(directory)
    return place / "linked"


def library_directory() -> Path:
    """Where the package's libraries are."""
    return plain(Path(_native.__file__).parent / "lib")
