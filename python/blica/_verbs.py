"""The verbs as plain functions, named as in C, the program and R."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Union

import numpy as np

from . import _dask, _options, _tables
from ._data import (FoundLabels, Rows, Table, as_frame, is_frame, is_pieces, is_stream, pack, pack_stream, pieces_of, segment_labels, take_rows,
                    take_segments)
from ._library import ffi, lib
from ._objects import Correlations, Counts, Model, doubles, texts
from ._session import Session, Verbose, encoded, text


def _count(session: Session, x, segments, binarize, ordinal=False, levels=None, missing=None, numeric=None, sample_weight=None):
    if sample_weight is not None and (isinstance(x, Counts) or _dask.is_lazy(x)):
        raise ValueError("sample_weight needs the rows in one place; counts and frames of Dask have none")
    if isinstance(x, Counts):
        if segments is not None:
            raise ValueError("counts know their segments already; leave segments out")
        return x._pointer, None
    if _dask.is_lazy(x):
        return _dask.count(x, segments, binarize=binarize, ordinal=ordinal, levels=levels, missing=missing, numeric=numeric).counts._pointer, None
    if is_stream(x):
        data = pack_stream(session, x, segments, ordinal, binarize=binarize, levels=levels, missing=missing, numeric=numeric,
                           sample_weight=sample_weight)
        return session.call(lib.blica_count, data, free=lib.blica_counts_free), data
    x, segments, rows = take_rows(x, segments, sample_weight)
    table = Table(x, binarize=binarize, ordinal=ordinal, levels=levels, missing=missing, numeric=numeric)
    data = pack(session, table, segments, known_of=rows)
    return session.call(lib.blica_count, data, free=lib.blica_counts_free), data


def count(X, segments=None, *, binarize: Optional[float] = None, ordinal: bool = False, levels=None, missing=None, numeric=None,
          sample_weight=None, threads: Optional[int] = None, verbose: Verbose = 0) -> Counts:
    """Counts the 2x2 tables of all pairs of variables in every segment.

    X is an array or DataFrame of items, NaN for missing, a scipy.sparse matrix of 0 and 1, an object with `__arrow_c_stream__`, or a Dask frame or array, whose
    partitions are counted by the workers of the active distributed.Client; segments holds a label per row, or is
    the name of the column of X that holds them. Items
    may have more levels: columns of a DataFrame that are an ordered Categorical, whole numbers with ordinal=True, and any
    column with levels=, a list of levels, lowest first, for all columns or a dict of such lists by column. Such an item is
    counted as one variable for each level but the lowest, named "item[low<...<high]>=l". missing= is a value, or a list of
    them, that means missing beside NaN, as -9 often does. numeric= names columns of numbers, such as income: each is cut at
    quantiles into 16 levels, labelled by their least numbers ("-Inf" the lowest), which a model remembers; own cuts are
    levels={"income": ["-Inf", 1000, 5000]}. sample_weight has the sampling weight of each row, or names the column of X that
    holds it; within a segment they add up to its effective number of rows.

    >>> counts = count([[0, 1], [1, 1], [1, 0], [1, 1]])
    >>> counts.table(0, 0, 1)
    array([[0., 1.],
           [1., 2.]])
    """
    session = Session(threads, verbose)
    return Counts(_count(session, X, segments, binarize, ordinal, levels, missing, numeric, sample_weight)[0])


def merge(*counts: Counts) -> Counts:
    """Adds up counts of parts of the data; segments are matched by name.

    >>> a, b = count([[0, 1], [1, 1]]), count([[1, 0], [1, 1]])
    >>> float(merge(a, b).samples[0])
    4.0
    """
    if not counts or not all(isinstance(c, Counts) for c in counts):
        raise TypeError("merge takes objects that count() returned")
    parts = ffi.new("blica_counts *[]", [c._pointer for c in counts])
    return Counts(Session().call(lib.blica_merge, len(counts), parts, free=lib.blica_counts_free))


def correlate(X, segments=None, *, condition: Union[None, float] = None, binarize: Optional[float] = None,
              ordinal: bool = False, levels=None, missing=None, numeric=None, threads: Optional[int] = None,
              verbose: Verbose = 0) -> Correlations:
    """Tetrachoric (of ordinal items, polychoric) correlations of every segment, with standard errors and thresholds.

    X is data as for `count`, or Counts. With condition, each matrix is then regularised to that condition number.

    >>> cor = correlate([[0, 0], [0, 1], [1, 0], [1, 1]] * 10 + [[1, 1]] * 20)
    >>> cor.correlation.shape
    (1, 2, 2)
    """
    session = Session(threads, verbose)
    counts, _ = _count(session, X, segments, binarize, ordinal, levels, missing, numeric)
    cor = session.call(lib.blica_correlate, counts, free=lib.blica_cor_free)
    if condition is not None:
        cor = session.call(lib.blica_regularise, cor, float(condition), free=lib.blica_cor_free)
    return Correlations._of(cor)


class Tetrachoric(NamedTuple):
    """Correlation matrix and standard errors (DataFrames when the data were one), thresholds, and flags per pair."""

    correlation: Any
    se: Any
    thresholds: Any
    flags: np.ndarray


def tetrachoric(X, *, binarize: Optional[float] = None, missing=None, threads: Optional[int] = None) -> Tetrachoric:
    """Tetrachoric correlations of binary data: the matrix, its standard errors, the thresholds.

    X is an array, DataFrame or sparse matrix with a row per sample (NaN for missing: each pair uses the rows that have
    both). Thresholds are Phi^-1 of the share of ones. For a single 2x2 table see `tetrachoric_table`.

    >>> x = [[0, 0]] * 40 + [[0, 1]] * 10 + [[1, 0]] * 20 + [[1, 1]] * 30
    >>> r = tetrachoric(x)
    >>> round(float(r.correlation[0, 1]), 4), round(float(r.se[0, 1]), 4)
    (0.6071, 0.1152)
    """
    cor = correlate(X, binarize=binarize, missing=missing, threads=threads)
    if not is_frame(X):
        return Tetrachoric(cor.correlation[0], cor.se[0], cor.thresholds[0], cor.flags[0])
    import pandas

    names = X.columns
    correlation, se = (pandas.DataFrame(part[0], index=names, columns=names) for part in (cor.correlation, cor.se))
    return Tetrachoric(correlation, se, pandas.Series(cor.thresholds[0], index=names), cor.flags[0])


class TetrachoricTable(NamedTuple):
    """Correlation of one 2x2 table, its standard error, the two thresholds, and the flags of `Correlations`."""

    correlation: float
    se: float
    thresholds: np.ndarray
    flags: int


def tetrachoric_table(table) -> TetrachoricTable:
    """Tetrachoric correlation of one 2x2 table of counts, [[n00, n01], [n10, n11]].

    >>> round(tetrachoric_table([[40, 10], [20, 30]]).correlation, 4)
    0.6071
    """
    cells = np.asarray(table, dtype=float)
    if cells.shape != (2, 2):
        raise ValueError(f"the table has shape {cells.shape}; give 2 rows of 2 counts")
    rho, se, threshold, flags = ffi.new("double *"), ffi.new("double *"), ffi.new("double[2]"), ffi.new("int *")
    Session().call(lib.blica_tetrachoric, [cells[1, 1], cells[1, 0], cells[0, 1], cells[0, 0]], rho, se, threshold, flags)
    return TetrachoricTable(rho[0], se[0], np.array([threshold[0], threshold[1]]), flags[0])


class Polychoric(NamedTuple):
    """Correlation matrix and standard errors (DataFrames when the data were one), thresholds of every item, flags per pair; with
    acm=True also the covariance of all thresholds and correlations times the number of rows, a DataFrame when the data were one."""

    correlation: Any
    se: Any
    thresholds: Any
    flags: np.ndarray
    acm: Any = None


def polychoric(X, *, ordinal: bool = True, levels=None, missing=None, acm: bool = False, sample_weight=None, cluster=None,
               threads: Optional[int] = None) -> Polychoric:
    """Polychoric correlations of ordinal data: the matrix, its standard errors, the thresholds.

    X is an array or DataFrame with a row per sample: whole numbers, ordered Categoricals, or levels= as in `count`; items may
    differ in their levels, and NaN is missing (each pair uses the rows that have both). The estimate is Olsson's two-step
    one; thresholds are Phi^-1 of the shares at or below every level but the highest, a list of arrays, or a dict when X is a
    DataFrame. Levels that nobody has are left out, and empty cells stay empty; a pair for which two by two levels remain
    has the tetrachoric correlation. For a single table see `polychoric_table`.

    acm=True adds the asymptotic covariance of all estimates, by sample_weight and cluster if given, in lavaan's order (its NACOV):
    thresholds item by item, then the correlations of items (1,2), (1,3), ..., (2,3), .... Divided by the number of rows it is the
    covariance of the estimates.

    >>> x = [[1, 1]] * 13 + [[1, 2]] * 6 + [[2, 1]] * 69 + [[2, 2]] * 113 + [[2, 3]] * 22 + [[3, 1]] * 41 + [[3, 2]] * 132 + [[3, 3]] * 104
    >>> round(float(polychoric(x).correlation[0, 1]), 5)
    0.49137
    """
    session = Session(threads)
    X, _, rows = take_rows(X, None, sample_weight, cluster)
    data = pack(session, Table(X, ordinal=ordinal, levels=levels, missing=missing), None, known_of=rows)
    pointer = session.call(lib.blica_correlate, session.call(lib.blica_count, data, free=lib.blica_counts_free), free=lib.blica_cor_free)
    covariance = None
    if acm:
        covariance = np.empty((pointer.planes + pointer.pairs,) * 2)
        session.call(lib.blica_acm, data, pointer, 0, ffi.from_buffer("double[]", covariance))
    cor = Correlations._of(pointer)
    ends = np.cumsum([len(own) - 1 for own in cor.levels])
    thresholds = np.split(-cor.thresholds[0], ends[:-1])
    if not is_frame(X):
        return Polychoric(cor.correlation[0], cor.se[0], thresholds, cor.flags[0], covariance)
    import pandas

    names = X.columns
    correlation, se = (pandas.DataFrame(part[0], index=names, columns=names) for part in (cor.correlation, cor.se))
    if covariance is not None:
        labels = [f"{name}|t{m + 1}" for name, own in zip(names, thresholds) for m in range(len(own))]
        labels += [f"{names[i]}~~{names[j]}" for i in range(len(names)) for j in range(i + 1, len(names))]
        covariance = pandas.DataFrame(covariance, index=labels, columns=labels)
    return Polychoric(correlation, se, dict(zip(names, thresholds)), cor.flags[0], covariance)


class Polyserial(NamedTuple):
    """Correlation of a number and an ordinal item, its standard error, and the thresholds of the item."""

    correlation: float
    se: float
    thresholds: np.ndarray


def polyserial(number, item, *, levels=None) -> Polyserial:
    """Correlation of numbers and the normal variable behind an ordinal item, by maximum likelihood given the mean and the standard
    deviation of the numbers and the thresholds of the item. Rows where either is NaN are left out.

    >>> rng = np.random.default_rng(1)
    >>> x = rng.standard_normal(1000)
    >>> y = np.digitize(0.6 * x + 0.8 * rng.standard_normal(1000), [-1, 0, 1])
    >>> abs(polyserial(x, y).correlation - 0.6) < 0.1
    True
    """
    x, y = np.ascontiguousarray(number, dtype=float), np.asarray(item, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"number has shape {x.shape} and item {y.shape}; give a value of each for every row")
    known = np.unique(y[y == y]) if levels is None else np.asarray(levels, dtype=float)
    code = np.full(len(y), -1, dtype=np.int8)
    if len(known) > 100:
        raise ValueError(f"item has {len(known)} levels; up to 100 can be used")
    for at, level in enumerate(known):
        code[y == level] = at
    if ((code < 0) & (y == y)).any():
        raise ValueError(f"item has {y[(code < 0) & (y == y)][0]:g}, which is not one of its levels")
    rho, se, threshold = ffi.new("double *"), ffi.new("double *"), ffi.new("double[]", max(len(known), 1))
    Session().call(lib.blica_polyserial, len(x), ffi.from_buffer("double[]", x), len(known), ffi.from_buffer("int8_t[]", code), rho, se,
                   threshold)
    return Polyserial(rho[0], se[0], np.array(list(threshold)[:len(known) - 1]))


class PolychoricTable(NamedTuple):
    """Correlation of one table, its standard error, thresholds of its rows and of its columns, and the flags of `Correlations`."""

    correlation: float
    se: float
    row_thresholds: np.ndarray
    column_thresholds: np.ndarray
    flags: int


def polychoric_table(table) -> PolychoricTable:
    """Polychoric correlation of one table of counts, levels in order.

    >>> round(polychoric_table([[13, 6, 0], [69, 113, 22], [41, 132, 104]]).correlation, 5)
    0.49137
    """
    cells = np.ascontiguousarray(table, dtype=float)
    if cells.ndim != 2 or min(cells.shape) < 2:
        raise ValueError(f"the table has shape {cells.shape}; give at least 2 rows and 2 columns of counts")
    rows, columns = cells.shape
    rho, se, flags = ffi.new("double *"), ffi.new("double *"), ffi.new("int *")
    threshold = ffi.new("double[]", rows + columns - 2)
    Session().call(lib.blica_polychoric, rows, columns, ffi.from_buffer("double[]", cells), rho, se, threshold, flags)
    found = np.array(list(threshold))
    return PolychoricTable(rho[0], se[0], found[:rows - 1], found[rows - 1:], flags[0])


class NormalProbability(NamedTuple):
    """Probability of a rectangle, a bound of its error, and with gradient=True its derivatives in lower, upper, mean and cov (d p
    is the sum over i and j of cov[i, j] d cov[i, j])."""

    value: float
    error: float
    lower: Optional[np.ndarray] = None
    upper: Optional[np.ndarray] = None
    mean: Optional[np.ndarray] = None
    cov: Optional[np.ndarray] = None


def mvn(lower, upper, mean=None, cov=None, *, loading=None, unique=None, error: float = 1e-6, seed: int = 1,
        gradient: bool = False) -> NormalProbability:
    """P(lower < Y < upper) for Y ~ N(mean, cov), of up to 128 dimensions; bounds may be infinite.

    The covariance is cov, or loading @ loading.T + diag(unique); up to three columns of loadings are integrated without sampling,
    and many dimensions are then no harder than few. The error is a bound, six standard errors of lattices.

    >>> round(mvn([-np.inf, -np.inf], [0, 0], cov=[[1, 0.5], [0.5, 1]]).value, 6)
    0.333333
    >>> round(mvn([0] * 50, [np.inf] * 50, loading=np.ones((50, 1)), unique=np.ones(50), error=1e-12).value, 12)
    0.019607843137
    """
    sides = [np.ascontiguousarray(side, dtype=float) for side in np.broadcast_arrays(lower, upper)]
    if sides[0].ndim != 1:
        raise ValueError(f"lower and upper have shape {sides[0].shape}; give one bound for each dimension")
    n = len(sides[0])
    if (cov is None) == (loading is None) or (loading is None) != (unique is None):
        raise ValueError("give cov, or loading and unique")
    matrix = np.asfortranarray(cov if loading is None else loading, dtype=float)
    if matrix.ndim != 2 or len(matrix) != n or (loading is None and matrix.shape[1] != n):
        raise ValueError(f"{'cov' if loading is None else 'loading'} has shape {matrix.shape}, and there are {n} bounds")
    others = [None if x is None else np.ascontiguousarray(np.broadcast_to(x, n), dtype=float) for x in (mean, unique)]
    pointer = [ffi.NULL if x is None else ffi.cast("double *", x.ctypes.data) for x in sides + others + [matrix]]
    given = ffi.new("blica_rectangle *", {
        "n": n, "k": 0 if loading is None else matrix.shape[1], "lower": pointer[0], "upper": pointer[1], "mean": pointer[2],
        "unique": pointer[3], "cov" if loading is None else "loading": pointer[4], "error": error, "seed": seed})
    value, bound = ffi.new("double *"), ffi.new("double *")
    found = [np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((n, n))] if gradient else []
    slopes = ffi.new("blica_rectangle_gradient *", [ffi.cast("double *", x.ctypes.data) for x in found]) if gradient else ffi.NULL
    Session().call(lib.blica_mvn, given, value, bound, slopes)
    return NormalProbability(value[0], bound[0], *found)


def check_segments(object_, options, advice: str = "give segments") -> None:
    """The program refuses a single segment, too."""
    if object_.u == 1 and not options.allow_unidentified:
        raise ValueError(f"there is one segment ('{text(object_.segments[0])}'): the mixing matrix is not identified without a change "
                         f"of variances; {advice}, or allow_unidentified=True")


def fit(X, segments=None, *, binarize: Optional[float] = None, ordinal: bool = False, levels=None, missing=None, numeric=None,
        sample_weight=None, threads: Optional[int] = None, verbose: Verbose = 0, **options) -> Model:
    """Fits a model and returns it; `BinaryICA` is the same as a scikit-learn estimator.

    X and sample_weight are as for `count`; X may be Counts (not for methods that need the rows). The model keeps the levels of the items. A single segment is refused, as its mixing
    matrix is not identified, unless allow_unidentified is true.

    Options
    -------
{options}

    >>> drawn = simulate(variables=6, sources=2, segments=10, samples=500, seed=3)
    >>> model = fit(drawn.X, drawn.segments, sources=2)
    >>> compare(model, drawn.model).mcs > 0.95
    True
    """
    session = Session(threads, verbose)
    chosen = _options.make(session, "fit", options)
    if chosen.sources == 0:
        raise TypeError("fit needs sources=, the number of sources")
    counts, data = _count(session, X, segments, binarize, ordinal, levels, missing, numeric, sample_weight)
    check_segments(counts, chosen)
    given = ffi.new("blica_input *", {"data": data or ffi.NULL, "counts": counts})
    return labelled(session, session.call(lib.blica_fit, given, chosen, free=lib.blica_model_free), X)


def labelled(session: Session, pointer, X) -> Model:
    """The model, with the labels of its variables where the frame X has them, as pandas.read_spss keeps them from pandas 2.2 on."""
    known = (getattr(X, "attrs", None) or {}).get("column_names_to_labels") or {}
    own = [str(known.get(name) or "") for name in texts(pointer.variables, pointer.n)]
    if any(own):
        given = [ffi.new("char[]", encoded(label)) for label in own]
        session.call(lib.blica_model_set_labels, pointer, ffi.new("char *[]", given))
    return Model(pointer)


class Trial(NamedTuple):
    """One number of states that was tried. heldout is the log-likelihood of held-out rows, NaN where the number was not in
    question; the fewest states within one standard error of the largest are chosen."""

    states: int
    loglik: float
    score: float
    heldout: float
    heldout_se: float


@dataclass(frozen=True, repr=False)
class Segmentation:
    """States found in rows that are in time order.

    labels has the state of each row as text, "1" being the first to appear: what `fit` takes as segments. labels.searched is
    False for rows that split= held out: a fit to X[~labels.searched] and labels[~labels.searched] can be assessed. lag and
    lag_z say whether rows depend on those before them while a state lasts, draws_per_run how many independent draws of the
    sources a run of a state holds. probability is an
    array [rows, states], transition an array [states, states] from row to column. model is fitted to the expected counts of
    the states; it is None when the search was interrupted before there was one.
    """

    labels: np.ndarray
    probability: np.ndarray
    transition: np.ndarray
    expected_rows: np.ndarray
    runs: np.ndarray
    loglik: float
    engine: str
    trials: List[Trial]
    stop: str
    model: Optional[Model]
    lag: float
    lag_z: float
    draws_per_run: float

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.runs)

    def _table(self):
        """Header and rows: what there is of each state."""
        return ["state", "rows", "runs"], [[str(s + 1), f"{self.expected_rows[s]:.0f}", str(self.runs[s])] for s in range(self.states)]

    def _said(self) -> str:
        if self.states == 1:
            return "One state: nothing in these rows says that the sources change over time."
        return f"{self.states} states in {len(self.labels)} rows, log-likelihood {self.loglik:.10g} ({self.stop})"

    def __str__(self) -> str:
        return f"{self._said()}\n\n{_tables.text_table(*self._table())}"

    def __repr__(self) -> str:
        return f"<blica.Segmentation: {self.states} states in {len(self.labels)} rows>"

    def _repr_html_(self) -> str:
        return f"<p>{self._said()}</p>{_tables.html_table(*self._table())}"


def segment(X, *, binarize: Optional[float] = None, ordinal: bool = False, levels=None, missing=None, threads: Optional[int] = None,
            verbose: Verbose = 0, **options) -> Segmentation:
    """Finds segments in rows that are in time order: hidden states in which the means and variances of the sources differ.

    Without states= their number is chosen by the data; one state means that nothing changes over time.

    Options
    -------
{options}

    >>> drawn = simulate(variables=6, sources=2, segments=3, samples=500, seed=3)
    >>> found = segment(drawn.X, sources=2, change_points=True)
    >>> found.states, found.labels[[0, 750, 1499]].tolist()
    (3, ['1', '2', '3'])
    """
    session = Session(threads, verbose)
    chosen = _options.make(session, "segment", options)
    if chosen.sources == 0:
        raise TypeError("segment needs sources=, the number of sources")
    return segmentation_of(session, pack(session, Table(X, binarize=binarize, ordinal=ordinal, levels=levels, missing=missing), None), chosen)


def segmentation_of(session: Session, data, chosen) -> Segmentation:
    r = session.call(lib.blica_segment, data, chosen, free=lib.blica_segmentation_free)
    model = None
    if r.model:  # it outlives the rest
        model = Model(ffi.gc(r.model, lib.blica_model_free))
        r.model = ffi.NULL
    state = np.frombuffer(ffi.buffer(r.state, 4 * r.rows), dtype=np.int32)
    labels = np.array([str(s + 1) for s in range(r.states)], dtype=object)[state].view(FoundLabels)
    labels.searched = np.arange(r.rows) // r.split % 2 == 0 if r.split else np.ones(r.rows, dtype=bool)
    trials = [Trial(t.states, t.loglik, t.score, t.heldout, t.heldout_se) for t in (r.trials[i] for i in range(r.n_trials))]
    return Segmentation(labels, doubles(r.probability, r.rows, r.states), doubles(r.transition, r.states, r.states),
                        doubles(r.expected_rows, r.states), np.array([r.runs[s] for s in range(r.states)]), r.loglik,
                        text(lib.blica_engine_name(r.engine)), trials, text(lib.blica_stop_name(r.stop)), model, r.lag, r.lag_z, r.draws_per_run)


@dataclass(frozen=True)
class Simulation:
    """What `simulate` drew: the true model, and rows X with their segments, or (exact) counts.

    X has the levels of the items when these are numbers; otherwise it is a DataFrame of ordered Categoricals.
    """

    model: Model
    X: Any
    segments: Optional[np.ndarray]
    counts: Optional[Counts]


def _unpack(data) -> np.ndarray:
    """Rows as int8 in the order of the input, -1 for missing."""
    rows, n = data.rows, data.n
    where = np.frombuffer(ffi.buffer(data.row_segment, 4 * rows), dtype=np.int32)
    result = np.empty((rows, n), dtype=np.int8)

    def bits(words, count: int, samples: int) -> np.ndarray:
        raw = np.frombuffer(ffi.buffer(words, 8 * count * n), dtype=np.uint8).reshape(n, 8 * count)
        return np.unpackbits(raw, axis=1, bitorder="little")[:, :samples].T

    for s in range(data.u):
        values = bits(data.ones[s], data.words[s], data.samples[s]).astype(np.int8)
        if data.present[s]:
            values[bits(data.present[s], data.words[s], data.samples[s]) == 0] = -1
        result[where == s] = values
    return result


def _levels_of_rows(model: Model, data) -> Any:
    """Rows as levels of the items: numbers, -1 for missing, or a DataFrame where levels are text."""
    columns = _unpack(data)
    if all(own == ["0", "1"] for own in model.levels):
        return columns
    first = np.cumsum([0] + [len(own) - 1 for own in model.levels])
    codes = np.stack([np.where(columns[:, a] < 0, -1, columns[:, a:b].sum(axis=1)) for a, b in zip(first, first[1:])], axis=1)
    try:
        values = [np.array([int(label) for label in own] + [-1]) for own in model.levels]
    except ValueError:
        import pandas

        return pandas.DataFrame({name: pandas.Categorical.from_codes(codes[:, i], own, ordered=True)
                                 for i, (name, own) in enumerate(zip(model.variables, model.levels))})
    return np.stack([own[codes[:, i]] for i, own in enumerate(values)], axis=1)


def _labels_of_rows(data) -> np.ndarray:
    where = np.frombuffer(ffi.buffer(data.row_segment, 4 * data.rows), dtype=np.int32)
    return np.array(texts(data.segments, data.u))[where]


def simulate(model: Optional[Model] = None, *, threads: Optional[int] = None, verbose: Verbose = 0, **options) -> Simulation:
    """Draws a random model and rows from it; or rows from a given model, as many in each segment as it has samples.

    With a model the only options are seed and exact.

    Options
    -------
{options}

    >>> drawn = simulate(variables=5, sources=2, segments=3, samples=100)
    >>> drawn.X.shape, drawn.model.mixing.shape
    ((300, 5), (5, 2))
    """
    session = Session(threads, verbose)
    chosen = _options.make(session, "simulate", options)
    if model is None:
        outs = [ffi.new("blica_model **"), ffi.new("blica_data **"), ffi.new("blica_counts **")]
        session.call(lib.blica_simulate, chosen, *outs)
        truth = Model(ffi.gc(outs[0][0], lib.blica_model_free))
        data = ffi.gc(outs[1][0], lib.blica_data_free) if outs[1][0] else None
        counts = ffi.gc(outs[2][0], lib.blica_counts_free) if outs[2][0] else None
    else:
        wrong = set(options) - {"seed", "exact"}
        if wrong:
            raise TypeError(f"with a model the options are seed and exact; {sorted(wrong)[0]!r} is given")
        truth, data, counts = _as_model(model), None, None
        if chosen.exact:
            counts = session.call(lib.blica_simulate_exact, truth._pointer, free=lib.blica_counts_free)
        else:
            data = session.call(lib.blica_simulate_rows, truth._pointer, chosen.seed, free=lib.blica_data_free)
    if counts is not None:
        return Simulation(truth, None, None, Counts(counts))
    return Simulation(truth, _levels_of_rows(truth, data), _labels_of_rows(data), None)


def _as_model(model) -> Model:
    model = getattr(model, "model_", model)
    if not isinstance(model, Model):
        raise TypeError(f"{type(model).__name__} is not a model; give what fit() or load() returns, or a fitted BinaryICA")
    return model


def _matrix(a) -> np.ndarray:
    a = getattr(a, "model_", a)
    a = np.asarray(a.mixing if isinstance(a, Model) else a, dtype=float)
    if a.ndim != 2:
        raise ValueError(f"a mixing matrix has 2 dimensions; {a.ndim} are given")
    return a


class Comparison(NamedTuple):
    """Mean cosine similarity; for each column of a the column of b that goes with it, and their signed cosine."""

    mcs: float
    matching: np.ndarray
    cosine: np.ndarray


def compare(a, b) -> Comparison:
    """Compares two mixing matrices (arrays, models or fitted estimators) up to order, sign and scale of the columns.

    >>> compare([[1, 0], [0, 1]], [[0, -2], [3, 0]]).mcs
    1.0
    """
    a, b = _matrix(a), _matrix(b)
    if a.shape != b.shape:
        raise ValueError(f"a is {a.shape[0]} x {a.shape[1]} and b is {b.shape[0]} x {b.shape[1]}; they must have the same shape")
    n, k = a.shape
    mcs, matching, cosine = ffi.new("double *"), ffi.new("int[]", k), ffi.new("double[]", k)
    Session().call(lib.blica_compare, n, k, ffi.from_buffer("double[]", a.T.copy()), ffi.from_buffer("double[]", b.T.copy()),
                   mcs, matching, cosine)
    return Comparison(mcs[0], np.array(list(matching)), np.array(list(cosine)))


class Count(NamedTuple):
    """Table 1 of the paper: statistics that the data give, unknowns of the model, and what is left over."""

    statistics: int
    unknowns: int
    surplus: int


class Plan(NamedTuple):
    """A count, and the accuracy to expect of a fit: the mean MCS over simulated fits, its range, that of random rotations, and how
    many rows per segment, or segments, an MCS of .95 takes; None: more than 64 times as many as there are."""

    statistics: int
    unknowns: int
    surplus: int
    expected_mcs: float
    range: tuple
    chance_mcs: float
    rows_needed: Optional[int]
    segments_needed: Optional[int]


class Identification(NamedTuple):
    """Whether the design can determine the sources ("yes" or "no"), the rank of the information about A and the variances
    against their number, and how loose each column is (0..1)."""

    parameters: int
    rank: int
    design: str
    smallest: float
    looseness: np.ndarray


def identify(model: Optional[Model] = None, *, variables: Optional[int] = None, sources: Optional[int] = None,
             segments: Optional[int] = None, levels: int = 2, samples: Optional[int] = None, change: float = 0.5,
             threads: Optional[int] = None, verbose: Verbose = 0) -> Union[Count, Plan, Identification]:
    """Whether a model can be identified: by counting (variables, sources, segments), or by its rank at a model.

    levels is the number of levels of every variable when counting; a model has its own. With samples, the rows per segment, a few
    fits to simulated data say which accuracy to expect, and how many rows or segments an MCS of .95 takes. change is by how much
    the sources change then: the standard deviation over segments of the logarithm of their standard deviations.

    >>> identify(variables=5, sources=5, segments=10).surplus
    25
    >>> identify(variables=3, sources=3, segments=3, levels=3).surplus
    0
    """
    session = Session(threads, verbose)
    if model is not None and samples is not None:
        raise TypeError("samples= plans a study by variables=, sources= and segments=; leave the model out")
    if model is None:
        if variables is None or sources is None or segments is None:
            raise TypeError("identify needs a model, or variables=, sources= and segments=")
        statistics, unknowns = ffi.new("int64_t *"), ffi.new("int64_t *")
        session.call(lib.blica_identify_count, variables, sources, segments, variables if levels > 2 else 0, statistics, unknowns)
        count = Count(statistics[0], unknowns[0], statistics[0] - unknowns[0])
        if samples is None:
            return count
        plan = ffi.new("blica_plan *")
        session.call(lib.blica_identify_plan, variables, sources, segments, levels, samples, change, plan)
        needed = [None if number < 0 else number for number in (plan.rows_needed, plan.segments_needed)]
        return Plan(*count, plan.mcs, (plan.low, plan.high), plan.chance, *needed)
    found = session.call(lib.blica_identify, _as_model(model)._pointer, free=lib.blica_identification_free)
    return Identification(found.parameters, found.rank, text(lib.blica_answer_name(found.design)), found.smallest, doubles(found.looseness, found.k))


class LogLik(NamedTuple):
    """Log-likelihood with its numerical error, in all, per segment and per row, [rows]."""

    loglik: float
    error: float
    segments: List[str]
    segment_loglik: np.ndarray
    segment_error: np.ndarray
    engine: str
    row_loglik: np.ndarray


def loglik(model, X, segments=None, *, binarize: Optional[float] = None, missing=None, threads: Optional[int] = None,
           verbose: Verbose = 0, **options) -> LogLik:
    """Log-likelihood of rows under a model. Variables and segments are matched by name, values by the model's levels.

    Options
    -------
{options}
    """
    session = Session(threads, verbose)
    model = _as_model(model)
    if segments is None and len(model.segments) > 1:
        raise ValueError(f"the model has {len(model.segments)} segments; give those of the rows")
    X, segments = take_segments(X, segments)
    return loglik_of(session, model, table_for(model, X, binarize, missing), segments, options)


def loglik_of(session: Session, model: Model, table: Table, segments, options) -> LogLik:
    chosen = _options.make(session, "loglik", options)
    data = pack_for(session, model, table, segments)
    r = session.call(lib.blica_loglik, model._pointer, data, chosen, free=lib.blica_loglik_result_free)
    return LogLik(r.total, r.total_error, texts(r.segments, r.u), doubles(r.loglik, r.u), doubles(r.error, r.u),
                  text(lib.blica_engine_name(r.engine)), doubles(r.row_loglik, r.rows))


class Sources(NamedTuple):
    """Posterior means and standard deviations of the sources, arrays [rows, k]; with the option draws, draws from the
    posteriors, [rows, draws, k]."""

    mean: np.ndarray
    sd: np.ndarray
    draws: Optional[np.ndarray] = None

    @property
    def reliability(self) -> np.ndarray:
        """Of the scores of each source, over these rows: the share of the source's variance that its means show, [k]."""
        spread = np.var(self.mean, axis=0)
        return spread / (spread + np.mean(self.sd ** 2, axis=0))


PIECE = 1 << 18  # rows that are packed and computed at a time


def sources(model, X, segments=None, *, binarize: Optional[float] = None, missing=None, threads: Optional[int] = None,
            verbose: Verbose = 0, **options) -> Any:
    """Posterior means and standard deviations of the sources of every row.

    Without segments each row is averaged over those of the model, by their samples and how likely the row is in them. Values
    are coded by the levels of the model.

    X may be larger than memory: a memory map, or an iterator over pieces of the rows or over pairs (X, segments) of them. An
    iterator gives one in return, with the Sources of each piece when that is asked for.

    Options
    -------
{options}
    """
    session = Session(threads, verbose)
    model = _as_model(model)

    def of_rows(x, labels, first=0):
        x, labels = take_segments(x, labels)
        return sources_of(session, model, table_for(model, x, binarize, missing), labels, options, first)

    return by_pieces(X, segments, of_rows) if is_pieces(X) else of_rows(X, segments)


def by_pieces(x, segments, of_rows: Callable[[Any, Any, int], Any]) -> Iterator[Any]:
    """of_rows(part, segments, number of its first row) of each piece of an iterator."""
    first = 0
    for part, own in pieces_of(x, segments):
        part = as_frame(part)
        yield of_rows(part, own, first)
        first += len(part) if hasattr(part, "__len__") else part.shape[0]


def sources_of(session: Session, model: Model, table: Table, segments, options, first: int = 0) -> Sources:
    """segments: None when they are not known, or labels of all rows, empty where a row's is not known. first: the number of the
    first row, which decides its draws."""
    options = dict(options)
    options.setdefault("segment", "unknown" if segments is None else "known")
    chosen = _options.make(session, "sources", options)
    rows, k = table.shape[0], model.mixing.shape[1]
    found = Sources(np.empty((rows, k)), np.empty((rows, k)), np.empty((rows, chosen.draws, k)) if chosen.draws else None)
    if segments is not None:
        ids, labels = segment_labels(segments, rows, blank=True)
        segments = np.array(labels, dtype=object)[ids]
    for start in range(0, rows, PIECE):
        which = slice(start, start + PIECE)
        data = pack_for(session, model, table.rows(which), None if segments is None else segments[which])
        chosen.first_row = first + start
        session.span = (start / rows, min(start + PIECE, rows) / rows)
        r = session.call(lib.blica_sources, model._pointer, data, chosen, free=lib.blica_posterior_free)
        found.mean[which], found.sd[which] = doubles(r.mean, r.rows, r.k), doubles(r.sd, r.rows, r.k)
        if found.draws is not None:
            found.draws[which] = doubles(r.draws, r.rows, r.n_draws, r.k)
    return found


def table_for(model: Model, X, binarize: Optional[float] = None, missing=None) -> Table:
    """Rows coded by the levels of the model."""
    return X if isinstance(X, Table) else Table(X, coding=model.coding, binarize=binarize, missing=missing)


def pack_for(session: Session, model: Model, table: Table, segments, known_of: Rows = Rows()):
    """Data whose columns without names are those of the model, in order; without segments, the first of the model."""
    n = table.shape[1]
    if n != len(model.variables):
        raise ValueError(f"X has {n} variables, the model has {len(model.variables)}")
    if table.names is None:
        table.names = list(model.variables)
    if segments is None:
        segments = np.full(table.shape[0], model.segments[0])
    return pack(session, table, segments, known_of=known_of)


def load(path) -> Model:
    """Reads a model that `save` or the program wrote (model.json)."""
    return Model.load(path)


def save(model, path) -> None:
    """Writes a model as JSON; numbers come back as the same doubles.

    >>> import tempfile, os
    >>> drawn = simulate(variables=4, sources=2, segments=2, samples=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(drawn.model, os.path.join(folder, "model.json"))
    ...     again = load(os.path.join(folder, "model.json"))
    >>> bool((again.mixing == drawn.model.mixing).all())
    True
    """
    _as_model(model).save(path)


for _function, _kind in ((fit, "fit"), (simulate, "simulate"), (loglik, "loglik"), (sources, "sources"),
                          (segment, "segment")):
    if _function.__doc__ and hasattr(lib, f"blica_{_kind}_option_table"):
        _function.__doc__ = _function.__doc__.replace("{options}", _options.document(_kind))
