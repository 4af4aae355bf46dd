"""The hot calls: the native functions themselves, wherever they are reached from."""

import importlib.metadata

import ttmem
from ttmem import _native
from ttmem.client import reports


def test_every_report_is_the_native_function_itself() -> None:
    names = [name for name in dir(_native.client) if name.startswith("report_")]

    assert sorted(reports.REPORTS) == sorted(names)
    for name in names:
        native = getattr(_native.client, name)
        assert getattr(ttmem, name) is native
        assert ttmem.Client.__dict__.get(name, getattr(ttmem.Client, name)) is native


def test_a_client_does_not_bind_them() -> None:
    client = ttmem.Client()

    assert client.report_launch is _native.client.report_launch


def test_the_front_door_shows_what_it_promises() -> None:
    assert set(ttmem.__all__) <= set(dir(ttmem))
    assert all(getattr(ttmem, name) is not None for name in ttmem.__all__)


def test_the_version_is_that_of_the_package() -> None:
    assert ttmem.__version__ == importlib.metadata.version("ttmem")
