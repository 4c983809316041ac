"""From an estimate to a conclusion: what a model implies, how far it can be trusted, how many sources there are."""
from __future__ import annotations

import html
import json
import operator
import statistics
from dataclasses import dataclass, replace
from typing import List, NamedTuple, Optional, Sequence

import numpy as np

from . import _options, _tables
from ._data import Rows, Table, data_digest, pack, take_rows, take_segments
from ._library import ffi, lib
from ._objects import Counts, Model, doubles, frozen, texts
from ._session import Session, Verbose, text
from ._verbs import _as_model, _count, pack_for, table_for


def by_workers(client, verb, *arguments, **options):
    """What the workers of a distributed.Client find together; imports distributed."""
    from ._cluster import run

    return run(client, verb, *arguments, **options)


def _squares(pointer, n: int, u: int, diagonal: float) -> np.ndarray:
    """Symmetric matrices [u, n, n] from packed pairs."""
    packed = doubles(pointer, u, n * (n - 1) // 2)
    result = np.full((u, n, n), diagonal)
    j, i = np.tril_indices(n, -1)
    result[:, i, j] = result[:, j, i] = packed
    return result


def _optional_squares(pointer, n: int, u: int, diagonal: float) -> Optional[np.ndarray]:
    return None if pointer == ffi.NULL else _squares(pointer, n, u, diagonal)


def _optional(pointer, *shape: int) -> Optional[np.ndarray]:
    return None if pointer == ffi.NULL else doubles(pointer, *shape)


@dataclass(frozen=True)
class Fitted:
    """What a model implies in each segment, and observed less fitted values when data were given.

    Attributes
    ----------
    correlation, pair : arrays [u, n, n], latent correlations and P(x_i = 1, x_j = 1); pair is None with more levels
    margin : array [u, n], P(x_i = 1); of items with more levels a column for each level but the lowest, P(x_i >= l)
    correlation_residual, pair_residual, margin_residual : the same shapes, or None
    srmr, segment_srmr : standardised root mean square residual, in all and per segment
    """

    variables: List[str]
    segments: List[str]
    correlation: np.ndarray
    margin: np.ndarray
    pair: Optional[np.ndarray]
    correlation_residual: Optional[np.ndarray]
    margin_residual: Optional[np.ndarray]
    pair_residual: Optional[np.ndarray]
    segment_srmr: Optional[np.ndarray]
    srmr: float


def _counts_for(session: Session, model: Model, X, segments, binarize, missing):
    if isinstance(X, Counts):
        return _count(session, X, segments, binarize)[0]
    X, segments = take_segments(X, segments)
    table = table_for(model, X, binarize, missing)
    if table.names is None:
        table.names = list(model.variables)
    return session.call(lib.blica_count, pack(session, table, segments), free=lib.blica_counts_free)


def fitted(model, X=None, segments=None, *, binarize: Optional[float] = None, missing=None, threads: Optional[int] = None) -> Fitted:
    """Correlations, margins and pair probabilities that a model implies; with X (data or Counts) also residuals.

    >>> from blica import simulate
    >>> drawn = simulate(variables=5, sources=2, segments=3, exact=True)
    >>> fitted(drawn.model, drawn.counts).srmr < 1e-9
    True
    """
    session = Session(threads)
    model = _as_model(model)
    counts = ffi.NULL if X is None else _counts_for(session, model, X, segments, binarize, missing)
    f = session.call(lib.blica_fitted, model._pointer, counts, free=lib.blica_fitted_free)
    n, u = f.n, f.u
    return Fitted(texts(f.variables, n), texts(f.segments, u), _squares(f.correlation, n, u, 1.0), doubles(f.margin, u, f.planes),
                  _optional_squares(f.pair, n, u, np.nan), _optional_squares(f.correlation_residual, n, u, 0.0),
                  _optional(f.margin_residual, u, f.planes), _optional_squares(f.pair_residual, n, u, np.nan),
                  _optional(f.segment_srmr, u), f.srmr)


@dataclass(frozen=True, repr=False)
class Assessment:
    """How far an estimate can be trusted.

    Attributes
    ----------
    verdict : four sentences: what the design can identify, whether the data show change, whether the model fits, how well
        axes are determined
    answers : dict of design, change, fit, axes: "yes", "weak", "no" or "unknown"
    expected_mcs, chance_mcs : the accuracy to expect of the mixing matrix, and that of its space alone, randomly rotated
    distance, refit_mcs, refit_gain : largest difference from a refit in standard errors (beyond 0.1 there are no errors), the MCS
        with it, and what it gains in the log-likelihood of all pairs of values
    angle, angle_bound : arrays [k], degrees by which a column may be off: one standard deviation, 90 % bound
    change_p, source_change_p : p values against variances that are the same in all segments
    mixing_se, mixing_low, mixing_high : arrays [n, k]; the error is the larger of the asymptotic and the bootstrap one
    log_variance_se, variance_low, variance_high : arrays [u, k], the same
    threshold_se : array [u, n], of items with more levels a column for each level but the lowest
    mean_se, cut_se : arrays [u, k] and [n], or as many cuts as there are
    model : the model that was assessed
    covariance : array [nk + uk] squared, asymptotic, of A (column by column) and log v (segment by segment), or None
    mixing_se_bootstrap, log_variance_se_bootstrap, mean_se_bootstrap, stability : None without a bootstrap
    srmr, srmr_unbiased, srmr_interval, m2, df, m2_p, rmsea2, rmsea2_interval : does the model fit? srmr_unbiased is less sampling
        noise
    segments_found : whether the segments were found in these rows, so that change cannot be tested
    lag, lag_z, decay, inflation, draws_per_segment : how far rows depend on those before them
    rows, clusters, strata, block_length : the effective number of rows, and what was taken as one unit (0: single rows)
    margins : dict of p, size, item, segment and shift: are the cuts the same in all segments? None where there are none
    segment_srmr, segment_m2, item_srmr : fit by segment and by item
    seed : of the draws
    change_beyond_p : p of no change but what follows the means of the sources, as it does where sources are not normal
    tails_p : p of sources with no heavier tails than the normal distribution; nan without four items
    replicates : sets of replicate weights, which take the place of the bootstrap's draws and give all errors
    """

    verdict: List[str]
    expected_mcs: float
    angle: np.ndarray
    angle_bound: np.ndarray
    change_p: float
    source_change_p: np.ndarray
    mixing_se: np.ndarray
    mixing_low: np.ndarray
    mixing_high: np.ndarray
    log_variance_se: np.ndarray
    variance_low: np.ndarray
    variance_high: np.ndarray
    threshold_se: np.ndarray
    covariance: Optional[np.ndarray]
    draws: int
    mixing_se_bootstrap: Optional[np.ndarray]
    log_variance_se_bootstrap: Optional[np.ndarray]
    mean_se_bootstrap: Optional[np.ndarray]
    stability: Optional[np.ndarray]
    srmr: float
    m2: float
    df: int
    m2_p: float
    rmsea2: float
    rmsea2_interval: tuple
    segment_srmr: np.ndarray
    segment_m2: np.ndarray
    item_srmr: np.ndarray
    level: float
    mean_se: np.ndarray
    cut_se: np.ndarray
    model: Model
    answers: dict
    chance_mcs: float
    distance: float
    refit_mcs: float
    srmr_unbiased: float
    lag: float
    inflation: float
    draws_per_segment: float
    srmr_interval: tuple
    lag_z: float
    decay: float
    rows: float
    clusters: int
    block_length: int
    margins: Optional[dict]
    seed: int
    segments_found: bool
    draws_planned: int
    refit_gain: float
    change_beyond_p: float
    tails_p: float
    replicates: int = 0
    strata: int = 0

    def __post_init__(self) -> None:
        for part in self.__dict__.values():
            if isinstance(part, np.ndarray):
                frozen(part)  # the model keeps it

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __str__(self) -> str:
        return "\n".join([*self.verdict, "", _tables.loadings_text(self.model, self)])

    def __repr__(self) -> str:
        return f"<blica.Assessment: expected MCS {self.expected_mcs:.3f}, change p = {self.change_p:.3g}, SRMR {self.srmr:.3f}>"

    def _repr_html_(self) -> str:
        return _tables.model_html(self.model, self)

    def to_frame(self, what: str = "mixing"):
        """The numbers of the model as a pandas DataFrame, with their errors and intervals: mixing, variances or means."""
        half = statistics.NormalDist().inv_cdf(0.5 + self.level / 2) * self.mean_se
        bounds = {"mixing": {"se": self.mixing_se, "low": self.mixing_low, "high": self.mixing_high},
                  "variances": {"se_log": self.log_variance_se, "low": self.variance_low, "high": self.variance_high},
                  "means": {"se": self.mean_se, "low": self.model.means - half, "high": self.model.means + half}}
        return _tables.frame(self.model, what, bounds.get(what))

    def save(self, path) -> None:
        """Writes all numbers as JSON, as `blica assess --out` does, for `blica report --assessment`. Pickle keeps the object."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_record(self), file, indent=2)
            file.write("\n")


def _numbers(value):
    """Numbers and text as the program writes them in JSON."""
    if isinstance(value, str):
        return value.encode(errors="surrogateescape").decode(errors="replace")
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return [_numbers(part) for part in value]


def _record(a: Assessment) -> dict:
    u, k = a.log_variance_se.shape
    stability: Sequence = [None] * k if a.stability is None else a.stability.tolist()
    columns = zip(_tables.source_names(k), a.angle, a.angle_bound, a.source_change_p, stability)
    margins = a.margins or {"p": None, "size": None, "item": None, "segment": None, "shift": None}
    said = {
        "expected_mcs": a.expected_mcs,
        "columns": [dict(zip(("source", "angle_degrees", "angle_bound_degrees", "change_p", "stability"), map(_numbers, own)))
                    for own in columns],
        "change": {name: _numbers(value) for name, value in (
            ("p", a.change_p), ("beyond_means_p", a.change_beyond_p), ("lag", a.lag), ("lag_z", a.lag_z), ("decay", a.decay),
            ("inflation", a.inflation), ("draws_per_segment", a.draws_per_segment))},
        "srmr": a.srmr, "rmsea2": a.rmsea2, "rmsea2_interval": a.rmsea2_interval, "m2": a.m2, "df": a.df, "m2_p": a.m2_p,
        "verdict": a.answers, "sentences": a.verdict, "distance": a.distance, "refit_mcs": a.refit_mcs, "refit_gain": a.refit_gain, "tails_p": a.tails_p,
        "chance_mcs": a.chance_mcs,
        "srmr_unbiased": a.srmr_unbiased, "srmr_interval": a.srmr_interval,
        "rows": {"number": _numbers(a.rows), "block_length": a.block_length, "clusters": a.clusters, "strata": a.strata,
                 "replicates": a.replicates},
        "margins": {name: _numbers(value) for name, value in margins.items()},
        "mixing": {name: _numbers(value) for name, value in (
            ("estimate", a.model.mixing), ("se", a.mixing_se), ("se_bootstrap", a.mixing_se_bootstrap), ("low", a.mixing_low),
            ("high", a.mixing_high))},
        "variances": {name: _numbers(value) for name, value in (
            ("log_se", a.log_variance_se), ("log_se_bootstrap", a.log_variance_se_bootstrap), ("low", a.variance_low),
            ("high", a.variance_high))},
        "means_se_bootstrap": a.mean_se_bootstrap, "thresholds_se": a.threshold_se, "means_se": a.mean_se, "cuts_se": a.cut_se,
        "items": [{"variable": _numbers(name), "srmr": _numbers(own)} for name, own in zip(a.model.variables, a.item_srmr)],
        "segments": [{"segment": _numbers(name), "srmr": _numbers(srmr), "m2": _numbers(m2)}
                     for name, srmr, m2 in zip(a.model.segments, a.segment_srmr, a.segment_m2)],
        "level": a.level, "draws": a.draws, "draws_planned": a.draws_planned, "seed": a.seed, "segments_found": a.segments_found}
    return {name: value if isinstance(value, dict) or name in ("columns", "items", "segments") else _numbers(value)
            for name, value in said.items()}


def assess(model, X=None, segments=None, *, sample_weight=None, cluster=None, strata=None, replicate_weights=None, replicate_method=None,
           binarize: Optional[float] = None, missing=None, threads: Optional[int] = None, verbose: Verbose = 0, client=None,
           **options) -> Assessment:
    """Standard errors, angles, expected MCS, a test of change and fit statistics of a model.

    X, segments and sample_weight are the rows that the model was fitted to. cluster says which rows belong together, as
    labels or as the name of a column: errors and tests then take clusters as independent. A cluster lies in one segment.
    strata says from which stratum each cluster or row was drawn: it is compared with those of its stratum and segment alone.
    replicate_weights, an array or frame with a column for each set or the names of columns of X, give errors as official
    surveys publish them, by refits; replicate_method says how they were made: "jk1", "brr", "fay=0.5", or the factors of the
    squared deviations, one number or one for each.

    The model keeps the result, and so does its pickle: what it shows of errors (`to_frame`, plots, `report`, notebooks) comes
    from there, the same rows and options return the kept object, and without X it is returned as it is.

    With client=, a distributed.Client, all workers of its cluster share the work and each holds the rows; the result is the same doubles.

    Options
    -------
{options}

    >>> from blica import fit, simulate
    >>> drawn = simulate(variables=6, sources=2, segments=10, samples=500, seed=3)
    >>> found = assess(fit(drawn.X, drawn.segments, sources=2), drawn.X, drawn.segments, bootstrap=0)
    >>> found.change_p < 0.05, found.expected_mcs > 0.9
    (True, True)
    """
    session = Session(threads, verbose)
    model = _as_model(model)
    if X is None:
        if options or any(given is not None for given in (segments, sample_weight, cluster, strata, replicate_weights, replicate_method,
                                                           client)):
            raise ValueError("X is not given, and without it only what the model keeps can be shown; give X and segments, the rows that it "
                             "was fitted to")
        if model.assessment is None:
            raise ValueError("the model keeps no assessment; give X and segments, the rows that it was fitted to")
        return model.assessment
    chosen = _options.make(session, "assess", options)
    items, labels, rows = take_rows(X, segments, sample_weight, cluster, replicate_weights, replicate_method, strata)
    data = pack_for(session, model, table_for(model, items, binarize, missing), labels, rows)
    key = data_digest(data), bytes(ffi.buffer(chosen))
    if model._kept is None or model._kept[0] != key or model._kept[1].draws < model._kept[1].draws_planned:
        found = (_assessed(session, model, data, chosen) if client is None else
                 by_workers(client, assess, model, X, segments, sample_weight=sample_weight, cluster=cluster, strata=strata,
                            replicate_weights=replicate_weights, replicate_method=replicate_method, binarize=binarize, missing=missing,
                            threads=threads, verbose=verbose, **options))
        model._kept = key, found if client is None else replace(found, model=model)
    return model._kept[1]


def assessed_on(model: Model, X, segments, rows: Rows, threads: Optional[int] = None) -> Assessment:
    """What the model keeps, if it was assessed on these rows with any options; else with the usual ones."""
    session = Session(threads)
    data = pack_for(session, model, table_for(model, X), segments, rows)
    if model._kept is None or model._kept[0][0] != data_digest(data):
        return assess(model, X, segments, sample_weight=rows.weight, cluster=rows.cluster, strata=rows.strata, threads=threads)
    return model._kept[1]


def _assessed(session: Session, model: Model, data, chosen) -> Assessment:
    a = session.call(lib.blica_assess, model._pointer, data, chosen, free=lib.blica_assessment_free, keeps=True)
    n, k, u, p = a.n, a.k, a.u, a.parameters

    def mixing(pointer):
        return None if pointer == ffi.NULL else doubles(pointer, k, n).T.copy()

    return Assessment(
        [text(a.verdict[i]) for i in range(4)], a.expected_mcs, doubles(a.angle, k), doubles(a.angle_bound, k), a.change_p,
        doubles(a.source_change_p, k), mixing(a.mixing_se), mixing(a.mixing_low), mixing(a.mixing_high),
        doubles(a.log_variance_se, u, k), doubles(a.variance_low, u, k), doubles(a.variance_high, u, k),
        doubles(a.threshold_se, u, a.planes), _optional(a.covariance, p, p), a.draws, mixing(a.mixing_se_bootstrap),
        _optional(a.log_variance_se_bootstrap, u, k), _optional(a.mean_se_bootstrap, u, k), _optional(a.stability, k), a.srmr,
        a.m2, a.df, a.m2_p, a.rmsea2, (a.rmsea2_low, a.rmsea2_high), doubles(a.segment_srmr, u), doubles(a.segment_m2, u),
        doubles(a.item_srmr, n), a.level, doubles(a.mean_se, u, k), doubles(a.cut_se, a.planes), model,
        {text(lib.blica_question_name(i)): text(lib.blica_answer_name(a.answer[i])) for i in range(4)}, a.chance_mcs, a.distance,
        a.refit_mcs, a.srmr_unbiased, a.lag, a.inflation, a.draws_per_segment, (a.srmr_low, a.srmr_high), a.lag_z, a.decay, a.rows,
        a.clusters, a.block_length, None if a.margin_item < 0 else {
            "p": a.margin_p, "size": a.margin_size, "item": model.variables[a.margin_item],
            "segment": model.segments[a.margin_segment], "shift": a.margin_shift}, chosen.seed, bool(a.segments_found),
        a.draws_planned, a.refit_gain, a.change_beyond_p, a.tails_p, a.replicates, a.strata)


class ItemTest(NamedTuple):
    """A test of one item: segment is None over all segments, kind "cuts" or "loadings". effect is by how many standard deviations
    cuts are higher there, or the largest change of a standardised loading. found: set apart as the first, second, ..., or 0."""

    item: str
    segment: Optional[str]
    kind: str
    effect: float
    p: float
    p_adjusted: float
    found: int


@dataclass(frozen=True, repr=False)
class Invariance:
    """Items that differ between segments.

    Attributes
    ----------
    items : list of ItemTest, those over all segments first, the most significant first
    found : how many items were set apart in some segment
    level : the false discovery rate
    shift : array [u, cuts], by how many standard deviations each cut is higher; NaN without a test
    share : array [u, levels], by how much that changes the probability of each level, item after item
    loading : array [u, n, k], change of the standardised loadings
    """

    items: List[ItemTest]
    found: int
    level: float
    shift: np.ndarray
    share: np.ndarray
    loading: np.ndarray

    def __repr__(self) -> str:
        head = f"Invariance: {self.found} items set apart in a segment (false discovery rate {self.level:g})"
        worst = sorted((t for t in self.items if t.segment is not None), key=lambda t: t.p_adjusted)[:5]
        return "\n".join([head] + [f"  {t.item} in {t.segment}: {t.kind} {t.effect:+.2f}, p {t.p:.2g}, adjusted {t.p_adjusted:.2g}"
                                   for t in worst])


def invariance(model, X, segments=None, *, sample_weight=None, cluster=None, strata=None, binarize: Optional[float] = None,
               missing=None, threads: Optional[int] = None, verbose: Verbose = 0, **options) -> Invariance:
    """Tests whether each item has the same cuts and loadings in all segments; arguments as in `assess`.

    Options
    -------
{options}

    >>> from blica import fit, simulate
    >>> drawn = simulate(variables=6, sources=2, segments=10, samples=500, seed=3)
    >>> invariance(fit(drawn.X, drawn.segments, sources=2), drawn.X, drawn.segments).found
    0
    """
    session = Session(threads, verbose)
    model = _as_model(model)
    chosen = _options.make(session, "invariance", options)
    X, segments, rows = take_rows(X, segments, sample_weight, cluster, strata=strata)
    data = pack_for(session, model, table_for(model, X, binarize, missing), segments, rows)
    r = session.call(lib.blica_invariance, model._pointer, data, chosen, free=lib.blica_invariance_free)
    variables, labels = texts(r.variables, r.n), texts(r.segments, r.u)
    items = [ItemTest(variables[t.item], None if t.segment < 0 else labels[t.segment], text(lib.blica_item_part_name(t.kind)),
                      t.effect, t.p, t.p_adjusted, t.found) for t in r.test[0:r.tests]]
    loading = doubles(r.loading, r.u, r.k, r.n).transpose(0, 2, 1).copy()
    return Invariance(items, r.found, r.level, doubles(r.shift, r.u, r.planes), doubles(r.share, r.u, r.planes + r.n), loading)


@dataclass(frozen=True, repr=False)
class Selection:
    """How many sources, and why.

    Attributes
    ----------
    sources : recommended number; 0 when there is no structure
    reason : in words
    candidates : array of the numbers compared, 0 first
    heldout, heldout_se : log-likelihood of held-out pairs less that of independence, error of its difference from the best
    heldout_segments, heldout_segments_se : the same for whole segments that were held out; NaN where that is not possible
    bic, map : arrays over candidates
    eigenvalues, reference : of the common correlations, and the 95 % quantiles of independent items
    chosen : what each criterion chooses
    """

    sources: int
    reason: str
    method: str
    candidates: np.ndarray
    heldout: np.ndarray
    heldout_se: np.ndarray
    bic: np.ndarray
    map: np.ndarray
    eigenvalues: np.ndarray
    reference: np.ndarray
    chosen: dict
    heldout_segments: np.ndarray
    heldout_segments_se: np.ndarray

    def _table(self):
        """Header and rows of the comparison; the recommended number is marked."""
        def cell(value: float, digits: int) -> str:
            return "" if np.isnan(value) else f"{value:.{digits}f}"

        rows = [[f"{k}", cell(self.heldout[c], 6), cell(self.heldout_se[c], 6), cell(self.heldout_segments[c], 6), cell(self.bic[c], 1),
                 cell(self.map[c], 5), cell(self.eigenvalues[k - 1], 3) if k else "", cell(self.reference[k - 1], 3) if k else "",
                 "<" if k == self.sources else ""] for c, k in enumerate(self.candidates.tolist())]
        return ["sources", "held-out", "error", "segments", "BIC", "MAP", "eigenvalue", "reference", ""], rows

    def __str__(self) -> str:
        return f"{self.reason}\n\n{_tables.text_table(*self._table())}"

    def __repr__(self) -> str:
        return f"<blica.Selection: {self.sources} of up to {self.candidates[-1]} sources>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.reason)}</p>{_tables.html_table(*self._table())}"


def _range_text(sources):
    """Numbers of sources as LOW:HIGH; text and single numbers as they are."""
    if sources is None or isinstance(sources, str) or not hasattr(sources, "__len__"):
        return sources
    numbers = [operator.index(k) for k in sources]
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise ValueError(f"sources is {sources!r}; give consecutive numbers, lowest first, as in range(1, 9) or '1:8'")
    return f"{numbers[0]}:{numbers[-1]}"


def select(X, segments, *, binarize: Optional[float] = None, ordinal: bool = False, levels=None, missing=None, numeric=None,
           threads: Optional[int] = None, verbose: Verbose = 0, client=None, **options) -> Selection:
    """Chooses the number of sources by held-out likelihood, beside parallel analysis, MAP and BIC.

    sources is text such as "1:8", a range, or a list of consecutive numbers. client is a distributed.Client, all of whose workers
    share the work, as in `assess`.

    Options
    -------
{options}

    >>> from blica import simulate
    >>> drawn = simulate(variables=8, sources=2, segments=8, samples=300, seed=3)
    >>> select(drawn.X, drawn.segments, sources="1:3", references=20).sources
    2
    """
    if client is not None:
        return by_workers(client, select, X, segments, binarize=binarize, ordinal=ordinal, levels=levels, missing=missing, numeric=numeric,
                          threads=threads, verbose=verbose, **options)
    session = Session(threads, verbose)
    chosen = _options.make(session, "select", {**options, "sources": _range_text(options.get("sources"))})
    X, segments = take_segments(X, segments)
    data = pack(session, Table(X, binarize=binarize, ordinal=ordinal, levels=levels, missing=missing, numeric=numeric), segments)
    s = session.call(lib.blica_select, data, chosen, free=lib.blica_selection_free)
    keep = [0] + list(range(s.lowest, s.highest + 1))
    heldout, heldout_se, bic, average, segment, segment_se = (
        doubles(x, s.highest + 1)[keep]
        for x in (s.heldout, s.heldout_se, s.bic, s.map, s.heldout_segments, s.heldout_segments_se))
    by = {"heldout": s.by_heldout, "parallel": s.by_parallel, "map": s.by_map, "bic": s.by_bic}
    if s.by_segments >= 0:
        by["segments"] = s.by_segments
    return Selection(s.sources, text(s.reason), text(lib.blica_method_name(s.method)), np.array(keep), heldout, heldout_se, bic, average,
                     doubles(s.eigenvalue, s.n), doubles(s.reference, s.n), by, segment, segment_se)


for _function, _kind in ((assess, "assess"), (invariance, "invariance"), (select, "select")):
    if _function.__doc__ and hasattr(lib, f"blica_{_kind}_option_table"):
        _function.__doc__ = _function.__doc__.replace("{options}", _options.document(_kind))
