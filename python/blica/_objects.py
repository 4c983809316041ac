"""What the verbs return: counts, correlations, models."""
from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _tables
from ._library import ffi, lib
from ._session import Session, text

if TYPE_CHECKING:
    from ._inference import Assessment


def doubles(pointer, *shape: int) -> np.ndarray:
    """A copy of doubles of the library, in C order of the given shape."""
    size = int(np.prod(shape))
    return np.frombuffer(ffi.buffer(pointer, 8 * size), dtype=float).reshape(shape).copy() if size else np.empty(shape)


def frozen(array: np.ndarray) -> np.ndarray:
    """The array, which can no longer be written to: what it shows belongs to an object of the library."""
    array.flags.writeable = False
    return array


def texts(pointer, count: int) -> List[str]:
    return [text(pointer[i]) for i in range(count)]


def level_labels(coding, n: int) -> List[List[str]]:
    """The levels of every item, lowest first."""
    if not coding:
        return [["0", "1"] for _ in range(n)]
    return [texts(coding.labels + coding.first[i] + i, coding.first[i + 1] - coding.first[i] + 1) for i in range(n)]


def cut_names(variables: List[str], levels: List[List[str]]) -> List[str]:
    """Names of cuts and thresholds: those of the items, and the level where an item has more than two, as in R."""
    return [name if len(own) == 2 else f"{name}>={label}" for name, own in zip(variables, levels) for label in own[1:]]


def path_text(path) -> bytes:
    return os.fsencode(os.fspath(path))


class _Held:
    """An object of the library; a file in its own format carries it through pickle."""

    _ending = ""

    def __init__(self, pointer):
        self._pointer = pointer

    def __getstate__(self) -> Dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "object" + self._ending)
            self.save(path)
            with open(path, "rb") as file:
                return {"bytes": file.read()}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "object" + self._ending)
            with open(path, "wb") as file:
                file.write(state["bytes"])
            type(self).__init__(self, self._read(path))

    def __deepcopy__(self, memo):
        return self  # immutable

    def save(self, path) -> None:
        raise NotImplementedError

    @staticmethod
    def _read(path):
        raise NotImplementedError


class Counts(_Held):
    """The 2x2 tables of all pairs of variables in every segment: what BLICA needs to know of the data.

    Attributes
    ----------
    variables, segments : lists of names
    samples : array [u], rows of each segment
    ones, present : arrays [u, n], rows with a one, rows that are not missing
    """

    _ending = ".npz"

    def __init__(self, pointer):
        super().__init__(pointer)
        self.variables = texts(pointer.variables, pointer.n)
        self.segments = texts(pointer.segments, pointer.u)
        self.samples = frozen(doubles(pointer.samples, pointer.u))
        self.ones = frozen(doubles(pointer.ones, pointer.u, pointer.n))
        self.present = frozen(doubles(pointer.present, pointer.u, pointer.n))
        self.exact = bool(pointer.exact)

    def table(self, segment: int, i: int, j: int) -> np.ndarray:
        """The 2x2 table of variables i and j: rows are x_i = 0, 1 and columns x_j = 0, 1."""
        u, n = self.ones.shape
        for name, value, bound in (("segment", segment, u), ("i", i, n), ("j", j, n)):
            if not 0 <= value < bound:
                raise IndexError(f"{name} is {value}; it must be from 0 to {bound - 1}")
        if i == j:
            raise IndexError(f"i and j are both {i}; a table is of two variables")
        cell = ffi.new("double[4]")
        lib.blica_counts_table(self._pointer, segment, min(i, j), max(i, j), cell)
        table = np.array([[cell[3], cell[2]], [cell[1], cell[0]]])
        return table if i < j else table.T

    def save(self, path) -> None:
        """Writes the counts to a file that ends in .npz or .csv."""
        Session().call(lib.blica_counts_save, self._pointer, path_text(path))

    @staticmethod
    def _read(path):
        return Session().call(lib.blica_counts_load, path_text(path), free=lib.blica_counts_free)

    @classmethod
    def load(cls, path) -> "Counts":
        """Reads counts that `save` or `blica count` wrote."""
        return cls(cls._read(path))

    def __repr__(self) -> str:
        u, n = self.ones.shape
        return f"<blica.Counts: {n} variables, {u} segments, {self.samples.sum():g} rows>"


@dataclass(frozen=True, repr=False)
class Correlations:
    """Tetrachoric correlations of every segment, polychoric where an item has more than two levels.

    ``correlation``, ``se`` and ``flags`` are arrays [u, n, n]; ``thresholds`` is [u, n], normal quantiles of the share of ones,
    or [u, cuts], of the share at or above every level but the lowest, named by ``cut_names``. The standard error is NaN on
    the diagonal and where there is none. Bits of ``flags``: 1 a cell of a 2x2 table was empty and filled, 2 a variable is
    constant, 4 no row has both; in the last two cases the correlation is 0. Where items have three or more levels
    ``location`` and ``log_scale`` (with ``log_scale_se``) are arrays [u, n]: how mean and standard deviation of the latent
    variable change over segments, up to a constant per item; else they are None.
    """

    correlation: np.ndarray
    se: np.ndarray
    thresholds: np.ndarray
    flags: np.ndarray
    samples: np.ndarray
    variables: List[str]
    segments: List[str]
    zero_cells: int
    constant_pairs: int
    empty_pairs: int
    condition: float = float("inf")
    shift: Optional[np.ndarray] = field(default=None)
    levels: List[List[str]] = field(default_factory=list)
    location: Optional[np.ndarray] = field(default=None)
    log_scale: Optional[np.ndarray] = field(default=None)
    log_scale_se: Optional[np.ndarray] = field(default=None)

    @property
    def cut_names(self) -> List[str]:
        return cut_names(self.variables, self.levels)

    @classmethod
    def _of(cls, cor) -> "Correlations":
        u, n, pairs = cor.u, cor.n, cor.pairs
        j, i = np.tril_indices(n, -1)  # pair (i, j), i < j, at j (j - 1) / 2 + i: the order of the packed arrays

        def square(packed: np.ndarray, diagonal) -> np.ndarray:
            full = np.empty((u, n, n), dtype=packed.dtype)
            full[:, i, j] = full[:, j, i] = packed
            full[:, np.arange(n), np.arange(n)] = diagonal
            return full

        flags = np.frombuffer(ffi.buffer(cor.flags, u * pairs), dtype=np.uint8).reshape(u, pairs)
        scales = {name: doubles(getattr(cor, name), u, n) for name in ("location", "log_scale", "log_scale_se") if getattr(cor, name)}
        return cls(correlation=square(doubles(cor.rho, u, pairs), 1.0), se=square(doubles(cor.se, u, pairs), np.nan),
                   thresholds=doubles(cor.thresholds, u, cor.planes), flags=square(flags, 0), samples=doubles(cor.samples, u),
                   variables=texts(cor.variables, n), segments=texts(cor.segments, u), zero_cells=cor.zero_cells,
                   constant_pairs=cor.constant_pairs, empty_pairs=cor.empty_pairs, condition=cor.condition,
                   shift=doubles(cor.shift, u), levels=level_labels(cor.coding, n), **scales)

    def __repr__(self) -> str:
        u, n = self.correlation.shape[:2]
        return f"<blica.Correlations: {n} variables, {u} segments, {self.zero_cells} pairs with an empty cell>"


class Freed(NamedTuple):
    """An item that has cuts of its own in a segment; mixing is its row of A there, or None where that is the common one."""

    item: str
    segment: str
    cuts: np.ndarray
    mixing: Optional[np.ndarray]


class Model(_Held):
    """A fitted (or simulated, or loaded) model.

    Attributes
    ----------
    mixing : array [n, k], the mixing matrix A
    variances, means : arrays [u, k], of the sources in every segment
    standardised : array [n, k], correlations of the latent variables with the sources within segments
    communalities : array [n], shares of the variances of the latent variables that the sources explain
    levels : list of lists, the labels of every item, lowest first; new data are coded by them
    cuts : array [n], thresholds of the items, the same in all segments; an item with more than two levels has a cut for
        each but the lowest, named by cut_names
    free : list of Freed, what option free let items have of their own in single segments
    thresholds : array like cuts for each of u segments, normal quantiles of the shares of ones, or at or above a level
    link : float, c of P(x_i = 1 | y) = Phi(sqrt(c) y_i - cuts_i)
    variables, segments : lists of names
    labels : list of what the variables ask, "" where that is not known, or None
    samples : array [u]
    method : str
    fit : dict, how the fit went: objective, stop, iterations, starts, seed, condition, notes, ...
    assessment : Assessment, what `blica.assess` found last, or None; pickle keeps it, model.json does not
    """

    _ending = ".json"
    _kept: Optional[Tuple[tuple, Assessment]] = None  # what was assessed, rows and options, and the result

    def __init__(self, pointer):
        super().__init__(pointer)
        n, k, u = pointer.n, pointer.k, pointer.u
        self.mixing = frozen(doubles(pointer.mixing, k, n).T)
        self.variances = frozen(doubles(pointer.variances, u, k))
        self.means = frozen(doubles(pointer.means, u, k))
        self.levels = level_labels(pointer.coding, n)
        self.cuts = frozen(doubles(pointer.cuts, pointer.planes))
        self.thresholds = frozen(doubles(pointer.thresholds, u, pointer.planes))
        self.link = pointer.link
        self.parameters = int(lib.blica_model_parameters(pointer))
        self.variables = texts(pointer.variables, n)
        self.segments = texts(pointer.segments, u)
        self.labels = texts(pointer.labels, n) if pointer.labels else None
        self.samples = frozen(doubles(pointer.samples, u))
        # sources have their mean variances over segments, weighted by rows
        share = self.samples / self.samples.sum() if self.samples.sum() > 0 else np.full(u, 1 / u)
        signal = self.mixing * np.sqrt(self.link * (share @ self.variances))
        self.communalities = frozen((signal**2).sum(axis=1) / (1 + (signal**2).sum(axis=1)))
        self.standardised = frozen(signal * np.sqrt(1 - self.communalities)[:, None])
        self.method = text(pointer.method)
        self.free = _freed(pointer, self)
        self.fit = _report(pointer.fit, u)

    @property
    def cut_names(self) -> List[str]:
        return cut_names(self.variables, self.levels)

    def coding(self, names: Optional[List[str]] = None) -> List[Optional[tuple]]:
        """The levels of columns with these names (or in the model's order), None for plain 0 and 1."""
        own = [None if labels == ["0", "1"] else tuple(labels) for labels in self.levels]
        if names is None or not set(names) <= set(self.variables):
            return own
        return [own[self.variables.index(name)] for name in names]

    @property
    def assessment(self) -> Optional[Assessment]:
        """What `blica.assess` found last, or None."""
        return None if self._kept is None else self._kept[1]

    @property
    def converged(self) -> bool:
        return self.fit["stop"] == "converged"

    def save(self, path) -> None:
        """Writes the model as JSON; numbers come back as the same doubles."""
        Session().call(lib.blica_model_save, self._pointer, path_text(path))

    def __getstate__(self) -> Dict[str, Any]:
        length = ffi.new("size_t *")
        out = ffi.new("char **")
        Session().call(lib.blica_model_write, self._pointer, out, length)
        written = ffi.gc(out[0], lib.blica_text_free)
        return {"bytes": bytes(ffi.buffer(written, length[0])), "kept": self._kept}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        given = state["bytes"]
        Model.__init__(self, Session().call(lib.blica_model_parse, given, len(given), b"in memory", free=lib.blica_model_free))
        self._kept = state["kept"]

    @staticmethod
    def _read(path):
        return Session().call(lib.blica_model_load, path_text(path), free=lib.blica_model_free)

    @classmethod
    def load(cls, path) -> "Model":
        """Reads a model that `save` or the program wrote."""
        return cls(cls._read(path))

    def __repr__(self) -> str:
        n, k = self.mixing.shape
        return f"<blica.Model: {n} variables, {k} sources, {len(self.segments)} segments, method {self.method}>"

    def __str__(self) -> str:
        freed = "".join(f"\n{f.item} in {f.segment} has its own {'cuts' if f.mixing is None else 'cuts and loadings'}" for f in self.free)
        return f"{self!r}{freed}\n{self.assessment or _tables.loadings_text(self)}"

    def _repr_html_(self) -> str:
        return _tables.model_html(self, self.assessment)

    def to_frame(self, what: str = "mixing"):
        """A pandas DataFrame with a row for each loading (what="mixing"), or for each of the variances or means; with errors and
        intervals once the model was assessed."""
        return _tables.frame(self, what) if self.assessment is None else self.assessment.to_frame(what)


def _freed(pointer, model: Model) -> List[Freed]:
    if not pointer.freed:
        return []
    n, k, u = pointer.n, pointer.k, pointer.u
    kind = np.frombuffer(ffi.buffer(pointer.freed, n * u), dtype=np.uint8).reshape(u, n)
    mixing, cuts = doubles(pointer.own_mixing, u, k, n), doubles(pointer.own_cuts, u, pointer.planes)
    last = np.cumsum([len(labels) - 1 for labels in model.levels])
    return [Freed(model.variables[i], model.segments[s], frozen(cuts[s, last[i] - len(model.levels[i]) + 1:last[i]].copy()),
                  frozen(mixing[s, :, i].copy()) if kind[s, i] == lib.BLICA_FREED_ROW else None) for s, i in np.argwhere(kind)]


def _report(fit, u: int) -> Dict[str, Any]:
    starts = [{"kind": text(s.kind), "objective": s.objective, "gradient": s.gradient, "iterations": s.iterations,
               "evaluations": s.evaluations, "seconds": s.seconds, "stop": text(lib.blica_stop_name(s.stop))}
              for s in (fit.starts[i] for i in range(fit.n_starts))]
    report = {"objective": fit.objective, "starts": starts, "best_start": fit.best_start, "iterations": fit.iterations,
              "evaluations": fit.evaluations, "seconds": fit.seconds, "stop": text(lib.blica_stop_name(fit.stop)),
              "seed": fit.seed, "condition": fit.condition,
              "prior_mixing": fit.prior_mixing, "prior_variance": fit.prior_variance,
              "zero_cells": fit.zero_cells,
              "constant_pairs": fit.constant_pairs, "empty_pairs": fit.empty_pairs,
              "constant_columns": fit.constant_columns,
              "notes": {text(fit.notes[i].name): fit.notes[i].value for i in range(fit.n_notes)}}
    for name in ("shift", "eigen_min", "eigen_max"):
        pointer = getattr(fit, name)
        report[name] = doubles(pointer, u) if pointer else None
    return report
