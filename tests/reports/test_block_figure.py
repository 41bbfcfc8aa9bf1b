"""The figure of blocks: each once, in words and in marks."""

from dataclasses import replace

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from reports import Frames
from reports.block_figure import block_figure, blocks_unseen
from reports.page import render
from reports.plots.blocks import MAX_BLOCKS, Call, block_table, describe_blocks, lanes, plot_blocks
from reports.tables import run_tables
from tests.reports.simulated import make_frames

PRE = [("norm", "0"), ("attention", "1"), ("residual", "0, 2"), ("out", "3")]
SIDE = [("norm", "0"), ("attention", "1"), ("feed_forward", "1"), ("residual", "0, 2"),
        ("residual", "3, 4"), ("out", "5")]  # fmt: skip


def rows(**blocks: list[tuple[str, str]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            (name, number, part, inputs)
            for name, calls in blocks.items()
            for number, (part, inputs) in enumerate(calls, start=1)
        ],
        columns=["block", "call", "part", "inputs"],
    )


def run(**blocks: list[tuple[str, str]]) -> Frames:
    return replace(make_frames({"f": ["a"]}, {"x": [[1.0, 2.0]]}), blocks=rows(**blocks))


def test_words_say_what_each_call_is_computed_from() -> None:
    alt, caption = describe_blocks(block_table(rows(pre=PRE, side=SIDE)))
    assert alt == (
        "Diagram of 2 blocks, calls numbered from the top. pre: 1 norm of the stream, 2 attention "
        "of 1, 3 residual of the stream and 2, out of 3; side: 1 norm of the stream, 2 attention "
        "of 1, 3 feed-forward of 1, 4 residual of the stream and 2, 5 residual of 3 and 4, out of "
        "5."
    )
    assert caption.startswith("How 2 blocks of this run are wired, as seen in one pass: from")


def test_rows_are_put_in_the_order_of_their_calls() -> None:
    table = block_table(rows(pre=PRE, side=SIDE).iloc[::-1])
    assert [call.part for call in table.blocks["pre"]] == [part for part, _ in PRE]
    assert [call.part for call in table.blocks["side"]] == [part for part, _ in SIDE]


def test_a_box_a_call_and_a_line_an_input() -> None:
    figure = plot_blocks(block_table(rows(pre=PRE, side=SIDE)))
    pre, side = figure.axes
    assert [len(axes.patches) for axes in (pre, side)] == [3, 5]
    assert [len(axes.lines) for axes in (pre, side)] == [1, 4]  # beside the boxes
    assert [text.get_text() for text in pre.texts if text.get_text()] == [
        "pre", "stream", "norm", "attention", "residual", "out",
    ]  # fmt: skip


def test_every_name_stands_clear_of_the_edges_of_its_box() -> None:
    figure = plot_blocks(block_table(rows(side=SIDE)))
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.axes
    widest = max(text.get_window_extent().width for text in axes.texts if text.get_zorder() == 3)
    assert widest + 8 < axes.patches[0].get_window_extent().width  # pixels of a hundredth inch


def test_lines_that_lie_beside_each_other_have_lanes_of_their_own() -> None:
    calls = block_table(rows(side=SIDE)).blocks["side"]
    assert lanes(calls) == {
        (0, 1): None, (1, 2): None, (1, 3): 1, (0, 4): 0, (2, 4): 2, (3, 5): 3, (4, 5): None,
        (5, 6): None,
    }  # fmt: skip
    apart = (Call(part="norm", inputs=(0,)), Call(part="norm", inputs=(0, 1)),
             Call(part="norm", inputs=(2,)), Call(part="norm", inputs=(3,)),
             Call(part="norm", inputs=(3,)))  # fmt: skip
    assert lanes(apart)[0, 2] == lanes(apart)[3, 5] == 0


def test_lines_stay_beside_their_block_however_many_there_are() -> None:
    dense = [("norm", ", ".join(map(str, range(n + 1)))) for n in range(12)]
    (axes,) = plot_blocks(block_table(rows(dense=dense))).axes
    reach = [float(abs(x)) for line in axes.lines for x in line.get_xdata()]
    assert len(axes.lines) == 12 * 11 // 2
    assert max(reach) < max(axes.get_xlim())


def test_each_row_of_blocks_is_as_high_as_its_longest() -> None:
    long = [("norm", str(n)) for n in range(20)]
    names = [f"p{n}" for n in range(4)]
    figure = plot_blocks(block_table(rows(**dict.fromkeys(names, PRE), long=long)))
    *first, last = figure.axes
    height = figure.get_figheight()
    places = [axes.get_position() for axes in figure.axes]
    assert last.get_ylim()[0] == 20.6
    assert {axes.get_ylim()[0] for axes in first} == {4.6}
    assert places[0].height * height == pytest.approx(0.5 + 0.42 * 5)
    assert places[-1].height * height == pytest.approx(0.5 + 0.42 * 21)


def test_a_page_has_its_blocks_and_names_those_that_could_not_be_watched() -> None:
    html = render(run(pre=PRE, strange=[("unseen", "")]))
    section = html[html.index('<section id="blocks"') : html.index('<section id="lost"')]
    assert section.count("<img") == 1
    assert "<p>Not drawn: strange.</p>" in section
    assert '<a href="#blocks">Blocks</a>' in html


def test_why_a_block_is_not_drawn_is_said_in_few_words() -> None:
    unseen = rows(pre=PRE, **{f"strange_{n}": [("unseen", "")] for n in range(3)})
    long = "x" * 200
    unseen["reason"] = [*[""] * len(PRE), "not <b>today</b>", "", long]
    frames = replace(run(), blocks=unseen)
    told = f"{'x' * 79}…{'x' * 40}"
    assert blocks_unseen(frames) == (
        f"Not drawn: strange_0 (not <b>today</b>), strange_1 and strange_2 ({told})."
    )
    assert "<p>Not drawn: strange_0 (not &lt;b&gt;today&lt;/b&gt;), strange_1" in render(frames)
    assert run_tables(frames)["blocks"]["reason"].to_list() == unseen["reason"].to_list()


def test_a_run_that_kept_no_blocks_has_no_such_section() -> None:
    frames = make_frames({"f": ["a"]}, {"x": [[1.0, 2.0]]})
    assert block_figure(frames) is None
    assert blocks_unseen(frames) == ""
    assert 'id="blocks"' not in render(frames)
    only_unseen = run(strange=[("unseen", "")])
    assert block_figure(only_unseen) is None
    assert 'id="blocks"' in render(only_unseen)


def test_of_many_blocks_the_first_are_drawn_and_the_rest_is_counted() -> None:
    table = block_table(rows(**{f"p{n:02d}": PRE for n in range(MAX_BLOCKS + 3)}))
    assert len(plot_blocks(table).axes) == MAX_BLOCKS
    assert describe_blocks(table)[1].endswith(" 3 blocks more: tables/blocks.csv has all.")
