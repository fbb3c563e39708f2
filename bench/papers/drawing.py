"""How the figures look."""

import textwrap

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "dlhost", "font.size": 10, "axes.grid": True,
                            "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False,
                            "legend.frameon": False})

from matplotlib import pyplot  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


def figure(title: str, caption: str, columns: int = 1) -> Figure:
    """Axes side by side; the caption beneath says what was measured, and how."""
    drawn, _ = pyplot.subplots(1, columns, figsize=(1.5 + 5.5 * columns, 5), sharey=columns > 1, layout="constrained")
    drawn.suptitle(title)
    drawn.supxlabel(textwrap.fill(caption, 55 + 60 * columns), fontsize=8)
    return drawn
