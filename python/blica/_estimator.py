"""BinaryICA: the fit as a scikit-learn estimator."""
from __future__ import annotations

import math
import warnings
from typing import Optional

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError("BinaryICA needs scikit-learn (Debian: python3-sklearn); blica.fit() does the same without") from error

from . import _options
from ._data import Table, is_sparse, pack
from ._library import ffi, lib
from ._objects import Correlations, Model
from ._session import Session
from ._verbs import loglik, sources_of

# What scikit-learn calls some of the options; all others have the names of the table.
NAMES = {"n_components": "sources", "n_init": "starts", "max_iter": "max_iterations", "tol": "tolerance", "random_state": "seed"}


class BinaryICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Independent component analysis of binary data with segments.

    Parameters
    ----------
    n_components : int, default None
        Number of sources; None for as many as there are variables.
    n_init : int, default 3
        Starts; see starts below.
    max_iter, tol : default None
        Iterations of one start and relative gradient at which it has converged; None for the method's own, see
        max_iterations and tolerance below.
    random_state : int, RandomState or None
        Seed of the random starts. None is the fixed seed that the program has, so that results can be repeated.
    n_jobs : int, default None
        Threads, as in scikit-learn: None is 1 and -1 all cores. The result is the same bits for any number.
    verbose : int or callable, default 0
        1 and 2 write progress to stderr; a callable receives it as a dict, and stops the fit by returning False.
    binarize : float, default None
        Numeric values above it are 1, others 0, as in BernoulliNB. With None each column must have two levels: 0 and 1, or
        two others, of which the lower becomes 0.
{options}

    Attributes
    ----------
    mixing_ : array [n, k]
        The mixing matrix A; the largest entry of each column is positive, columns are in order of explained variance.
    components_ : array [k, n]
        Pseudo-inverse of mixing_, as FastICA has it.
    variances_, means_ : arrays [u, k]
        Of the sources in every segment.
    thresholds_ : array [u, n]
        Normal quantiles of the shares of ones.
    correlations_ : array [u, n, n]
        Tetrachoric correlations of every segment, before regularisation.
    segments_ : list of str
        Labels of the segments, in order of appearance.
    n_iter_, converged_, starts_
        How the fit went; starts_ has a dict for each start.
    model_ : Model
        All of it, as blica.load and blica.save know it.
    n_features_in_, feature_names_in_
        As in all estimators.

    Examples
    --------
    >>> import blica
    >>> drawn = blica.simulate(variables=6, sources=2, segments=10, samples=500, seed=3)
    >>> ica = blica.BinaryICA(n_components=2).fit(drawn.X, segments=drawn.segments)
    >>> ica.variances_.shape
    (10, 2)
    """

    def __init__(self, n_components=None, *, method="blica", condition=10, n_init=3, max_iter=None, tol=None, random_state=None,
                 n_jobs=None, verbose=0, binarize=None, link=None, max_seconds=None, prior="default", prior_mixing=None,
                 prior_variance=None, weight=None, kl="analytic", draws=None, contrast="logcosh", approach="symmetric",
                 or_threshold=None, checkpoint=None, checkpoint_seconds=None, resume=None):
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
        self.link = link
        self.max_seconds = max_seconds
        self.prior = prior
        self.prior_mixing = prior_mixing
        self.prior_variance = prior_variance
        self.weight = weight
        self.kl = kl
        self.draws = draws
        self.contrast = contrast
        self.approach = approach
        self.or_threshold = or_threshold
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.resume = resume

    def fit(self, X, y=None, *, segments=None):
        """Fits the model. The segment of each row is given as segments, or as y (for pipelines)."""
        if segments is not None and y is not None:
            raise ValueError("both y and segments are given; the segments are one of them")
        segments = y if segments is None else segments
        session = self._session()
        table = self._table(X, reset=True)
        if table.shape[0] < 2:
            raise ValueError("n_samples=1: at least 2 rows are needed")
        options = _options.make(session, "fit", self._chosen(table.shape[1]))
        data = pack(session, table, segments)
        counts = session.call(lib.blica_count, data, free=lib.blica_counts_free)
        cor = session.call(lib.blica_correlate, counts, free=lib.blica_cor_free)
        given = ffi.new("blica_input *", {"data": data, "counts": counts, "cor": cor})
        self._keep(Model(session.call(lib.blica_fit, given, options, free=lib.blica_model_free)), Correlations._of(cor), table)
        return self

    def _session(self) -> Session:
        return Session(1 if self.n_jobs is None else self.n_jobs, self.verbose)

    def _chosen(self, n: int) -> dict:
        values = {NAMES.get(name, name): value for name, value in self.get_params(deep=False).items()
                  if name not in ("n_jobs", "verbose", "binarize")}
        values["sources"] = n if self.n_components is None else self.n_components
        if self.random_state is not None and not hasattr(self.random_state, "__index__"):
            if not hasattr(self.random_state, "randint"):
                raise TypeError(f"random_state is {self.random_state!r}; give a whole number, a RandomState or None")
            values["seed"] = self.random_state.randint(np.iinfo(np.int32).max)
        return values

    def _table(self, X, reset: bool) -> Table:
        table = Table(X, levels=None if reset else self._levels, binarize=self.binarize)
        _check_names(self, X if hasattr(X, "columns") or is_sparse(X) else table.x, reset)
        return table

    def _keep(self, model: Model, cor: Correlations, table: Table) -> None:
        self._levels = table.levels
        self.model_ = model
        self.mixing_ = model.mixing
        self.components_ = np.linalg.pinv(model.mixing)
        self.variances_ = model.variances
        self.means_ = model.means
        self.thresholds_ = model.thresholds
        self.correlations_ = cor.correlation
        self.segments_ = model.segments
        self.n_iter_ = max(1, model.fit["iterations"])
        self.converged_ = model.converged
        self.starts_ = model.fit["starts"]
        if not self.converged_:
            advice = ("the integration error is too large, use method='matched'" if model.fit["stop"] == "integration" else
                      "raise max_iter or n_init, or take fewer components")
            warnings.warn(f"the fit did not converge (stopped: {model.fit['stop']}); {advice}", ConvergenceWarning,
                          stacklevel=3)

    @property
    def _n_features_out(self) -> int:
        return self.mixing_.shape[1]

    def transform(self, X, *, segments=None):
        """Posterior means of the sources of each row, array [rows, k].

        Without segments each row is averaged over those of the fit, by their samples and how likely the row is in them.
        """
        check_is_fitted(self, "model_")
        return sources_of(self._session(), self.model_, self._named(X), segments, {}).mean

    def fit_transform(self, X, y=None, *, segments=None):
        """fit, then transform: with segments they are used in both; a y is used in fit alone, as in a pipeline."""
        self.fit(X, y, segments=segments)
        return self.transform(X, segments=segments)

    def inverse_transform(self, X):
        """Probabilities of ones given sources X [rows, k]: Phi(sqrt(c) A z), array [rows, n]."""
        check_is_fitted(self, "model_")
        z = np.asarray(X, dtype=float)
        k = self.mixing_.shape[1]
        if z.ndim != 2 or z.shape[1] != k:
            raise ValueError(f"X has shape {z.shape}; the model has {k} sources: give an array of that many columns")
        y = math.sqrt(self.model_.link) * (z @ self.mixing_.T)
        return 0.5 * np.frompyfunc(math.erfc, 1, 1)(-y / math.sqrt(2)).astype(float)

    def score(self, X, y=None, *, segments=None) -> float:
        """Mean log-likelihood of a row. The segments, as segments or y, must be known to the model."""
        check_is_fitted(self, "model_")
        segments = y if segments is None else segments
        if segments is None and len(self.segments_) > 1:
            raise ValueError(f"the model has {len(self.segments_)} segments; give those of the rows, as segments= or y")
        table = self._named(X)
        return loglik(self.model_, table, segments, threads=self.n_jobs or 1).loglik / table.shape[0]

    def _named(self, X) -> Table:
        table = self._table(X, reset=False)
        table.names = list(self.model_.variables)
        return table

    def _more_tags(self):
        return {"allow_nan": True, "requires_y": False, "X_types": ["2darray", "sparse"], "preserves_dtype": []}


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


BinaryICA.__doc__ = (BinaryICA.__doc__ or "").replace("{options}", _options.document("fit", skip=("sources", "seed")))
