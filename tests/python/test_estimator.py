"""BinaryICA as scikit-learn wants it."""
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import blica
from blica._estimator import NAMES


@pytest.fixture(scope="module")
def drawn():
    return blica.simulate(variables=6, sources=2, segments=8, samples=400, seed=5)


@pytest.fixture(scope="module")
def ica(drawn):
    return blica.BinaryICA(2).fit(drawn.X, segments=drawn.segments)


def test_every_option_of_the_table_is_a_parameter_with_its_default():
    parameters = inspect.signature(blica.BinaryICA.__init__).parameters
    back = {theirs: ours for ours, theirs in NAMES.items()}
    for option in blica.option_table("fit"):
        default = parameters[back.get(option.name, option.name)].default
        if option.name in ("condition", "sources", "method"):
            continue  # 10 is what the table's default means for samples, and with it auto means blica; sources has none
        assert default is None or str(default) == option.default
        assert option.help in blica.BinaryICA.__doc__ or option.name in ("seed",)


def test_same_as_the_function(drawn, ica):
    model = blica.fit(drawn.X, drawn.segments, sources=2, method="blica")
    for name in ("mixing", "variances", "means", "thresholds"):
        assert (getattr(ica, name + "_") == getattr(model, name)).all()
    assert (blica.BinaryICA(2).fit(drawn.X, drawn.segments).mixing_ == ica.mixing_).all()  # segments as y
    assert (blica.BinaryICA(2, n_jobs=-1).fit(drawn.X, drawn.segments).mixing_ == ica.mixing_).all()


def test_attributes(drawn, ica):
    assert blica.compare(ica, drawn.model).mcs > 0.95
    assert ica.components_.shape == (2, 6) and np.allclose(ica.components_ @ ica.mixing_, np.eye(2))
    assert ica.correlations_.shape == (8, 6, 6) and ica.segments_ == list(dict.fromkeys(drawn.segments))
    assert ica.converged_ and ica.n_iter_ > 1 and len(ica.starts_) == 3 and ica.n_features_in_ == 6
    frame = pd.DataFrame(drawn.X, columns=list("abcdef"))
    named = blica.BinaryICA(2).fit(frame, segments=drawn.segments)
    assert named.feature_names_in_.tolist() == list("abcdef") and named.model_.variables == list("abcdef")
    assert named.get_feature_names_out().tolist() == ["binaryica0", "binaryica1"]


def test_warnings_and_errors(drawn, ica):
    with pytest.warns(blica.BlicaWarning, match="not identified"):
        blica.BinaryICA(2).fit(drawn.X)
    with pytest.warns(ConvergenceWarning, match="iterations"):
        blica.BinaryICA(6, max_iter=2).fit(drawn.X, drawn.segments)
    with pytest.raises(ValueError, match="both y and segments"):
        blica.BinaryICA(2).fit(drawn.X, drawn.segments, segments=drawn.segments)
    with pytest.raises(ValueError, match="binarize"):
        blica.BinaryICA(2).fit(np.random.default_rng(1).normal(size=(20, 4)))
    with pytest.raises(NotFittedError):
        blica.BinaryICA(2).inverse_transform([[0, 0]])
    with pytest.raises(ValueError, match="2 sources"):
        ica.inverse_transform([[0, 0, 0]])
    with pytest.raises(TypeError, match="random_state"):
        blica.BinaryICA(2, random_state="x").fit(drawn.X, drawn.segments)


def test_inverse_transform_is_the_link(ica):
    from scipy.stats import norm

    z = np.random.default_rng(2).normal(size=(5, 2))
    np.testing.assert_allclose(ica.inverse_transform(z), norm.cdf(np.sqrt(np.pi / 8) * z @ ica.mixing_.T), rtol=1e-13)


def test_clone_and_random_state(drawn, ica):
    again = clone(ica).fit(drawn.X, drawn.segments)
    assert (again.mixing_ == ica.mixing_).all()
    a = blica.BinaryICA(2, random_state=np.random.RandomState(4)).fit(drawn.X, drawn.segments)
    b = blica.BinaryICA(2, random_state=np.random.RandomState(4)).fit(drawn.X, drawn.segments)
    assert a.model_.fit["seed"] == b.model_.fit["seed"] != 1


def test_check_estimator():
    check_estimator(blica.BinaryICA(binarize=0.0))


def test_transform_is_the_posterior_mean(drawn, ica):
    z = ica.transform(drawn.X, segments=drawn.segments)
    both = blica.sources(ica, drawn.X, drawn.segments)
    assert (z == both.mean).all() and (both.sd > 0).all()
    truth = blica.sources(drawn.model, drawn.X, drawn.segments).mean
    match = blica.compare(drawn.model, ica).matching
    for j in range(2):
        assert abs(np.corrcoef(truth[:, j], z[:, match[j]])[0, 1]) > 0.97
    # law of total variance, in one segment
    here = drawn.segments == ica.segments_[1]
    np.testing.assert_allclose(z[here].var(axis=0) + (both.sd[here] ** 2).mean(axis=0), ica.variances_[1], rtol=0.2)
    assert (blica.BinaryICA(2).fit_transform(drawn.X, segments=drawn.segments) == z).all()
    # segments unknown: as in a pipeline
    unknown = ica.transform(drawn.X)
    assert (blica.BinaryICA(2).fit_transform(drawn.X, drawn.segments) == unknown).all() and (unknown != z).any()
    assert np.allclose(ica.transform(scipy.sparse.csr_matrix(drawn.X)), unknown)
    again = pickle.loads(pickle.dumps(ica))
    assert (again.transform(drawn.X[:9]) == ica.transform(drawn.X[:9])).all()


def test_levels_of_the_fit_hold_in_transform(drawn, ica):
    yes = pd.DataFrame(np.where(drawn.X == 1, "yes", "no"), columns=list("abcdef"))
    named = blica.BinaryICA(2).fit(yes, segments=drawn.segments)
    all_yes = pd.DataFrame([["yes"] * 6], columns=list("abcdef"))
    assert np.allclose(named.transform(all_yes), ica.transform(np.ones((1, 6), dtype=int)), atol=1e-6)
    with pytest.raises(ValueError, match="'maybe' is neither 'no' nor 'yes'"):
        named.transform(all_yes.replace("yes", "maybe"))


def test_score_is_the_mean_log_likelihood(drawn, ica):
    score = ica.score(drawn.X, drawn.segments)
    assert score == ica.score(drawn.X, segments=drawn.segments)
    found = blica.loglik(ica, drawn.X, drawn.segments)
    assert score == pytest.approx(found.loglik / len(drawn.X), abs=1e-12)
    assert found.error < 0.1 and found.segment_loglik.sum() == pytest.approx(found.loglik, abs=1e-9)
    # all 64 patterns have probability 1 together
    patterns = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    label = ica.segments_[0]
    total = sum(np.exp(blica.loglik(ica, p[None], [label]).loglik) for p in patterns)
    assert total == pytest.approx(1, abs=1e-6)
    with pytest.raises(ValueError, match="8 segments; give those"):
        ica.score(drawn.X)
    with pytest.raises(ValueError, match="winter"):
        ica.score(drawn.X[:1], ["winter"])


def test_model_selection_and_pipelines(drawn):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline

    search = GridSearchCV(blica.BinaryICA(), {"n_components": [1, 2]}, cv=StratifiedKFold(2)).fit(drawn.X, drawn.segments)
    assert search.best_params_ == {"n_components": 2}
    pipe = make_pipeline(blica.BinaryICA(2), LogisticRegression()).fit(drawn.X, drawn.segments)
    assert len(pipe.predict(drawn.X[:5])) == 5
