"""Small SVG draws what matplotlib's draws."""

import io
import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from reports import Frames
from reports.curves import curves
from reports.effects import comparisons
from reports.plots.effects import effects_table, plot_effects
from reports.plots.profiles import plot_profile
from reports.plots.style import DARK, LIGHT, Theme, in_the_dark
from reports.plots.summary import profile_table
from reports.plots.survival import plot_survival
from reports.plots.survival_fields import survival_table
from reports.plots.svg import SVG, XLINK, compact
from tests.reports.simulated import default_run
from tests.reports.simulated_training import training_run

Drawn = tuple[str, dict[str, str], list[str | float], list[list[str | float]]]

PARTS = re.compile(r"[a-z]+|[A-Z]|[-+]?(?:\d+\.?\d*|\.\d+)")


def written(figure: Figure, theme: Theme = LIGHT) -> str:
    buffer = io.BytesIO()
    with theme.context():
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})  # type: ignore[no-untyped-call]
    return buffer.getvalue().decode()


@pytest.fixture(scope="module", params=["effects", "profile", "survival"])
def figure(request: pytest.FixtureRequest) -> str:
    frames: Frames = training_run() if request.param == "survival" else default_run(seeds=2)
    with LIGHT.context():
        if request.param == "effects":
            table = effects_table(comparisons(frames), "gradient_flow.embedding")
            return written(plot_effects(table, unit="norm"))
        if request.param == "profile":
            name = "gradient_flow.sensitivity"
            lines = profile_table(frames, name, ["placement", "norm"], curves(frames)[name])
            assert lines is not None
            return written(plot_profile(lines, frames))
        fields = survival_table(frames, ["placement", "initializer"])
        assert fields is not None
        return written(plot_survival(fields))


def drawn(svg: str) -> Iterator[Drawn]:
    """What is drawn, in order: what it is, its looks, its path, and what it is moved by."""
    root = ET.fromstring(svg)
    known = {e.attrib["id"]: e for e in root.iter() if "id" in e.attrib}
    style = "".join(e.text or "" for e in root.iter(f"{{{SVG}}}style"))
    looks = dict(re.findall(r"\.(\w+)\{([^}]*)\}", style))
    yield from _drawn(root, known, looks, [], {})


def _drawn(
    element: ET.Element,
    known: dict[str, ET.Element],
    looks: dict[str, str],
    moves: list[list[str | float]],
    look: dict[str, str],
) -> Iterator[Drawn]:
    tag = element.tag.removeprefix(f"{{{SVG}}}")
    if tag in ("defs", "metadata"):
        return
    of = element.attrib
    own = of.get("style") or looks.get(of.get("class", ""), "")
    look = look | dict(re.findall(r"([\w-]+): ?([^;]+)", own))
    if "clip-path" in of:
        (shape,) = known[of["clip-path"][5:-1]]
        sides = [shape.attrib[side] for side in ("x", "y", "width", "height")]
        look = look | {"clip": " ".join(f"{float(side):.1f}" for side in sides)}
    place = [float(of[axis]) for axis in "xy" if axis in of and tag == "use"]
    moves = [*moves, *([_parts(of["transform"])] if "transform" in of else [])]
    moves = [*moves, *([["translate", *place, *[0.0] * (2 - len(place))]] if place else [])]
    target = of.get("href") or of.get(f"{{{XLINK}}}href") or ""
    if target:
        yield from _drawn(known[target[1:]], known, looks, moves, look)
    elif tag == "path" and of.get("d", "").strip():
        yield tag, look, _spelt_out(of["d"]), moves
    for inner in element:
        yield from _drawn(inner, known, looks, moves, look)


def _parts(text: str) -> list[str | float]:
    return [part if part[0].isalpha() else float(part) for part in PARTS.findall(text)]


def _spelt_out(d: str) -> list[str | float]:
    """A path with each command said again."""
    sizes = {"M": 2, "L": 2, "Q": 4, "C": 6}
    told: list[str | float] = []
    command, left = "", 0
    for part in _parts(d):
        if isinstance(part, str):
            command, left = part, sizes.get(part, 0)
            told.append(part)
            continue
        if not left:
            command = "L" if command == "M" else command
            told.append(command)
            left = sizes[command]
        told.append(part)
        left -= 1
    return told


def _point(path: list[str | float], moves: list[list[str | float]]) -> list[str | float]:
    """A path as it is seen: its commands, and its numbers once all moves are made."""
    told: list[str | float] = []
    numbers = 0
    for part in path:
        if isinstance(part, str):
            told.append(part)
            continue
        axis, value = numbers % 2, part
        numbers += 1
        for name, moved in _pairs(moves):
            value = value * moved[axis] if name == "scale" else value + moved[axis]
        told.append(value)
    return told


def _pairs(moves: list[list[str | float]]) -> Iterator[tuple[str, list[float]]]:
    """Each move with its two numbers, the innermost first."""
    for move in reversed(moves):
        names = [i for i, part in enumerate(move) if isinstance(part, str)]
        for start, end in reversed(list(zip(names, [*names[1:], len(move)], strict=True))):
            numbers = [float(part) for part in move[start + 1 : end]]
            yield str(move[start]), numbers * 2 if len(numbers) == 1 else numbers


def test_everything_is_where_it_was_and_looks_as_it_did(figure: str) -> None:
    before, after = list(drawn(figure)), list(drawn(compact(figure)))
    assert len(before) == len(after) > 100
    for (tag, look, path, moves), (tag_2, look_2, path_2, moves_2) in zip(
        before, after, strict=True
    ):
        assert (tag, look) == (tag_2, look_2)
        seen, seen_2 = _point(path, moves), _point(path_2, moves_2)
        assert [p for p in seen if isinstance(p, str)] == [p for p in seen_2 if isinstance(p, str)]
        numbers = [p for p in seen if not isinstance(p, str)]
        assert [p for p in seen_2 if not isinstance(p, str)] == pytest.approx(numbers, abs=0.06)


def test_it_is_far_smaller_and_the_same_again(figure: str) -> None:
    assert len(compact(figure)) < 0.5 * len(figure)
    assert compact(figure) == compact(figure)


def test_its_colours_change_with_the_theme(figure: str) -> None:
    light = compact(figure)
    dark = in_the_dark(light)
    assert LIGHT.text in light
    assert DARK.text in dark
    assert LIGHT.text not in dark
    assert len(light) == len(dark)


def test_names_numbers_and_looks_are_short() -> None:
    svg = (
        f'<svg xmlns="{SVG}" xmlns:xlink="{XLINK}" width="9pt" height="9pt" viewBox="0 0 9 9">'
        "<metadata>who</metadata><defs><style>*{stroke-linejoin: round}</style></defs>"
        '<g id="figure_1"><g id="empty"/>'
        '<defs><path id="DejaVuSans-41" d="M 16 32 \nL 160 0 \nz" transform="scale(0.015625)"/>'
        '<path id="DejaVuSans-20" transform="scale(0.015625)"/></defs>'
        '<g style="fill: #1b1f24" transform="translate(1.23456 7.000001) scale(0.095 -0.095)">'
        '<use xlink:href="#DejaVuSans-41"/><use xlink:href="#DejaVuSans-20"/>'
        '<use xlink:href="#DejaVuSans-41" transform="translate(95.40625 0)"/></g>'
        '<path d="M 0 0.5 \nL 1.006 -0.004 \nL 3 4 \nM 5 5 \nL 6 6 " clip-path="url(#p1)" '
        'style="fill: none; stroke: #d55e00"/></g>'
        '<defs><clipPath id="p1"><rect x="0.123456" y="1" width="2.5" height="3"/></clipPath>'
        "</defs></svg>"
    )
    assert compact(svg) == (
        f'<svg xmlns="{SVG}" width="9pt" height="9pt" viewBox="0 0 9 9">'
        "<defs><style>*{stroke-linejoin:round}.a{fill:#1b1f24}.b{fill:none;stroke:#d55e00}</style>"
        '<path id="a" transform="scale(.25)" d="M1 2 10 0z"/>'
        '<clipPath id="b"><rect x=".12" y="1" width="2.5" height="3"/></clipPath></defs>'
        '<g transform="translate(1.23 7)scale(0.095 -0.095)" class="a">'
        '<use href="#a"/><use href="#a" x="95.4"/></g>'
        '<path d="M0 .5 1.01 0 3 4M5 5 6 6" clip-path="url(#b)" class="b"/></svg>'
    )
