"""BinaryICA: the fit as a scikit-learn estimator."""
from __future__ import annotations

import math
import reprlib
import warnings
from typing import Any, List, Optional, Tuple, Union

import numpy as np

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.validation import _check_feature_names_in, check_is_fitted
except ImportError as error:
    raise ImportError("BinaryICA needs scikit-learn (Debian: python3-sklearn); blica.fit() does the same without") from error

from . import _dask, _options
from ._inference import Assessment, assess
from ._data import Coding, Table, as_frame, given_levels, is_frame, is_pieces, is_sparse, pack, segment_labels
from ._library import ffi, lib
from ._objects import Correlations, Model, frozen
from ._session import BlicaWarning, Session
from ._verbs import by_pieces, check_segments, loglik_of, labelled, segmentation_of, sources_of

# What scikit-learn calls some of the options; all others have the names of the table.
NAMES = {"n_components": "sources", "n_init": "starts", "max_iter": "max_iterations", "tol": "tolerance", "random_state": "seed"}
OWN = ("n_jobs", "verbose", "binarize", "ordinal", "levels", "missing", "numeric", "segments", "segment_column")  # parameters that are no options of the fit


class BinaryICA(TransformerMixin, BaseEstimator):
    """Independent component analysis of binary and ordinal data with segments.

    The segment of each row is given to fit as ``segments``, or it is a column of X that ``segment_column`` names. The target
    ``y`` of scikit-learn is ignored, as by PCA. A parameter that is None has the default of the library, which is that of the
    program: ``BinaryICA(k).fit(X, segments=s)`` is what ``blica fit --sources k`` computes.

    Parameters
    ----------
    n_components : int, default None
        Number of sources; None for as many as there are variables.
    random_state : int, RandomState or None
        Seed of the random starts. None is the fixed seed that the program has, so that results can be repeated.
    n_jobs : int, default None
        Threads, as in scikit-learn: None is 1 and -1 all cores. The result is bit-identical for any number of threads.
    verbose : int or callable, default 0
        1 and 2 write progress to stderr; a callable receives it as a dict, and stops the fit by returning False.
    binarize : float, default None
        Numeric values above it are 1, others 0, as in BernoulliNB. With None each column must have two levels: 0 and 1, or
        two others, of which the lower becomes 0; or more, see below.
    ordinal : bool, default False
        The distinct whole numbers of a column, in order, are its levels. Ordered Categoricals of a DataFrame need no option.
    levels : list or dict, default None
        Levels of all columns, lowest first, or a dict from names or indices of columns to such lists.
    missing : value or list, default None
        Values that mean missing beside NaN, in new data too.
    numeric : list, default None
        Names or indices of columns of numbers, each of which is cut at quantiles into 16 levels; new data are cut at the same
        numbers.
    segment_column : str or int, default None
        The column of X that holds the segment of each row: a name of a DataFrame, or an index (-1 is the last). It is not a
        variable of the model. With it segments reach every step of Pipeline, GridSearchCV and cross_val_score.
    segments : "auto" or None, default None
        "auto" finds the segments of rows that are in time order and have none, by `blica.segment`; the fit is then to its
        labels.
{options}

    Attributes
    ----------
    mixing_ : array [n, k]
        The mixing matrix A; the largest entry of each column is positive, columns are in order of explained variance.
    components_ : array [k, n]
        Pseudo-inverse of mixing_, as FastICA has it.
    variances_, means_ : arrays [u, k]
        Of the sources in every segment.
    cuts_ : array [n]
        Thresholds of the items, the same in all segments; items with more than two levels have one for each but the lowest.
    thresholds_ : array [u, n]
        Normal quantiles of the shares of ones, or at or above each level.
    correlations_ : array [u, n, n]
        Tetrachoric or polychoric correlations of every segment, before regularisation.
    segments_ : list of str
        Labels of the segments: numbers in their order, a pandas Categorical in that of its categories, text in order of
        appearance.
    levels_ : list
        For each variable its levels, lowest first; None for 0 and 1. New data are coded by them.
    n_iter_, converged_, starts_
        How the fit went; starts_ has a dict for each start.
    assessment_, mixing_se_, expected_mcs_
        After assess: all of it, standard errors of mixing_, and the accuracy to expect.
    segmentation_ : Segmentation
        With segments="auto": what `blica.segment` found; its labels are the segments of the rows.
    model_ : Model
        All of it, as blica.load and blica.save know it.
    n_features_in_, feature_names_in_
        As in all estimators; with segment_column they include that column.

    Examples
    --------
    >>> import blica
    >>> drawn = blica.simulate(variables=6, sources=2, segments=10, samples=500, seed=3)
    >>> ica = blica.BinaryICA(n_components=2).fit(drawn.X, segments=drawn.segments)
    >>> ica.variances_.shape
    (10, 2)
    >>> ica.get_feature_names_out().tolist()
    ['z1', 'z2']
    """

    def __init__(self, n_components=None, *, method=None, condition=None, n_init=None, max_iter=None, tol=None,
                 random_state=None, n_jobs=None, verbose=0, binarize=None, ordinal=False, levels=None, missing=None, numeric=None,
                 segment_column=None, segments=None, allow_unidentified=None, link=None, thresholds=None,
                 max_seconds=None, prior=None, prior_mixing=None, prior_variance=None, likelihood_power=None, contrast=None,
                 checkpoint=None, checkpoint_seconds=None, resume=None, free=None):
        self.n_components = n_components
        self.method = method
        self.condition = condition
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.binarize = binarize
        self.ordinal = ordinal
        self.levels = levels
        self.missing = missing
        self.numeric = numeric
        self.segment_column = segment_column
        self.segments = segments
        self.allow_unidentified = allow_unidentified
        self.link = link
        self.thresholds = thresholds
        self.max_seconds = max_seconds
        self.prior = prior
        self.prior_mixing = prior_mixing
        self.prior_variance = prior_variance
        self.likelihood_power = likelihood_power
        self.contrast = contrast
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.resume = resume
        self.free = free

    def fit(self, X, y=None, *, segments=None) -> "BinaryICA":
        """Fits the model. segments has the segment of each row, unless segment_column names it; y is ignored."""
        if _dask.is_lazy(X):
            return self._fit_lazy(X, segments)
        session = self._session()
        table, segments = self._split(X, segments, reset=True)
        if table.shape[0] < 2:
            raise ValueError("n_samples=1: at least 2 rows are needed")
        options = _options.make(session, "fit", self._chosen(table.shape[1]))
        if self.segments is not None:
            segments = self._find_segments(session, table, segments)
        data = pack(session, table, segments)
        check_segments(data, options, self._about_segments(y, segments))
        counts = session.call(lib.blica_count, data, free=lib.blica_counts_free)
        cor = session.call(lib.blica_correlate, counts, free=lib.blica_cor_free)
        given = ffi.new("blica_input *", {"data": data, "counts": counts, "cor": cor})
        self._keep(labelled(session, session.call(lib.blica_fit, given, options, free=lib.blica_model_free), X), Correlations._of(cor), table.levels)
        return self

    def _fit_lazy(self, X, segments) -> "BinaryICA":
        """The fit to a Dask frame or array, by the counts of its partitions."""
        if self.segments is not None:
            raise ValueError('segments="auto" needs the rows in one place; give X.compute(), or the segments that you know')
        if isinstance(segments, str) or (segments is not None and self.segment_column is not None):
            raise TypeError("the column of X that holds the segments is named by BinaryICA(segment_column=...), and by that alone")
        if self.segment_column is not None and not isinstance(self.segment_column, str):
            raise TypeError(f"segment_column is {self.segment_column!r}; of a Dask frame give its name")
        session, meta = self._session(), _dask.empty(X)
        _check_names(self, meta, True)
        found = _dask.count(X, segments if self.segment_column is None else self.segment_column, binarize=self.binarize,
                            ordinal=self.ordinal, levels=self.levels, missing=self.missing, numeric=self.numeric)
        options = _options.make(session, "fit", self._chosen(len(found.levels)))
        counts = found.counts._pointer
        check_segments(counts, options, self._about_segments(None, segments))
        cor = session.call(lib.blica_correlate, counts, free=lib.blica_cor_free)
        given = ffi.new("blica_input *", {"counts": counts, "cor": cor})
        self._keep(Model(session.call(lib.blica_fit, given, options, free=lib.blica_model_free)), Correlations._of(cor), found.levels)
        return self

    def _find_segments(self, session: Session, table: Table, given) -> np.ndarray:
        """Labels of the rows, which are in time order."""
        if not isinstance(self.segments, str) or self.segments != "auto":
            raise ValueError(f"segments is {reprlib.repr(self.segments)}; give \"auto\" to find them, or give the labels that you have to "
                             "fit: fit(X, segments=labels)")
        if given is not None:
            raise ValueError('segments="auto" finds the segments, and they are given too; give one of them')
        chosen = {name: value for name, value in self._chosen(table.shape[1]).items()
                  if name in ("sources", "seed", "link", "max_seconds")}
        found = segmentation_of(session, pack(session, table, None), _options.make(session, "segment", chosen))
        self.segmentation_ = found
        return found.labels

    def _about_segments(self, y, segments) -> str:
        """What to do about a single segment."""
        if self.segments is not None:
            return 'segments="auto" found no change over time in these rows: give segments that you know'
        return "give segments" if y is None or segments is not None else "y is ignored, so give fit(X, segments=labels)"

    def _session(self) -> Session:
        return Session(1 if self.n_jobs is None else self.n_jobs, self.verbose, {ours: theirs for theirs, ours in NAMES.items()})

    def _chosen(self, n: int) -> dict:
        values = {NAMES.get(name, name): value for name, value in self.get_params(deep=False).items() if name not in OWN}
        values["sources"] = n if self.n_components is None else self.n_components
        if self.random_state is not None and not hasattr(self.random_state, "__index__"):
            if not hasattr(self.random_state, "randint"):
                raise TypeError(f"random_state is {self.random_state!r}; give a whole number, a RandomState or None")
            values["seed"] = self.random_state.randint(np.iinfo(np.int32).max)
        return values

    def _split(self, X, segments, reset: bool) -> Tuple[Table, Any]:
        """The variables, and the segments of the rows wherever they come from (None: not known)."""
        whole = X = as_frame(X)
        if isinstance(segments, str):
            raise TypeError(f"segments is {segments!r}; a column of X that holds the segments is named by BinaryICA(segment_column={segments!r}), "
                            "so that transform and cross-validation know it, too")
        if self.segment_column is not None and segments is not None:
            raise ValueError(f"both segments and segment_column={self.segment_column!r} are given; give one of them")
        bare = not reset and self._lacks_column(X)
        if self.segment_column is not None and not bare:
            X, segments = _take_column(X, self.segment_column)
        early = not bare and (self.segment_column is not None or is_frame(whole) or is_sparse(whole))
        if early:
            _check_names(self, whole, reset)
        table = (Table(X, binarize=self.binarize, ordinal=self.ordinal, levels=self.levels, missing=self.missing,
                       numeric=self.numeric) if reset else
                 Table(X, coding=lambda names: self.levels_, binarize=self.binarize, missing=self.missing, lenient=self._learned))
        if not early and not bare:
            _check_names(self, table.x, reset)
        if not reset:
            table.names = list(self.model_.variables)
        return table, segments

    def _lacks_column(self, X) -> bool:
        """Whether X has all columns of the fit but that of the segments."""
        if self.segment_column is None or len(np.shape(X)) != 2 or np.shape(X)[1] != self.n_features_in_ - 1:
            return False
        if not is_frame(X):
            return True
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        place = names.index(str(self.segment_column)) if str(self.segment_column) in names else int(self.segment_column)
        del names[place]
        return [str(name) for name in X.columns] == names

    def _learned(self, names, n: int) -> List[bool]:
        """Of which columns ordinal=True took the levels from the rows of the fit, which may lack some."""
        return [self.ordinal and own is None for own in given_levels(self.levels, names, n)]

    def _keep(self, model: Model, cor: Correlations, levels: Coding) -> None:
        self.levels_ = levels
        self.model_ = model
        self.mixing_ = model.mixing
        self.components_ = frozen(np.linalg.pinv(model.mixing))
        self.variances_ = model.variances
        self.means_ = model.means
        self.cuts_ = model.cuts
        self.thresholds_ = model.thresholds
        self.correlations_ = frozen(cor.correlation)
        self.segments_ = model.segments
        self.n_iter_ = max(1, model.fit["iterations"])
        self.converged_ = model.converged
        self.starts_ = model.fit["starts"]
        if not self.converged_:
            advice = ("the integration error is too large, use method='matched'" if model.fit["stop"] == "integration" else
                      "raise max_iter or n_init, or take fewer components")
            warnings.warn(f"the fit did not converge (stopped: {model.fit['stop']}); {advice}", ConvergenceWarning,
                          stacklevel=3)

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        for name in ("mixing_", "components_", "variances_", "means_", "cuts_", "thresholds_", "correlations_"):
            if hasattr(self, name):
                frozen(getattr(self, name))

    @property
    def _repr_html_(self):
        """The loadings once there are any; what scikit-learn shows before."""
        if not hasattr(self, "model_"):
            return super()._repr_html_
        return self.model_._repr_html_

    def _repr_mimebundle_(self, **options) -> dict:
        if not hasattr(self, "model_"):
            return super()._repr_mimebundle_(**options)
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the sources: z1, z2, ... as in the program and in R."""
        check_is_fitted(self, "model_")
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array([f"z{j + 1}" for j in range(self.mixing_.shape[1])], dtype=object)

    def transform(self, X, *, segments=None, return_std: bool = False, draws: int = 0):
        """Posterior means of the sources of each row, array [rows, k].

        With return_std also their standard deviations, and with draws=M also M plausible values of each row, array
        [rows, M, k]: draws from its posterior, for analyses that use scores as data (`Using the sources` in the
        documentation). They come as a tuple, in that order. The seed of the draws is random_state, where that is a number.

        A row whose segment is not given, missing, or not one of the fit, is averaged over the segments of the fit, weighted by
        their samples and by how likely the row is in them. With segment_column, X may lack that column: then all are.

        X may be larger than memory: a memory map, or an iterator over pieces of the rows, or over pairs (X, segments) of them. An
        iterator gives one in return, with the result of each piece when that is asked for.
        """
        check_is_fitted(self, "model_")

        def of_rows(part, labels, first=0):
            return self._scores(part, labels, return_std, draws, first)

        return by_pieces(X, segments, of_rows) if is_pieces(X) else of_rows(X, segments)

    def _scores(self, X, segments, return_std: bool, draws: int, first: int):
        """What transform returns for these rows, the first of which has that number."""
        table, segments = self._split(X, segments, reset=False)
        labels = _known_labels(self.model_, table.shape[0], segments)
        options = {"draws": draws, "seed": self.random_state if draws and hasattr(self.random_state, "__index__") else None}
        found = sources_of(self._session(), self.model_, table, labels, options, first)
        chosen = (found.mean,) + ((found.sd,) if return_std else ()) + ((found.draws,) if draws else ())
        return chosen if len(chosen) > 1 else found.mean

    def fit_transform(self, X, y=None, *, segments=None):
        """fit, then transform, with the same segments in both; y is ignored."""
        self.fit(X, segments=segments)
        return self.transform(X, segments=self.segmentation_.labels if self.segments is not None else segments)

    def inverse_transform(self, X) -> np.ndarray:
        """Probabilities of ones given sources X [rows, k]: Phi(sqrt(c) A z - cuts), array [rows, n].

        Of an item with more than two levels there is a column for each but the lowest, the probability to be at or above it.
        """
        check_is_fitted(self, "model_")
        z = np.asarray(X, dtype=float)
        k = self.mixing_.shape[1]
        if z.ndim != 2 or z.shape[1] != k:
            raise ValueError(f"X has shape {z.shape}; the model has {k} sources: give an array of that many columns")
        item = np.repeat(np.arange(len(self.mixing_)), [len(own) - 1 for own in self.model_.levels])
        y = math.sqrt(self.model_.link) * (z @ self.mixing_[item].T) - self.cuts_
        return 0.5 * np.frompyfunc(math.erfc, 1, 1)(-y / math.sqrt(2)).astype(float)

    def score_samples(self, X, y=None, *, segments=None) -> np.ndarray:
        """Log-likelihood of each row, array [rows]. The probability of a row of unknown segment is averaged over the segments of
        the fit, weighted by their samples."""
        check_is_fitted(self, "model_")
        table, segments = self._split(X, segments, reset=False)
        return _logliks(self._session(), self.model_, table, segments)

    def score(self, X, y=None, *, segments=None) -> float:
        """Mean log-likelihood of a row, the mean of score_samples; y is ignored."""
        return float(np.mean(self.score_samples(X, segments=segments)))

    def aic(self, X, *, segments=None) -> float:
        """Akaike's information criterion on X; the lower the better."""
        return float(2 * self._parameters() - 2 * np.sum(self.score_samples(X, segments=segments)))

    def bic(self, X, *, segments=None) -> float:
        """Bayesian information criterion on X; the lower the better."""
        each = self.score_samples(X, segments=segments)
        return float(math.log(len(each)) * self._parameters() - 2 * np.sum(each))

    def assess(self, X=None, *, segments=None, **options) -> Assessment:
        """How far the fit can be trusted: `blica.assess` on the rows X that it was fitted to, with its options.

        The result is returned and kept in assessment_ until the next fit, through pickle too; the same rows and options are not
        assessed twice, and without X it is returned as it is.
        """
        check_is_fitted(self, "model_")
        table, segments = (None, segments) if X is None else self._split(X, segments, reset=False)
        jobs = 1 if self.n_jobs is None else self.n_jobs
        return assess(self.model_, table, segments, threads=jobs, verbose=self.verbose, **options)

    @property
    def assessment_(self) -> Assessment:
        if not hasattr(self, "model_") or self.model_.assessment is None:
            raise AttributeError(f"this {type(self).__name__} has no assessment_; call assess with the rows of the fit first")
        return self.model_.assessment

    @property
    def mixing_se_(self) -> np.ndarray:
        return self.assessment_.mixing_se

    @property
    def expected_mcs_(self) -> float:
        return self.assessment_.expected_mcs

    def _parameters(self) -> int:
        check_is_fitted(self, "model_")
        return self.model_.parameters

    def _more_tags(self) -> dict:
        return {"allow_nan": True, "requires_y": False, "X_types": ["2darray", "sparse"], "preserves_dtype": []}


def _take_column(X, column: Union[str, int]) -> Tuple[Any, Any]:
    """X without that column, and the column."""
    if is_frame(X) and not (isinstance(column, int) and column not in X.columns):
        if column not in X.columns:
            raise ValueError(f"segment_column is {column!r}, which is not a column of X; it has {', '.join(map(str, X.columns))}")
        return X.drop(columns=column), X[column]
    if isinstance(column, str):
        raise ValueError(f"segment_column is {column!r}, but X has no names; give the index of the column")
    if not (is_frame(X) or is_sparse(X) or isinstance(X, np.ma.MaskedArray)):
        X = np.asarray(X)
    if len(X.shape) != 2 or not -X.shape[1] <= column < X.shape[1]:
        raise ValueError(f"segment_column is {column}, but X has shape {tuple(X.shape)}")
    rest = [j for j in range(X.shape[1]) if j != column % X.shape[1]]
    if is_frame(X):
        return X.iloc[:, rest], X.iloc[:, column]
    if is_sparse(X):
        X = X.tocsc()
        return X[:, rest], X[:, [column % X.shape[1]]].toarray()[:, 0]
    values = X[:, rest]
    return values.astype(float) if values.dtype.kind in "OSU" else values, X[:, column]


def _known_labels(model: Model, rows: int, segments) -> Optional[np.ndarray]:
    """The segment of each row, empty where there is none or the model does not know it; None when none are given."""
    if segments is None:
        return None
    ids, labels = segment_labels(segments, rows, blank=True)
    strange = [label for label in labels if label and label not in set(model.segments)]
    if strange:
        some = ", ".join(repr(label) for label in strange[:3]) + (", ..." if len(strange) > 3 else "")
        warnings.warn(f"{len(strange)} of the segments of X ({some}) were not in the fit; their rows are averaged over the "
                      "segments of the fit", BlicaWarning, stacklevel=5)
    return np.array(["" if label in strange else label for label in labels], dtype=object)[ids]


def _logliks(session: Session, model: Model, table: Table, segments) -> np.ndarray:
    """Log-likelihood of each row; where the segment is not known, that of the mean probability over the model's segments."""
    rows = table.shape[0]
    labels = _known_labels(model, rows, segments)
    labels = np.full(rows, "", dtype=object) if labels is None else labels
    known = labels != ""
    result, weights = np.empty(rows), np.log(model.samples)
    if known.any():
        result[known] = loglik_of(session, model, table.rows(known), labels[known], {}).row_loglik
    if not known.all():
        some = table.rows(~known)
        each = [loglik_of(session, model, some, np.full(some.shape[0], label, dtype=object), {}).row_loglik for label in model.segments]
        result[~known] = np.logaddexp.reduce(weights[:, None] + np.array(each), axis=0) - np.logaddexp.reduce(weights)
    return result


def _check_names(estimator, X, reset: bool) -> None:
    """Remembers number and names of the columns, or compares them with those of the fit."""
    try:
        from sklearn.utils.validation import _check_feature_names, _check_n_features
    except ImportError:  # before 1.6 they were methods
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)
    else:
        _check_feature_names(estimator, X, reset=reset)
        _check_n_features(estimator, X, reset=reset)


BinaryICA.__doc__ = (BinaryICA.__doc__ or "").replace("{options}", _options.document(
    "fit", skip=("sources", "seed"), names={theirs: ours for ours, theirs in NAMES.items()}))
