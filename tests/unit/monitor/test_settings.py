"""Settings: flag before environment before file before default; what is broken is said once and changes nothing."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem.monitor.options import Options
from ttmem.monitor.settings import INTERVALS, LAYOUTS, THEMES, VIEWS, Settings, load, save, settings_path

SETTINGS = st.builds(
    Settings,
    view=st.sampled_from(VIEWS),
    layout=st.sampled_from(LAYOUTS),
    theme=st.sampled_from(THEMES),
    ascii=st.booleans(),
    interval=st.floats(INTERVALS[0], INTERVALS[-1]),
    sort=st.sampled_from(["memory", "l1", "pid"]),
    tree=st.booleans(),
    limit=st.sampled_from([0, 1, 80, 100]),
)


def written(tmp_path: Path, text: str) -> dict[str, str]:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    path = settings_path(environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return environ


@given(SETTINGS)
def test_what_is_saved_is_found_again(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path_factory.mktemp("config"))}

    save(settings, environ)

    assert load(environ) == (settings, [])


def test_without_a_file_there_are_defaults_and_nothing_is_said(tmp_path: Path) -> None:
    assert load({"XDG_CONFIG_HOME": str(tmp_path)}) == (Settings(), [])


def test_the_file_lies_where_others_keep_theirs() -> None:
    assert settings_path({"HOME": "/users/ada"}) == Path("/users/ada/.config/ttmem/monitor.json")
    assert settings_path({"HOME": "/users/ada", "XDG_CONFIG_HOME": "relative"}).is_relative_to("/users/ada")
    assert settings_path({"HOME": "/users/ada", "XDG_CONFIG_HOME": "/etc/ada"}) == Path("/etc/ada/ttmem/monitor.json")


def test_a_flag_goes_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    environ = written(tmp_path, json.dumps({"theme": "light", "interval": 5, "layout": "full"}))
    environ |= {"TTMEM_MONITOR_INTERVAL": "2", "TTMEM_MONITOR_LAYOUT": "compact", "TTMEM_MONITOR_ASCII": "yes"}

    settings = Options(layout="auto").over(load(environ)[0])

    assert (settings.theme, settings.interval, settings.layout, settings.ascii) == ("light", 2.0, "auto", True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[1]", "holds no settings"),
        ('{"theme": "pink", "interval": -1}', "theme: expected dark, light; found 'pink'"),
        ('{"interval": NaN}', "interval: expected 0.1 to 60 seconds"),
        ('{"interval": true}', "interval: expected 0.1 to 60 seconds"),
        ('{"sort": 3}', "sort: expected a column"),
        ('{"tree": "perhaps"}', "tree: expected true or false"),
    ],
)
def test_a_broken_file_is_one_notice(tmp_path: Path, text: str, words: str) -> None:
    settings, notices = load(written(tmp_path, text))

    assert settings == Settings()
    assert len(notices) == 1
    assert words in notices[0]
    assert "monitor.json" in notices[0]


def test_what_is_right_in_a_file_is_used_beside_what_is_wrong(tmp_path: Path) -> None:
    settings, notices = load(written(tmp_path, '{"theme": "light", "layout": 7, "ascii": 7, "later": "unknown"}'))

    assert settings == Settings(theme="light")
    assert len(notices) == 1


def test_a_file_that_may_not_be_read_is_a_notice(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    settings_path(environ).mkdir(parents=True)

    assert load(environ) == (Settings(), [f"{settings_path(environ)} cannot be read: Is a directory"])


def test_an_environment_that_makes_no_sense_is_a_notice() -> None:
    settings, notices = load({"HOME": "/nowhere", "TTMEM_MONITOR_THEME": "pink", "TTMEM_MONITOR_TREE": "1"})

    assert settings == Settings(tree=True)
    assert notices == ["TTMEM_MONITOR_THEME: expected dark, light; found 'pink'"]


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "ttmem").write_text("a file where a directory should be")

    with pytest.raises(OSError, match="exists"):
        save(Settings(), {"XDG_CONFIG_HOME": str(tmp_path)})
    assert [path.name for path in tmp_path.iterdir()] == ["ttmem"]


def test_a_limit_comes_from_flag_environment_and_file_and_a_bad_one_is_said_and_passed_over(tmp_path: Path) -> None:
    environ = written(tmp_path, json.dumps({"limit": 80}))
    bad = written(tmp_path / "bad", json.dumps({"limit": 180}))

    assert load(environ)[0].limit == 80
    assert load(environ | {"TTMEM_MONITOR_LIMIT": "70"})[0].limit == 70
    assert Options(limit=60).over(load(environ)[0]).limit == 60
    settings, [notice] = load(bad)
    assert settings.limit == 0
    assert "limit: expected a percentage from 1 to 100, or 0 for none; found 180" in notice
