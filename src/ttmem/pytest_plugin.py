"""The plugin of pytest: `--ttmem`, its other options and its markers.

It is loaded in every run of pytest and does nothing unasked: what measures is in `ttmem.budgets`, loaded when an option
or `ttmem = true` in the settings asks for it. Older versions of pytest must be able to load it.
PYTEST_DONT_REWRITE: assertions here are not those of tests.
"""

import os
from importlib import import_module

import pytest

__all__ = ["pytest_addoption", "pytest_configure", "pytest_load_initial_conftests"]

_LIMIT = "limit_device_memory(dram=None, l1=None, l1_small=None, trace=None, l1_per_core=None)"
_RING_SLOTS = "65536"  # of each journal: a test may report faster than it is followed
_MARKERS = (
    f"{_LIMIT}: with --ttmem fail a test whose processes hold more on any chip, as in dram='2GiB'",
    "no_device_leaks(warmups=1): with --ttmem fail a test that leaves memory behind, run again after N warm-ups",
)


def pytest_addoption(parser: "pytest.Parser") -> None:
    group = parser.getgroup("ttmem", "device memory (ttmem)")
    group.addoption("--ttmem", action="store_true", help="measure the device memory of each test, and heed its limits")
    group.addoption(
        "--ttmem-limit",
        action="append",
        default=[],
        metavar="POOL=SIZE",
        help="limit of all tests without one of their own: dram=2GiB, l1, l1_small, trace or l1_per_core",
    )
    group.addoption(
        "--ttmem-baseline", metavar="FILE", help="compare with what tests held then; write it if it is not there"
    )
    group.addoption("--ttmem-update-baseline", action="store_true", help="write the baseline again")
    group.addoption(
        "--ttmem-fail-on-increase",
        metavar="AMOUNT",
        help="fail a test that holds more than in the baseline: 1%%, 64MiB",
    )
    parser.addini("ttmem", "measure device memory, as --ttmem", type="bool", default=False)
    parser.addini("ttmem_limits", "limits of all tests, as --ttmem-limit: dram=2GiB", type="linelist", default=[])
    parser.addini("ttmem_baseline", "as --ttmem-baseline, from the root directory", default="")
    parser.addini("ttmem_fail_on_increase", "as --ttmem-fail-on-increase", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: "pytest.Config") -> None:
    """Before anything of the tests is loaded: what reports finds tracking on."""
    if _is_asked(early_config):
        mark = os.urandom(8).hex()
        marks = [one for one in os.environ.get("TTMEM_RUN", "").split(",") if one]
        os.environ["TTMEM_RUN"] = ",".join([*marks[-7:], mark])
        os.environ["TTMEM_SITES"] = os.environ.get("TTMEM_SITES") or "1"
        os.environ["TTMEM_RING"] = os.environ.get("TTMEM_RING") or _RING_SLOTS
        os.environ["TTMEM"] = os.environ.get("TTMEM") or "1"


def pytest_configure(config: "pytest.Config") -> None:
    for text in _MARKERS:
        config.addinivalue_line("markers", text)
    if _is_asked(config):
        session = import_module("ttmem.budgets.session")
        config.pluginmanager.register(session.MeasuredSession(config), "ttmem-session")


def _is_asked(config: "pytest.Config") -> bool:
    options = config.known_args_namespace
    asked = ("ttmem", "ttmem_limit", "ttmem_baseline", "ttmem_update_baseline", "ttmem_fail_on_increase")
    return any(getattr(options, name, None) for name in asked) or bool(config.getini("ttmem"))
