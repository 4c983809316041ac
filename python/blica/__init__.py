"""Independent component analysis of binary and ordinal data.

The columns of X have two levels or more, and its rows fall into segments (times, places, groups) over which the variances of the
hidden sources change. That change is what lets the mixing of the sources be found. See `BinaryICA`, or `fit` for the same
without scikit-learn.

>>> import blica
>>> drawn = blica.simulate(variables=6, sources=2, segments=10, samples=500, seed=3)
>>> ica = blica.BinaryICA(n_components=2).fit(drawn.X, segments=drawn.segments)
>>> ica.mixing_.shape
(6, 2)
>>> blica.compare(ica, drawn.model).mcs > 0.95
True
"""
from ._library import ffi as _ffi
from ._library import lib as _lib
from ._inference import Assessment, Fitted, Invariance, ItemTest, Selection, assess, fitted, invariance, select
from ._objects import Correlations, Counts, Freed, Model
from ._options import option_table
from ._report import report
from ._session import BlicaWarning, NumericalError
from ._verbs import (Comparison, Identification, LogLik, Plan, Polychoric, Polyserial, Segmentation, Simulation, Sources, Tetrachoric, compare,
                     correlate, count, fit, identify, load, loglik, merge, mvn, polychoric, polychoric_table,
                     polyserial, save, segment, simulate, sources, tetrachoric, tetrachoric_table)

__version__ = _ffi.string(_lib.blica_version()).decode()
__all__ = ["Assessment", "BinaryICA", "BlicaWarning", "Comparison", "Correlations", "Counts", "Fitted", "Identification",
           "Invariance", "ItemTest", "LogLik", "Model", "NumericalError", "Plan", "Polychoric", "Polyserial", "Segmentation", "Selection", "Simulation", "Sources",
           "Tetrachoric", "assess", "compare", "correlate", "count", "fit", "fitted", "identify", "invariance", "load", "loglik", "merge",
           "methods", "option_table", "plot_correlations", "plot_loadings", "plot_means", "plot_mixing", "plot_variances",
           "mvn", "polychoric", "polychoric_table", "polyserial",
           "report", "save", "segment", "select", "simulate", "sources", "tetrachoric", "tetrachoric_table"]


def methods() -> dict:
    """The estimators there are, each with a sentence about it.

    >>> "blica" in methods()
    True
    """
    count_ = _ffi.new("int *")
    table = _lib.blica_methods(count_)
    return {_ffi.string(table[i].name).decode(): _ffi.string(table[i].help).decode() for i in range(count_[0])}


def __dir__() -> list:
    return sorted(set(globals()) | set(__all__))


def __getattr__(name: str):  # scikit-learn and matplotlib are imported when they are asked for
    if name == "BinaryICA":
        from ._estimator import BinaryICA

        return BinaryICA
    if name.startswith("plot_") and name in __all__:
        from . import _plots

        return getattr(_plots, name)
    raise AttributeError(f"module 'blica' has no attribute {name!r}")
