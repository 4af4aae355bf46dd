"""The preload library: where it lies, and how it gets into a program's environment ahead of all others."""

import os
from collections.abc import Mapping

import ttmem

__all__ = ["hook_path", "preloading", "unhooked"]

_NAME = "libttmem_hook.so"
_PRELOAD, _ASAN = "LD_PRELOAD", "ASAN_OPTIONS"
_LINK_ORDER = "verify_asan_link_order"


def hook_path(environ: Mapping[str, str]) -> str | None:
    """$TTMEM_HOOK, else the file that was installed with this package; None if it is not there."""
    asked = environ.get("TTMEM_HOOK")
    candidates = [asked] if asked else [os.path.join(place, "lib", _NAME) for place in ttmem.__path__]
    return next((os.path.abspath(path) for path in candidates if os.path.isfile(path)), None)


def preloading(environ: Mapping[str, str], path: str) -> dict[str, str]:
    """The variables with which a program loads the hook before everything else, and keeps what it preloads already.

    A program built with AddressSanitizer refuses to start behind any preloaded library. One that is started somewhere
    down the line cannot be recognised from here, so its sanitizer is set not to mind, unless the user set that.
    """
    others = _others(environ, path)
    options = environ.get(_ASAN, "")
    changed = {_PRELOAD: ":".join([path, *others])}
    if _LINK_ORDER not in options:
        changed[_ASAN] = ":".join(filter(None, [options, f"{_LINK_ORDER}=0"]))
    return changed


def unhooked(environ: Mapping[str, str], path: str) -> dict[str, str]:
    """An environment without the hook, which is there already below another `ttmem run`."""
    others = _others(environ, path)
    rest = {name: value for name, value in environ.items() if name != _PRELOAD}
    return {**rest, _PRELOAD: ":".join(others)} if others else rest


def _others(environ: Mapping[str, str], path: str) -> list[str]:
    return [name for name in environ.get(_PRELOAD, "").replace(":", " ").split() if name != path]
