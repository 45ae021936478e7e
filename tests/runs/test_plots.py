"""Pictures: that they are made from what a run logs, gaps included, and that nothing is drawn from nothing."""

from __future__ import annotations

import math

import matplotlib.image
import pytest

from azjax.runs.plots import elo_curve, metrics_curves


def size_of(path):
    """(height, width) of a PNG that is not blank."""
    pixels = matplotlib.image.imread(path)
    assert pixels[..., :3].min() < 0.5 < pixels[..., :3].max()
    return pixels.shape[:2]


def rows(run=None, **without):
    for i in range(5):
        row = {
            "iteration": 100 * i,
            "games": 3000 * i,
            "minutes": 2.5 * i,
            "elo": 300.0 * i,
            "low": -40.0,
            "high": 1300,
        }
        yield {key: value for key, value in (row | ({"run": run} if run else {})).items() if key not in without}


def test_elo_curve(tmp_path):
    path = tmp_path / "elo.png"
    unrated = {"iteration": 600, "games": 9, "minutes": 1.0, "elo": None, "low": None, "high": None}
    elo_curve(
        path, [*rows("seed 0"), *rows("seed 1"), unrated], anchors={"random": 0.0, "perfect": 1205, "other": 1210}
    )
    height, width = size_of(path)
    assert width > 2.5 * height


def test_elo_curve_with_iterations_alone(tmp_path):
    path = tmp_path / "elo.png"
    elo_curve(path, list(rows(games=0, minutes=0, low=0, high=0)))
    height, width = size_of(path)
    assert width < 1.5 * height


def test_metrics_curves(tmp_path):
    path = tmp_path / "metrics.png"
    logged = [
        {"iteration": i, "loss": 2.0 - i / 100, "policy_entropy": 1.0, "search_entropy": 0.8, "game_length": math.nan}
        for i in range(120)
    ]
    metrics_curves(path, [*logged, {"iteration": 120, "loss": None}])
    one = size_of(path)
    metrics_curves(path, logged, x="loss", names=["game_length", "loss", "search_entropy", "policy_entropy"])
    assert size_of(path) == one  # two panels: both entropies share one, and a metric without numbers has none


def test_nothing_to_draw(tmp_path):
    with pytest.raises(ValueError, match=r"none of 1 rows.*iteration"):
        elo_curve(tmp_path / "elo.png", [{"iteration": 1, "elo": None}])
    with pytest.raises(ValueError, match="policy_loss"):
        metrics_curves(tmp_path / "metrics.png", [{"iteration": 1}], names=["policy_loss"])
    assert not list(tmp_path.iterdir())
