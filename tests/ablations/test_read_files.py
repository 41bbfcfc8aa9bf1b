"""Files that measures read: each once, by content, and what is said of one that cannot be read."""

import hashlib
import io
import re
from pathlib import Path

import pytest

from ablations.read_files import ReadFiles, UnreadableFile
from registry import RegistryError
from registry.spec import Choice


class Silent:
    """A measure that reads nothing."""

    def __init__(self) -> None:
        raise AssertionError("no need to build it")


class Reading:
    def __init__(self, *, paths: list[str]) -> None:
        self.paths = paths

    def files(self):
        return [Path(path) for path in self.paths]


class Lone(Reading):
    def files(self):
        return self.paths[0]


class Broken(Reading):
    def files(self):
        raise KeyError("corpus")


def measure(cls, **options):
    return Choice(name="reading", target=f"{__name__}:{cls.__name__}", options=options)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_files_are_told_by_their_content_in_their_order(tmp_path):
    one, two, copy = tmp_path / "one", tmp_path / "two", tmp_path / "copy"
    for path, text in ((one, "a"), (two, "b"), (copy, "a")):
        path.write_text(text)
    found = ReadFiles().of(measure(Reading, paths=[str(two), str(one)]))
    assert found == [sha256("b"), sha256("a")]
    assert ReadFiles().of(measure(Reading, paths=[str(copy)])) == [sha256("a")]


def test_a_measure_that_offers_none_is_not_even_built():
    assert ReadFiles().of(measure(Silent)) == []


def test_a_file_is_read_once_a_run(tmp_path, monkeypatch):
    text = tmp_path / "text"
    text.write_text("a")
    opened = []
    real = io.open

    def counted(path, *arguments, **options):
        opened.append(str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(io, "open", counted)
    files = ReadFiles()
    choice = measure(Reading, paths=[str(text)])
    assert {tuple(files.of(choice)) for _ in range(1000)} == {(sha256("a"),)}
    assert opened.count(str(text)) == 1
    text.write_text("b")
    assert files.of(choice) == [sha256("a")]
    assert ReadFiles().of(choice) == [sha256("b")]


@pytest.mark.parametrize(
    ("cls", "path", "message"),
    [
        (
            Reading,
            "absent.txt",
            "measure 'reading' reads absent.txt, which cannot be read: No such file or directory",
        ),
        (Reading, ".", "measure 'reading' reads ., which cannot be read: Is a directory"),
        (
            Lone,
            "a.txt",
            "measure 'reading' does not tell which files it reads: TypeError: files() returns a "
            "list of paths, not 'a.txt' alone",
        ),
        (
            Broken,
            "a.txt",
            "measure 'reading' does not tell which files it reads: KeyError: 'corpus'",
        ),
    ],
)
def test_what_cannot_be_read_is_told_in_a_line(cls, path, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableFile, match=f"^{re.escape(message)}$") as caught:
        ReadFiles().of(measure(cls, paths=[path]))
    assert isinstance(caught.value, RegistryError)
