"""The file that an export makes: whole under its name, or not there."""

import os
from pathlib import Path
from types import TracebackType

from ttmem.errors import CannotExport, NameTaken

__all__ = ["Output"]


class Output:
    """A file that is written under a name of its own and gets its real one at the end. With an error it is removed.

    What cannot be written, or is there already and may not be replaced, is a CannotExport.
    """

    def __init__(self, path: Path, *, is_forced: bool) -> None:
        self.path = path
        self.size_bytes = 0
        if path.is_dir():
            raise NameTaken(f"{path} is a directory; give a file to write into")
        if path.exists() and not is_forced:
            raise NameTaken(f"{path} is there already; --force replaces it")
        self.fresh = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            self._file = self.fresh.open("wb", buffering=1 << 20)
        except OSError as error:
            raise CannotExport(f"{path}: {error.strerror}; give a place to write to") from None

    def write(self, content: bytes) -> None:
        """More of it."""
        try:
            self._file.write(content)
        except OSError as error:
            raise CannotExport(f"{self.path}: {error.strerror}") from None

    def __enter__(self) -> "Output":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
            if error is None:
                self.size_bytes = self.fresh.stat().st_size
                self.fresh.replace(self.path)
        except OSError as trouble:
            raise CannotExport(f"{self.path}: {trouble.strerror}") from None
        finally:
            self.fresh.unlink(missing_ok=True)
