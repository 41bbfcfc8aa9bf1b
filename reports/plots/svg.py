"""Figures as small SVG: what matplotlib writes, without what nobody sees.

Digits below a hundredth of a point, names that nothing refers to, groups of nothing, and the same
looks spelt out at every mark make up most of what it writes.
"""

import re
from collections.abc import Mapping
from string import ascii_lowercase
from xml.etree import ElementTree as ET

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"

_REFERRED = re.compile(r"#([^)]+)")
_ACROSS = re.compile(r"translate\((\S+) 0\)")
_PLACED = re.compile(r"translate\((\S+) (\S+)\) ?")
_LETTER = "scale(0.015625)"  # of the paths of letters, which are whole numbers
_COARSER = 16  # of which no letter is ever drawn so large that it would be seen
_PATH = re.compile(r"[A-Za-z]|[^\sA-Za-z]+")
_KEPT = ("x", "y", "width", "height", "transform", "preserveAspectRatio")
_DIGITS = 2
_GLYPH_DIGITS = 1  # of hundredths of the size of its text


def compact(svg: str) -> str:
    """The same figure in a third of the bytes or less.

    Args:
        svg: What `matplotlib.backends.backend_svg` wrote.
    """
    return _Compact(ET.fromstring(svg)).written()  # noqa: S314 - it was written by us


class _Compact:
    """A document on its way; definitions and looks are collected as they are met."""

    def __init__(self, root: ET.Element) -> None:
        self._root = root
        self._names: dict[str, str] = {}
        self._looks: dict[str, str] = {}
        self._rules: list[str] = []
        self._defined: list[str] = []
        self._empty = {
            e.attrib["id"]
            for e in root.iter(f"{{{SVG}}}path")
            if "id" in e.attrib and not e.attrib.get("d", "").strip()
        }  # such as a space

    def written(self) -> str:
        of = self._root.attrib
        drawn = "".join(map(self._element, self._root))
        size = f'width="{of["width"]}" height="{of["height"]}" viewBox="{of["viewBox"]}"'
        style = "".join([*self._rules, *(f".{n}{{{s}}}" for s, n in self._looks.items())])
        defined = f"<defs><style>{style}</style>{''.join(self._defined)}</defs>"
        return f'<svg xmlns="{SVG}" {size}>{defined}{drawn}</svg>'

    def _element(self, element: ET.Element) -> str:
        tag = element.tag.removeprefix(f"{{{SVG}}}")
        if tag == "metadata":
            return ""
        if tag == "style":
            self._rules.append(_look(element.text or ""))
            return ""
        if tag == "defs":
            self._defined += map(self._element, element)
            return ""
        target = element.attrib.get(f"{{{XLINK}}}href", "").removeprefix("#")
        if {target, element.attrib.get("id")} & self._empty:
            return ""
        told = self._told(tag, element.attrib)
        inside = "".join(map(self._element, element))
        if tag == "g":
            return f"<g{told}>{inside}</g>" if told and inside else inside
        return f"<{tag}{told}>{inside}</{tag}>" if inside else f"<{tag}{told}/>"

    def _told(self, tag: str, of: Mapping[str, str]) -> str:
        """The attributes."""
        told: dict[str, str] = {}
        if tag not in ("g", "image") and "id" in of:
            told["id"] = self._name(of["id"])
        target = of.get(f"{{{XLINK}}}href", "")
        if target:
            told["href"] = f"#{self._name(target[1:])}" if target[0] == "#" else target
        told |= {name: of[name] for name in _KEPT if name in of}
        across = _ACROSS.fullmatch(told.get("transform", "")) if tag == "use" else None
        if across:  # a letter beside the one before
            del told["transform"]
            told["x"] = _number(across[1], _GLYPH_DIGITS)
        elif tag in ("use", "rect"):
            told |= {name: _number(told[name]) for name in _KEPT[:4] if name in told}
        if "transform" in told:
            told["transform"] = _PLACED.sub(_placed, told["transform"])
        if "d" in of and told.get("transform") == _LETTER:
            told |= {"transform": "scale(.25)", "d": _path(of["d"], 0, _COARSER)}
        elif "d" in of:
            told["d"] = _path(of["d"])
        if "clip-path" in of:
            told["clip-path"] = _REFERRED.sub(lambda m: f"#{self._name(m[1])}", of["clip-path"])
        if look := _look(of.get("style", "")):
            told["class"] = self._looks.setdefault(look, _short(len(self._looks)))
        return "".join(f' {name}="{value}"' for name, value in told.items())

    def _name(self, known: str) -> str:
        return self._names.setdefault(known, _short(len(self._names)))


def _short(number: int) -> str:
    """``a``, ``b``, … ``z``, ``ba``, ``bb``, …."""
    letters = ""
    while number or not letters:
        number, place = divmod(number, 26)
        letters = ascii_lowercase[place] + letters
    return letters


def _look(style: str) -> str:
    return re.sub(r"\s*([:;{])\s*", r"\1", style).strip("; ")


def _placed(found: re.Match[str]) -> str:
    return f"translate({_number(found[1])} {_number(found[2])})"


def _number(text: str, digits: int = _DIGITS, times: float = 1) -> str:
    """A number with few digits, and no zero that says nothing."""
    written = f"{float(text) / times:.{digits}f}"
    written = written.rstrip("0").rstrip(".") if digits else written
    if written.startswith("0."):
        return written[1:]
    if written.startswith("-0"):
        return "0" if written == "-0" else f"-{written[2:]}"
    return written


def _path(d: str, digits: int = _DIGITS, times: float = 1) -> str:
    """A path; a command that goes on as before is not said again."""
    told: list[str] = []
    before = ""
    for part in _PATH.findall(d):
        if part.isalpha():
            if part != before or part in "Mm":
                told.append(part)
            before = "L" if part == "M" else part
            continue
        number = _number(part, digits, times)
        if told and not told[-1].isalpha() and not number.startswith("-"):
            told.append(" ")
        told.append(number)
    return "".join(told)
