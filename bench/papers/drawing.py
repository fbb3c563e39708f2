"""The style of the figures."""

import textwrap

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "dlhost", "font.size": 10, "axes.grid": True,
                            "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False,
                            "legend.frameon": False})

from matplotlib import pyplot  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


def figure(title: str, caption: str, columns: int = 1, wide: bool = False) -> Figure:
    """Axes side by side, or one as wide as two. The caption beneath describes the measurement."""
    width = 2 if wide else columns
    drawn, _ = pyplot.subplots(1, columns, figsize=(1.5 + 5.5 * width, 5), sharey=columns > 1, layout="constrained")
    drawn.suptitle(title)
    drawn.supxlabel(textwrap.fill(caption, 55 + 60 * width), fontsize=8)
    return drawn
