"""Small multiples at fixed places.

A layout engine measures every text of every panel twice, half the time that drawing takes; where
all panels are alike, their places can be said.
"""

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Panels:
    """The measures of a figure of panels, in inches.

    Attributes:
        width: Of a panel, without its labels.
        height: Of a panel, without its labels.
        left: Beside the first column; ``right``, ``top`` and ``bottom`` likewise.
        across: Between two columns, for the labels of ticks.
        down: Between two rows, for the labels of ticks and a title.
    """

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    across: float
    down: float

    def size(self, n_rows: int, n_columns: int) -> tuple[float, float]:
        """Width and height of the figure."""
        return (
            self.left + self.width * n_columns + self.across * (n_columns - 1) + self.right,
            self.top + self.height * n_rows + self.down * (n_rows - 1) + self.bottom,
        )

    def make(self, n: int, n_columns: int) -> tuple[Figure, list[Axes]]:
        """A figure with ``n`` panels, row by row."""
        n_rows = -(-n // n_columns)
        width, height = self.size(n_rows, n_columns)
        figure = Figure(figsize=(width, height))
        places = {
            "left": self.left / width,
            "right": 1 - self.right / width,
            "bottom": self.bottom / height,
            "top": 1 - self.top / height,
            "wspace": self.across / self.width,
            "hspace": self.down / self.height,
        }
        grid = figure.add_gridspec(n_rows, n_columns, **places)
        return figure, [figure.add_subplot(grid[divmod(i, n_columns)]) for i in range(n)]
