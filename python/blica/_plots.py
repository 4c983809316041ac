"""Figures with matplotlib. Each function draws into an Axes (a new one when none is given) and returns it."""
from __future__ import annotations

import numpy as np

from ._verbs import _as_model


def _axes(ax):
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.gca()
    return ax


def _heat(ax, values: np.ndarray, bound: float, rows, columns):
    image = ax.imshow(values, cmap="RdBu_r", vmin=-bound, vmax=bound, aspect="auto", interpolation="nearest")
    ax.set_xticks(range(len(columns)), columns)
    if len(rows) <= 60:
        ax.set_yticks(range(len(rows)), rows)
    ax.figure.colorbar(image, ax=ax)
    return ax


def plot_mixing(model, ax=None):
    """The mixing matrix as a heat map: a row per variable, a column per source; red is positive, blue negative."""
    model = _as_model(model)
    ax = _heat(_axes(ax), model.mixing, float(np.abs(model.mixing).max()) or 1.0, model.variables,
               [f"z{j + 1}" for j in range(model.mixing.shape[1])])
    ax.set_title("mixing matrix A")
    return ax


def plot_variances(model, ax=None):
    """The variance of each source over the segments, on a logarithmic scale."""
    model = _as_model(model)
    ax = _axes(ax)
    for j in range(model.variances.shape[1]):
        ax.plot(model.variances[:, j], marker="o", label=f"z{j + 1}")
    ax.set_yscale("log")
    if len(model.segments) <= 40:
        ax.set_xticks(range(len(model.segments)), model.segments, rotation=90 if len(model.segments) > 8 else 0)
    ax.set_xlabel("segment")
    ax.set_ylabel("variance of the source")
    ax.legend()
    return ax


def plot_correlations(correlations, segment: int = 0, ax=None):
    """The correlation matrix of one segment as a heat map. correlations is what `correlate` returned."""
    ax = _heat(_axes(ax), correlations.correlation[segment], 1.0, correlations.variables, correlations.variables)
    ax.tick_params(axis="x", rotation=90)
    ax.set_title(f"segment {correlations.segments[segment]}")
    return ax
