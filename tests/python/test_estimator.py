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
        if option.name in ("condition", "sources"):
            continue  # 10 is what the table's default means for samples; sources has none
        assert default is None or str(default) == option.default
        assert option.help in blica.BinaryICA.__doc__ or option.name in ("seed",)


def test_same_as_the_function(drawn, ica):
    model = blica.fit(drawn.X, drawn.segments, sources=2)
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
