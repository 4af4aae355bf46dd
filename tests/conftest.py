"""What holds for every test: a time limit, a random order, and journals of its own.

Tests run in an order drawn from a seed that the header prints; `--order-seed` repeats it. A test that takes more than
10 s on a quiet machine is marked `slow`; the limits at which one is stopped are longer, since machines are shared. No
test sees the journals or the settings of whoever runs it.
"""

import gc
import os
import random
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.processes.preloads import library_directory
from tests.support.timing.watchdog import Watchdog
from ttmem.doctor.hook import hook_path

SLOW_SECONDS = 900
SEED = pytest.StashKey[int]()
JOURNALS = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order-seed", type=int, default=None, help="repeat the order of an earlier run")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[SEED] = _order_seed(config)
    _heed_interrupts()
    config.stash[JOURNALS] = _private_journals()
    config.pluginmanager.register(Watchdog())
    _give_examples_time()
    gc.disable()  # until all tests are collected: none of them goes away


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[JOURNALS], ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hands the seed to each parallel worker: all of them must collect in one order."""
    node.workerinput["order_seed"] = node.config.stash[SEED]


def pytest_report_header(config: pytest.Config) -> str:
    return f"random order: --order-seed={config.stash[SEED]}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _shuffle(items, config.stash[SEED])
    for item in items:
        is_long = item.get_closest_marker("slow") or item.get_closest_marker("ttnn")
        if is_long and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()  # thousands of tests would be looked through at every collection


def _order_seed(config: pytest.Config) -> int:
    from_controller = getattr(config, "workerinput", {}).get("order_seed")
    asked_for = config.getoption("--order-seed")
    for seed in (from_controller, asked_for):
        if seed is not None:
            return int(seed)
    return random.SystemRandom().randrange(1_000_000)


def _heed_interrupts() -> None:
    """Started in the background, we ignore Ctrl-C, under nohup hang-ups; and so would every program a test starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda number, frame: None)  # still ignored here, but heeded by what we start


def _give_examples_time() -> None:
    """An example that takes long says something about the machine; one that hangs is stopped with its test."""
    patient = settings(deadline=None, suppress_health_check=[*settings().suppress_health_check, HealthCheck.too_slow])
    settings.register_profile("patient", patient)
    settings.load_profile("patient")


def _private_journals() -> Path:
    for name in [name for name in os.environ if name.startswith("TTMEM") or name == "TT_ALLOC_TRACKING_ENABLED"]:
        del os.environ[name]
    directory = Path(tempfile.mkdtemp(prefix="ttmem-tests-"))
    os.environ["TTMEM_DIR"] = str(directory)
    os.environ["TTMEM_SYSTEM_DIR"] = str(directory / "system")  # a daemon of this machine is none of ours
    os.environ["TTMEM_STOCK_SHM_DIR"] = str(directory / "stock")  # nor are programs that use its chips
    hook = library_directory() / "libttmem_hook.so"
    if hook_path({}) != str(hook):  # this checkout's path has a blank, which LD_PRELOAD cannot name
        os.environ["TTMEM_HOOK"] = str(hook)
    return directory


def _shuffle(items: list[pytest.Item], seed: int) -> None:
    """Shuffles files, and the tests within each: neighbours change, a module's shared fixtures are made once."""
    rng = random.Random(seed)
    by_file: dict[Path, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    files = sorted(by_file.values(), key=lambda tests: tests[0].nodeid)
    rng.shuffle(files)
    for tests in files:
        rng.shuffle(tests)
    items[:] = [item for tests in files for item in tests]
