"""Which files count for a target, and what happens when they change under a process."""

import importlib
import json
import sys

import pytest

from ablations.sources import Sources, StaleSource


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A stranger's project with two packages and a folder of tests; returns its folder."""
    for name in ("kernels_of_a_stranger", "parts_of_a_stranger", "tests"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("")
        (tmp_path / name / "deep" / "er.py").write_text("SCALE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path
    for name in [name for name in sys.modules if "of_a_stranger" in name]:
        del sys.modules[name]


def install(project, *, editable):
    """The metadata that pip leaves of it."""
    info = project / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    files = [] if editable else sorted(project.glob("*_stranger/**/*.py"))
    record = [f"{file.relative_to(project)},," for file in files]
    (info / "RECORD").write_text("\n".join([*record, "stranger-1.0.dist-info/METADATA,,"]))
    if editable:
        url = {"url": project.as_uri(), "dir_info": {"editable": True}}
        (info / "direct_url.json").write_text(json.dumps(url))


TARGET = "parts_of_a_stranger.deep.er:Part"


def digest(distribution=""):
    return Sources({TARGET: distribution}).of(TARGET)


def test_every_file_of_the_package_counts(project):
    before = digest()
    assert digest() == before
    (project / "parts_of_a_stranger" / "deep" / "er.py").write_text("SCALE = 2\n")
    edited = digest()
    assert edited != before
    deep = project / "parts_of_a_stranger" / "deep"
    deep.rename(deep.with_name("moved"))
    assert digest() not in (before, edited)


@pytest.mark.parametrize("editable", [False, True], ids=["installed", "editable"])
def test_the_other_packages_of_the_distribution_count(project, editable):
    install(project, editable=editable)
    before = digest("stranger")
    (project / "tests" / "deep" / "er.py").write_text("SCALE = 2\n")
    assert digest("stranger") == before
    (project / "kernels_of_a_stranger" / "deep" / "er.py").write_text("SCALE = 2\n")
    assert digest("stranger") != before


def test_a_distribution_that_is_gone_counts_as_its_package(project):
    assert digest("never-there") == digest()


def test_of_this_package_the_targets_own_file_counts():
    sources = Sources({})
    assert sources.of("ablations.streams:stream") != sources.of("ablations.trial:Trial")
    assert sources.of("components.norms:LayerNorm") == sources.of("components.attention:Attention")


def test_an_edit_after_the_import_is_refused(project):
    importlib.import_module("parts_of_a_stranger.deep.er")
    before = digest()
    file = project / "parts_of_a_stranger" / "deep" / "er.py"
    file.write_text("SCALE = 2\n")
    with pytest.raises(StaleSource) as caught:
        digest()
    assert str(caught.value) == (
        "the files of 'parts_of_a_stranger' were edited after this process imported them; start "
        "Python anew, or the old code would be measured under the new one's name"
    )
    file.write_text("SCALE = 1\n")
    assert digest() == before
