"""Ratings and metrics -> PNG files. No window is opened and no global state of matplotlib is touched."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

Row = Mapping[str, Any]  # one line of a JSONL file

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D3A9B")  # told apart by everybody
_INK, _MUTED, _GRID = "#1f2328", "#6b7280", "#e5e7eb"
_AXES = {"iteration": "iteration", "games": "self-play games", "minutes": "minutes of training"}
_TITLES = {
    "loss": "Loss",
    "policy_loss": "Policy loss (cross-entropy, nats)",
    "value_loss": "Value loss (mean squared error)",
    "policy_kl": "Policy against search target (KL, nats)",
    "policy_entropy": "Entropy of the network's policy (nats)",
    "search_entropy": "Entropy of the search's policy (nats)",
    "value_error": "Mean absolute error of the value",
    "game_length": "Game length (moves)",
    "first_player_score": "First player's score",
    "draws": "Share of draws",
    "truncated": "Share of games ended by the move cap",
    "unique_games": "Share of distinct games",
    "learning_rate": "Learning rate",
    "gradient_norm": "Gradient norm",
    "moves_per_second": "Self-play moves a second",
}
_TOGETHER = (("policy_entropy", "search_entropy"),)  # metrics that say more in one panel


def elo_curve(
    path: str | os.PathLike[str],
    rows: Sequence[Row],
    *,
    anchors: Mapping[str, float] | None = None,
    title: str = "Playing strength during training",
) -> None:
    """Writes a PNG of Elo with its 95 % band against iterations, self-play games and minutes.

    A row has `elo`, `low`, `high` and any of `iteration`, `games`, `minutes`; rows with a name in `run` make a curve
    of their own for each name. Rows without a rating (None) are left out. `anchors` maps names of fixed opponents to
    their Elo. Raises ValueError if no row has both a rating and one of the three.
    """
    rated = [row for row in rows if _number(row, "elo") is not None]
    axes_names = [name for name in _AXES if any(_number(row, name) is not None for row in rated)]
    if not axes_names:
        raise ValueError(
            f"nothing to draw: none of {len(rows)} rows has an elo together with one of {', '.join(_AXES)}"
        )
    runs = list(dict.fromkeys(str(row.get("run", "")) for row in rated))
    figure = Figure(figsize=(1.2 + 4.2 * len(axes_names), 4.6))
    panels = figure.subplots(1, len(axes_names), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, axes_names, strict=True):
        for i, run in enumerate(runs):
            points = [row for row in rated if str(row.get("run", "")) == run and _number(row, name) is not None]
            points = sorted(points, key=lambda row: row[name])
            x = [row[name] for row in points]
            elo = [row["elo"] for row in points]
            low, high = (
                [row["elo"] if _number(row, end) is None else row[end] for row in points] for end in ("low", "high")
            )
            colour = _COLOURS[i % len(_COLOURS)]
            panel.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
            panel.plot(x, elo, color=colour, linewidth=2, marker="o", markersize=4, label=run or "network")
        for elo in (anchors or {}).values():
            panel.axhline(elo, color=_MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        _dress(panel, _AXES[name])
        left, right = panel.get_xlim()
        panel.set_xlim(min(left, -0.02 * right), right)
    panels[0].set_ylabel("Elo (95 % interval shaded)")
    _label_lines(panels[-1], anchors or {})
    if len(runs) > 1:
        panels[0].legend(loc="lower right", fontsize=10, framealpha=0.9, edgecolor="none")
    _save(figure, path, title)


def metrics_curves(
    path: str | os.PathLike[str],
    rows: Sequence[Row],
    *,
    x: str = "iteration",
    names: Sequence[str] | None = None,
    title: str = "Training",
) -> None:
    """Writes a PNG with one panel a metric against `x`; losses, entropies, game lengths and what else there is.

    Each faint line is the metric, the strong one its running mean over a fiftieth of the run. `names` picks the
    metrics; by default those this module has a title for. Missing, None and nan entries are left out. Raises
    ValueError if there is nothing to draw.
    """
    wanted = _TITLES if names is None else names
    present = [name for name in wanted if any(_number(row, name) is not None for row in rows)]
    groups = [tuple(name for name in group if name in present) for group in _TOGETHER]
    leader = {name: group for group in groups for name in group}
    panels = list(dict.fromkeys(leader.get(name, (name,)) for name in present))
    if not panels:
        raise ValueError(f"nothing to draw: none of {len(rows)} rows has a number in any of {', '.join(wanted)}")
    columns = min(3, len(panels))
    lines = math.ceil(len(panels) / columns)
    figure = Figure(figsize=(0.6 + 4.4 * columns, 0.7 + 2.9 * lines))
    grid = figure.subplots(lines, columns, squeeze=False).ravel()
    for panel, group in zip(grid, panels, strict=False):
        for i, name in enumerate(group):
            pairs = [(_number(row, x), _number(row, name)) for row in rows]
            pairs = [pair for pair in pairs if None not in pair]
            at, values = (np.array([pair[i] for pair in pairs], float) for i in (0, 1))
            window = max(1, len(values) // 50)
            panel.plot(at, values, color=_COLOURS[i], linewidth=1, alpha=0.3 if window > 1 else 1.0)
            if window > 1:
                mean = np.convolve(values, np.ones(window) / window, mode="valid")
                panel.plot(at[window - 1 :], mean, color=_COLOURS[i], linewidth=1.8)
            panel.plot([], [], color=_COLOURS[i], linewidth=2, label=name.split("_")[0])
        heading = _TITLES.get(group[0], group[0])
        if len(group) > 1:
            panel.legend(frameon=False, fontsize=9)
            heading = "Entropy of the policies (nats)"
        panel.set_title(heading, fontsize=10.5, color=_INK, loc="left")
        _dress(panel, _AXES.get(x, x))
    for panel in grid[len(panels) :]:
        panel.set_visible(False)
    _save(figure, path, title)


def _number(row: Row, name: str) -> float | None:
    value = row.get(name)
    return float(value) if isinstance(value, (int, float, np.number)) and math.isfinite(value) else None


def _dress(panel: Axes, x_label: str) -> None:
    panel.set_xlabel(x_label, fontsize=11)
    panel.grid(color=_GRID, linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(_MUTED)
    panel.tick_params(colors=_INK, labelsize=10)
    panel.xaxis.set_major_locator(MaxNLocator(5))
    panel.xaxis.set_major_formatter(EngFormatter(sep=""))


def _save(figure: Figure, path: str | os.PathLike[str], title: str) -> None:
    figure.suptitle(title, fontsize=14, fontweight="bold", color=_INK)
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.1)
    figure.savefig(path, dpi=150)


def _label_lines(panel: Axes, anchors: Mapping[str, float]) -> None:
    """Writes the anchors' names to the right of the panel, moved apart where they would overlap."""
    bottom, top = panel.get_ylim()
    gap = 0.06 * (top - bottom)
    height = -math.inf
    for name, elo in sorted(anchors.items(), key=lambda item: item[1]):
        height = max(elo, height + gap)
        panel.annotate(
            f"{name} ({elo:.0f})",
            xy=(1, elo),
            xytext=(1.04, height),
            xycoords=("axes fraction", "data"),
            textcoords=("axes fraction", "data"),
            va="center",
            fontsize=10,
            color=_INK,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": _MUTED,
                "linewidth": 0.8,
                "relpos": (0, 0.5),
                "shrinkA": 1,
                "shrinkB": 0,
            },
        )
