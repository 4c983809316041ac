"""Correlations as a product: the asymptotic covariance of thresholds and polychoric correlations, and polyserial ones."""
import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

import blica

LOADING, CUTS = np.array([0.8, 0.6, 0.7]), [[-0.5, 0.6], [0.2], [-0.9, 0.1, 0.8]]


@pytest.fixture(scope="module")
def population():
    """All patterns of three items with their probabilities, and with some rows the patterns that lack an item."""
    ends = [[-np.inf, *own, np.inf] for own in CUTS]
    rows, weight = [], []
    for x in itertools.product(*[range(-1, len(own) + 1) for own in CUTS]):
        if x.count(-1) > 1:
            continue
        low = [ends[i][max(level, 0)] for i, level in enumerate(x)]
        high = [ends[i][level + 1] if level >= 0 else np.inf for i, level in enumerate(x)]
        p = blica.mvn(low, high, loading=LOADING[:, None], unique=1 - LOADING ** 2, error=1e-12).value
        rows.append([np.nan if level < 0 else level for level in x])
        weight.append(p * (0.1 if -1 in x else 0.7))
    return np.array(rows), np.array(weight)


def estimates(x, weight):
    found = blica.polychoric(x, sample_weight=weight)
    return np.concatenate([*found.thresholds, found.correlation[np.tril_indices(3, -1)[::-1]]])


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("clusters", [False, True])
def test_the_covariance_is_that_of_infinitesimal_changes_of_weights(population, holes, clusters):
    x, weight = population
    keep = slice(None) if holes else ~np.isnan(x).any(axis=1)
    x, weight = x[keep], weight[keep]
    change = np.empty((len(x), 9))
    for r in range(len(x)):
        up, down = weight.copy(), weight.copy()
        up[r] *= 1 + 1e-2
        down[r] *= 1 - 1e-2
        change[r] = (estimates(x, up) - estimates(x, down)) / 2e-2
    cluster = np.arange(len(x)) % 7 if clusters else None
    if clusters:
        change = np.array([change[cluster == c].sum(axis=0) for c in range(7)])
    found = blica.polychoric(x, acm=True, sample_weight=weight, cluster=cluster)
    np.testing.assert_allclose(found.correlation, np.outer(LOADING, LOADING) + np.diag(1 - LOADING ** 2), atol=1e-9)
    np.testing.assert_allclose(found.acm, len(x) * change.T @ change, rtol=2e-4, atol=2e-4)


def test_the_covariance_is_the_spread_of_estimates():
    rng, draws, rows = np.random.default_rng(4), [], 800
    for _ in range(400):
        y = LOADING * rng.standard_normal((rows, 1)) + np.sqrt(1 - LOADING ** 2) * rng.standard_normal((rows, 3))
        x = np.column_stack([np.digitize(y[:, i], CUTS[i]) for i in range(3)])
        draws.append(estimates(x, None))
    found = blica.polychoric(x, acm=True)
    ratio = np.cov(np.array(draws).T).diagonal() / (found.acm.diagonal() / rows)
    assert (ratio > 0.75).all() and (ratio < 1.33).all()  # 400 draws know a variance to 7 %


def test_the_covariance_has_names_and_refuses_what_it_cannot_tell():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 3, (200, 3)), columns=["a", "b", "c"]).assign(w=rng.uniform(0.5, 2, 200))
    found = blica.polychoric(frame, acm=True, sample_weight="w").acm
    assert list(found.columns) == ["a|t1", "a|t2", "b|t1", "b|t2", "c|t1", "c|t2", "a~~b", "a~~c", "b~~c"]
    assert blica.polychoric(frame[["a", "b"]]).acm is None
    threads = [blica.polychoric(frame[["a", "b", "c"]], acm=True, threads=t).acm.to_numpy() for t in (1, 3)]
    assert (threads[0] == threads[1]).all() and (threads[0] == threads[0].T).all()
    with pytest.raises(ValueError, match="'b': no row is at one of its levels"):
        blica.polychoric(frame[["a", "b"]], acm=True, levels={"b": [0, 1, 2, 3]})
    apart = frame[["a", "b"]].astype(float)
    apart.iloc[:100, 0], apart.iloc[100:, 1] = np.nan, np.nan
    with pytest.raises(ValueError, match="no rows have both 'a' and 'b'"):
        blica.polychoric(apart, acm=True)


def polyserial_by_optimiser(z, y):
    """Maximum of the likelihood given thresholds from the margin, by scipy."""
    cut = np.array([-np.inf, *norm.ppf(np.cumsum(np.bincount(y))[:-1] / len(y)), np.inf])
    z = (z - z.mean()) / z.std()

    def loss(rho):
        root = np.sqrt(1 - rho ** 2)
        return -np.log(norm.cdf((cut[y + 1] - rho * z) / root) - norm.cdf((cut[y] - rho * z) / root)).sum()
    return minimize_scalar(loss, bounds=(-0.999, 0.999), method="bounded", options={"xatol": 1e-10}).x


@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.35, 0.95])
def test_polyserial_is_the_maximum_of_the_likelihood(rho):
    rng = np.random.default_rng(3)
    number = 30 + 8 * rng.standard_normal(700)
    y = np.digitize(rho * (number - 30) / 8 + np.sqrt(1 - rho ** 2) * rng.standard_normal(700), [-1.2, 0.3, 0.9])
    found = blica.polyserial(number, y)
    assert found.correlation == pytest.approx(polyserial_by_optimiser(number, y), abs=1e-6)
    np.testing.assert_allclose(found.thresholds, norm.ppf(np.cumsum(np.bincount(y))[:-1] / 700), atol=1e-12)
    gone = number.copy()
    gone[:50] = np.nan
    assert blica.polyserial(gone, y).correlation == blica.polyserial(number[50:], y[50:]).correlation


def test_polyserial_errors_are_the_spread_of_estimates():
    rng, draws, errors = np.random.default_rng(8), [], []
    for _ in range(400):
        x = rng.standard_normal(500)
        found = blica.polyserial(x, np.digitize(0.6 * x + 0.8 * rng.standard_normal(500), [-0.4, 0.8]))
        draws.append(found.correlation)
        errors.append(found.se)
    assert np.mean(errors) == pytest.approx(np.std(draws), rel=0.12)


def test_polyserial_refuses_what_it_cannot_use():
    with pytest.raises(ValueError, match="shape"):
        blica.polyserial([1, 2, 3], [0, 1])
    with pytest.raises(ValueError, match="variance 0"):
        blica.polyserial([2, 2, 2], [0, 1, 1])
    with pytest.raises(ValueError, match="no row is at level 3"):
        blica.polyserial([1, 2, 3], [0, 1, 1], levels=[0, 1, 2])
    with pytest.raises(ValueError, match="5, which is not one of its levels"):
        blica.polyserial([1, 2, 3], [0, 1, 5], levels=[0, 1])
