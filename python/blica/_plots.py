"""Figures with matplotlib. Each function draws into axes (those of a new figure when none are given) and returns them."""
from __future__ import annotations

from typing import Optional

import numpy as np

from ._tables import block_of, block_order, source_names, uncertain
from ._verbs import _as_model

COLOURS = ["#1b6ca8", "#d1495b", "#2e8b57", "#8e5ea2", "#c77700", "#4d4d4d", "#00868b", "#b5651d"]  # differ in lightness, too
MARKERS = "osD^vPX*"
UNCERTAIN = "#9a9a9a"


def _new(width: float, height: float, columns: int = 1):
    import matplotlib.pyplot as plt

    return plt.subplots(1, columns, figsize=(width, height), sharey=columns > 1, squeeze=False, layout="constrained")[1][0]


def _heat(ax, values: np.ndarray, bound: float, rows, columns):
    image = ax.imshow(values, cmap="RdBu_r", vmin=-bound, vmax=bound, aspect="auto", interpolation="nearest")
    ax.set_xticks(range(len(columns)), columns)
    if len(rows) <= 60:
        ax.set_yticks(range(len(rows)), rows)
    ax.figure.colorbar(image, ax=ax)
    return ax


def plot_loadings(model, axes=None, *, assessment=None):
    """Loadings with their intervals, an axes for each source; items are in blocks by the source that they load on most.

    The intervals are those of assessment, or of what the model keeps after assess; without either there are dots alone. Loadings whose interval contains 0 are grey. axes holds an axes for each source; they are returned.
    """
    model = _as_model(model)
    assessment = assessment or model.assessment
    n, k = model.mixing.shape
    axes = _new(2.2 + 2.2 * k, 1.2 + 0.24 * n, k) if axes is None else np.atleast_1d(axes)
    if len(axes) < k:
        raise ValueError(f"axes has {len(axes)} axes; the model has {k} sources, and each takes one")
    order, own, faded = block_order(model), block_of(model), uncertain(assessment, (n, k))
    at = np.arange(n)[::-1]
    for j, ax in enumerate(axes[:k]):
        colours = [UNCERTAIN if faded[i, j] else COLOURS[j % len(COLOURS)] for i in order]
        ax.axvline(0, color="#777777", linewidth=0.8)
        if assessment is not None:
            ax.hlines(at, assessment.mixing_low[order, j], assessment.mixing_high[order, j], colors=colours, linewidth=1.4)
        ax.scatter(model.mixing[order, j], at, c=colours, s=[30 if own[i] == j else 14 for i in order], zorder=3)
        ax.set_title(f"z{j + 1}")
        ax.grid(axis="x", color="#dddddd", linewidth=0.6)
        ax.set_axisbelow(True)
        for end in np.flatnonzero(np.diff(own[order])):  # between blocks
            ax.axhline(at[end] - 0.5, color="#bbbbbb", linewidth=0.6, linestyle=":")
    axes[0].set_yticks(at, [model.variables[i] for i in order])
    axes[0].set_ylim(-0.7, n - 0.3)
    axes[k // 2 if k % 2 else 0].set_xlabel("loading" if assessment is None else f"loading, {100 * assessment.level:g} % interval")
    return axes


def plot_mixing(model, ax=None):
    """The mixing matrix as a heat map: a row per variable, a column per source; red is positive, blue negative."""
    model = _as_model(model)
    n, k = model.mixing.shape
    ax = _new(2.5 + 0.7 * k, 1.2 + 0.24 * n)[0] if ax is None else ax
    ax = _heat(ax, model.mixing, float(np.abs(model.mixing).max()) or 1.0, model.variables, source_names(k))
    ax.set_title("mixing matrix A")
    return ax


def in_order(labels) -> bool:
    """Whether the labels of segments are numbers or dates that increase, so that lines may join them."""
    def value(label: str):
        try:
            return float(label)
        except ValueError:
            try:
                return float(np.datetime64(label, "s").astype("int64"))
            except ValueError:
                return np.nan
    return bool((np.diff([value(label) for label in labels]) > 0).all())


def _over_segments(ax, model, values: np.ndarray, low, high, ordered: Optional[bool], what: str, log: bool):
    """A number of every source and segment: lines over segments that are in order, else sorted dots beside their names."""
    u, k = values.shape
    joined = in_order(model.segments) if ordered is None else ordered
    if ax is None:
        ax = _new(max(6.0, min(12.0, 2 + 0.3 * u)), 4)[0] if joined else _new(7, 1.4 + 0.2 * u * max(1, 0.45 * k))[0]
    order = np.arange(u) if joined else np.argsort(values[:, 0], kind="stable")
    for j in range(k):
        at = np.arange(u) + (0 if joined or k == 1 else 0.6 * (0.5 - j / (k - 1)))
        style = {"color": COLOURS[j % len(COLOURS)], "marker": MARKERS[j % len(MARKERS)], "label": f"z{j + 1}", "markersize": 4.5,
                 "linestyle": "-" if joined else "none", "linewidth": 1.2}
        ax.plot(*((at, values[order, j]) if joined else (values[order, j], at)), **style)
        if low is not None:
            (ax.vlines if joined else ax.hlines)(at, low[order, j], high[order, j], colors=style["color"], linewidth=1, alpha=0.6)
    labels = [model.segments[s] for s in order]
    if joined:
        shown = np.unique(np.linspace(0, u - 1, min(u, 40)).round().astype(int))
        turned = u > 12 or max(map(len, labels)) > 4
        ax.set_xticks(shown, [labels[s] for s in shown], rotation=90 if turned else 0)
        ax.set_xlabel("segment")
    else:
        ax.set_yticks(range(u), labels)
        ax.set_ylim(-0.6, u - 0.4)
        for s in range(0, u if k > 1 else 0, 2):  # bands, which show what belongs to a name
            ax.axhspan(s - 0.5, s + 0.5, color="#f2f2f2", zorder=0)
    (ax.set_ylabel if joined else ax.set_xlabel)(f"{what} of the source")
    if log:
        (ax.set_yscale if joined else ax.set_xscale)("log")
        axis = ax.yaxis if joined else ax.xaxis
        axis.set_major_locator(axis.get_major_locator().__class__(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
    ax.grid(color="#e4e4e4", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return ax


def plot_variances(model, ax=None, *, assessment=None, ordered: Optional[bool] = None):
    """The variance of each source in every segment, with intervals when there is an assessment; logarithmic scale.

    Segments whose labels are increasing numbers or dates are joined by lines; others are dots beside their names, sorted by
    the first source. ordered says which it is.
    """
    model = _as_model(model)
    assessment = assessment or model.assessment
    low, high = (None, None) if assessment is None else (assessment.variance_low, assessment.variance_high)
    return _over_segments(ax, model, model.variances, low, high, ordered, "variance", True)


def plot_means(model, ax=None, *, assessment=None, ordered: Optional[bool] = None):
    """The mean of each source in every segment, as in `plot_variances`."""
    model = _as_model(model)
    assessment = assessment or model.assessment
    half = None if assessment is None else _normal_quantile(0.5 + assessment.level / 2) * assessment.mean_se
    low, high = (None, None) if half is None else (model.means - half, model.means + half)
    return _over_segments(ax, model, model.means, low, high, ordered, "mean", False)


def _normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def plot_correlations(correlations, segment: int = 0, ax=None):
    """The correlation matrix of one segment as a heat map. correlations is what `correlate` returned."""
    n = len(correlations.variables)
    ax = _heat(_new(2.5 + 0.3 * n, 1.5 + 0.3 * n)[0] if ax is None else ax, correlations.correlation[segment], 1.0,
               correlations.variables, correlations.variables)
    ax.tick_params(axis="x", rotation=90)
    ax.set_title(f"segment {correlations.segments[segment]}")
    return ax
