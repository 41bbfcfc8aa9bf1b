"""Which files count for a target, and what happens when they change under a process."""

import importlib
import json
import re
import sys

import pytest

from ablations.sources import Sources, StaleSource, look_first, version_of
from registry import PluginRecord, Provenance, discover
from tests.registry.local import write


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
    return Sources({TARGET: Provenance(distribution=distribution, version="")}).of(TARGET)


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


def local(folder, target="mine:Norm"):
    """The digest of a target that the plugin `mine` of that folder registers."""
    provenance = Provenance(distribution="mine", version="", home=str(folder))
    return Sources({target: provenance}).of(target)


def test_of_a_plugin_that_is_not_installed_its_own_folder_counts_as_far_as_it_imports(folder):
    (folder / "mine.py").write_text("from helper import SCALE\n")
    (folder / "helper.py").write_text("SCALE = 1\n")
    (folder / "other.py").write_text("SCALE = 1\n")
    before = local(folder)
    (folder / "other.py").write_text("SCALE = 2\n")
    assert local(folder) == before
    (folder / "helper.py").write_text("SCALE = 2\n")
    edited = local(folder)
    assert edited != before
    (folder / "mine.py").write_text("from helper import SCALE  # once more\n")
    assert local(folder) not in (before, edited)


def test_what_registers_a_class_of_another_module_counts_as_well(folder):
    (folder / "mine.py").write_text("EPS = 1\n")
    (folder / "parts.py").write_text("class Norm: ...\n")
    before = local(folder, "parts:Norm")
    (folder / "parts.py").write_text("class Norm: eps = 1\n")
    edited = local(folder, "parts:Norm")
    (folder / "mine.py").write_text("EPS = 2\n")
    assert len({before, edited, local(folder, "parts:Norm")}) == 3
    # A class of an installed package counts with its package, as everywhere.
    (folder / "mine.py").write_text("EPS = 1\n")
    assert local(folder, "pluggy:HookCaller") != local(folder, "json:JSONDecoder")


def test_where_a_plugin_lies_does_not_count(folder):
    digests = set()
    for place in ("here", "there"):
        (folder / place).mkdir()
        (folder / place / "mine.py").write_text("class Norm: ...\n")
        digests.add(local(folder / place))
        sys.path.remove(str(folder / place))
    assert len(digests) == 1


def test_an_installed_distribution_of_the_name_does_not_count(folder, project):
    install(project, editable=False)
    (folder / "stranger.py").write_text("class Norm: ...\n")
    provenance = Provenance(distribution="stranger", version="", home=str(folder))

    def digest_of_it():
        return Sources({"stranger:Norm": provenance}).of("stranger:Norm")

    before = digest_of_it()
    (project / "kernels_of_a_stranger" / "deep" / "er.py").write_text("SCALE = 2\n")
    assert digest_of_it() == before


def test_an_edited_helper_is_refused_once_it_was_looked_at(folder):
    write(folder / "mine.py", more="import helper\n")
    (folder / "helper.py").write_text("SCALE = 1\n")
    catalog = discover([], plugins=["mine.py"])
    look_first(catalog)
    (folder / "helper.py").write_text("SCALE = 2\n")
    with pytest.raises(StaleSource, match=r"^the files of 'mine' were edited after this process"):
        look_first(catalog)


def test_the_version_of_a_plugin_that_is_not_packaged_names_its_source(folder):
    write(folder / "mine.py", more="__version__ = '3'\n")
    (record,) = discover([], plugins=["mine.py"]).plugins
    before = version_of(record)
    assert re.fullmatch(r"3, not packaged, source [0-9a-f]{12}", before)
    write(folder / "mine.py", more="__version__ = '3' \n")
    assert version_of(record) != before
    packaged = PluginRecord(name="x:y", version="2", state="loaded")
    assert version_of(packaged) == "2"
