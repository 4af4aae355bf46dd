"""What is published: a description whose links work anywhere, packages from the public index only, and no wheel that
brings what is not ours. That packages are equal wherever they are built is what `.ci/run wheels` tries."""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from scikit_build_core.metadata.fancy_pypi_readme import dynamic_metadata

import ttmem
from tools.packing import pack_again
from tools.wheels import BUILDING, LARGEST, ROOT, VERSIONS, Refused, check, locked

PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
BUILT = {"ttmem/a.py": b"pass", "ttmem/_native.so": b"code", "ttmem-0.1.0.dist-info/WHEEL": b"Tag: linux"}


def archive(path: Path, content: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as opened:
        for name, data in content.items():
            opened.writestr(name, data)
    return path


def checked(place: Path, repaired: Mapping[str, bytes]) -> None:
    check(archive(place / "ttmem-repaired.whl", repaired), archive(place / "ttmem-built.whl", BUILT))


def test_links_of_the_description_are_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    made = dynamic_metadata("readme", {}, {"name": "ttmem", "version": "0"})
    assert isinstance(made, dict)

    links = re.findall(r"\]\(([^)]+)\)", made["text"])

    assert len(links) > 10
    assert [link for link in links if not link.startswith("https://")] == []
    assert "<!--" not in made["text"]


def test_links_of_the_description_lead_to_the_repository() -> None:
    [source] = re.findall(r'^Source = "https://github\.com/(.+)"$', PROJECT, flags=re.MULTILINE)
    replacements = re.findall(r"https://(?:raw\.githubusercontent|github)\.com/([\w-]+/[\w-]+)", PROJECT)

    assert set(replacements) == {source}


def test_the_version_is_the_same_wherever_it_stands() -> None:
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    places = (PROJECT, r'^version = "(.+)"$'), (cmake, r"^project\(ttmem VERSION ([\d.]+)")

    assert {re.findall(pattern, text, flags=re.MULTILINE)[0] for text, pattern in places} == {ttmem.__version__}


def test_a_release_builds_a_wheel_for_every_python_that_is_promised() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    promised = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)

    assert re.findall(r"- run: \./run wheels (.+)", workflow) == [" ".join(VERSIONS)]
    assert promised == list(VERSIONS)


def test_the_lock_file_names_only_the_public_index() -> None:
    addresses = re.findall(r'"(https?://[^/"]+)', (ROOT / "uv.lock").read_text(encoding="utf-8"))

    assert set(addresses) == {"https://pypi.org", "https://files.pythonhosted.org"}


@pytest.mark.parametrize("name", BUILDING)
def test_what_builds_a_wheel_is_locked(name: str) -> None:
    assert re.fullmatch(r"\d[\w.]+", locked(name))


def test_a_wheel_that_differs_only_in_its_platform_is_taken(tmp_path: Path) -> None:
    directories = {"ttmem/": b"", "ttmem-0.1.0.dist-info/WHEEL": b"Tag: manylinux_2_34_x86_64"}

    checked(tmp_path, BUILT | directories)


def test_a_wheel_has_its_files_only_and_they_are_compressed(tmp_path: Path) -> None:
    text = b"so long " * 1000
    wheel = archive(
        tmp_path / "ttmem-made.whl", {"ttmem/": b"", "ttmem/a.py": text, "ttmem-0.1.0.dist-info/RECORD": b"a"}
    )

    pack_again(wheel)

    with zipfile.ZipFile(wheel) as packed:
        assert [entry.filename for entry in packed.infolist()] == ["ttmem/a.py", "ttmem-0.1.0.dist-info/RECORD"]
        assert packed.read("ttmem/a.py") == text
        assert packed.getinfo("ttmem/a.py").compress_size < 100
    assert list(tmp_path.iterdir()) == [wheel]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"ttmem.libs/libstdc++-1234.so.6": b"code"}, r"auditwheel changed ttmem\.libs/libstdc"),
        ({"ttmem/_native.so": b"other code"}, r"auditwheel changed ttmem/_native\.so"),
    ],
)
def test_a_wheel_with_libraries_of_others_is_refused(changed: dict[str, bytes], why: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=why):
        checked(tmp_path, BUILT | changed)


def test_a_wheel_that_names_a_directory_of_this_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BUILT, "ttmem/_native.so", f"{ROOT}/native/src/a.cpp".encode())

    with pytest.raises(Refused, match=r"name directories of this machine: ttmem/_native\.so"):
        checked(tmp_path, BUILT)


def test_a_wheel_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT, "ttmem/_native.so", bytes(LARGEST))

    with pytest.raises(Refused, match=r"bytes, more than 1,500,000"):
        checked(tmp_path, BUILT)
