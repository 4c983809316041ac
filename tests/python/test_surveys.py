"""Weights and clusters of rows, and items that differ between segments."""
import pickle
import warnings

import numpy as np
import pytest

import blica


@pytest.fixture(scope="module")
def drawn():
    return blica.simulate(variables=6, sources=2, segments=8, samples=400, seed=5)


def test_weights_count_relative_to_each_other(drawn):
    rng = np.random.default_rng(1)
    weight = rng.lognormal(0, 0.7, len(drawn.X))
    plain, weighted = blica.count(drawn.X, drawn.segments), blica.count(drawn.X, drawn.segments, sample_weight=weight)
    first = np.asarray(drawn.segments) == drawn.segments[0]
    w = weight[first]
    assert weighted.samples[0] == pytest.approx(w.sum() ** 2 / (w**2).sum(), rel=1e-5)
    both = (drawn.X[first][:, 0] == 1) & (drawn.X[first][:, 1] == 1)
    assert weighted.table(0, 0, 1)[1, 1] == pytest.approx(w[both].sum() * w.sum() / (w**2).sum(), rel=1e-5)
    same = blica.count(drawn.X, drawn.segments, sample_weight=np.full(len(weight), 3.0))
    np.testing.assert_array_equal(same.table(0, 0, 1), plain.table(0, 0, 1))
    scaled = blica.fit(drawn.X, drawn.segments, sample_weight=8 * weight, sources=2)
    np.testing.assert_array_equal(scaled.mixing, blica.fit(drawn.X, drawn.segments, sample_weight=weight, sources=2).mixing)


def random_design(seed):
    """Rows of items with two levels, or up to five, some missing; segments, and weights."""
    rng = np.random.default_rng(seed)
    k, u, levels = rng.integers(1, 3), rng.integers(3, 7), rng.integers(2, 6) if seed % 2 else 2
    n = 2 * k + rng.integers(3, 6)
    mixing = rng.standard_normal((n, k))
    X, segments = [], []
    for s in range(u):
        rows = rng.integers(80, 250)
        q = rng.standard_normal((rows, k)) * np.exp(rng.uniform(-0.7, 0.7, k)) @ mixing.T + rng.standard_normal((rows, n))
        X.append((q[:, :, None] > np.linspace(-1, 1, levels - 1) if levels > 2 else q[:, :, None] > 0).sum(2).astype(float))
        segments += [f"s{s}"] * rows
    X, segments = np.vstack(X), np.array(segments)
    if seed % 3 == 0:
        X[rng.random(X.shape) < 0.1] = np.nan
    order = rng.permutation(len(X))
    return X[order], segments[order], int(k), levels > 2, rng.lognormal(0, 0.7, len(X))


def bits_of(design, weight=None, cluster=None):
    """Every number that fit, assess and invariance give."""
    X, segments, k, ordinal, _ = design
    model = blica.fit(X, segments, sources=k, ordinal=ordinal, sample_weight=weight, threads=1)
    found = blica.assess(model, X, segments, sample_weight=weight, cluster=cluster, bootstrap=20, threads=1)
    items = blica.invariance(model, X, segments, sample_weight=weight, cluster=cluster, threads=1)
    numbers = [model.mixing, model.variances, model.means, model.cuts, model.thresholds, model.samples]
    numbers += [value for name, value in vars(found).items() if isinstance(value, (np.ndarray, float)) and name != "seconds"]
    numbers += [items.shift, items.share, items.loading, np.array([(t.effect, t.p, t.p_adjusted, t.found) for t in items.items])]
    return [np.asarray(part).tobytes() for part in numbers]


@pytest.mark.parametrize("seed", range(50))
def test_identities(seed):
    """Equal weights and clusters of one are none, and weights count but for a factor, to the last bit."""
    design = random_design(seed)
    rows, weight = len(design[0]), design[4]
    plain = bits_of(design)
    assert bits_of(design, np.full(rows, 0.7)) == plain
    assert bits_of(design, cluster=np.random.default_rng(seed).permutation(rows)) == plain
    weighted = bits_of(design, weight)
    assert weighted != plain
    assert bits_of(design, 3 * weight) == weighted


def test_clusters_widen_errors(drawn):
    """Each row four times, in any order, as four answers of one person: errors by clusters are those of the single rows, twice as large."""
    person = np.random.default_rng(2).permutation(np.repeat(np.arange(len(drawn.X)), 4))
    X, segments = np.asarray(drawn.X)[person], np.asarray(drawn.segments)[person]
    model = blica.fit(X, segments, sources=2)
    rows, clusters = (blica.assess(model, X, segments, bootstrap=0, cluster=c) for c in (None, person))
    ratio = clusters.mixing_se / rows.mixing_se
    assert 1.7 < np.median(ratio) < 2.3


def test_strata_are_known(drawn):
    """One stratum for all is none, to the last bit; strata by the answers to an item leave only what varies within them."""
    X, segments = np.asarray(drawn.X), np.asarray(drawn.segments)
    model = blica.fit(X, segments, sources=2)
    plain, one, item = (blica.assess(model, X, segments, bootstrap=0, strata=h) for h in (None, np.full(len(X), "all"), X[:, 0]))
    assert (one.mixing_se == plain.mixing_se).all() and (one.strata, item.strata) == (0, 2 * len(model.segments))
    assert (item.threshold_se[:, 0] < 1e-6 * plain.threshold_se[:, 0]).all() and (item.threshold_se[:, 1] > 0.8 * plain.threshold_se[:, 1]).all()
    assert blica.invariance(model, X, segments, strata=X[:, 0]).items != blica.invariance(model, X, segments).items
    with pytest.raises(ValueError, match="different strata"):
        blica.assess(model, X, segments, cluster=np.unique(segments, return_inverse=True)[1], strata=X[:, 0])
    with pytest.raises(ValueError, match="strata has missing values"):
        blica.assess(model, X, segments, strata=np.where(np.arange(len(X)) == 3, np.nan, 1.0))


def test_replicate_weights_are_refits(drawn):
    """Balanced half samples: each replicate is a fit to rows that occur twice or not at all."""
    X, segments = np.asarray(drawn.X), np.asarray(drawn.segments)
    signs = np.array([[1]])
    while len(signs) < 8:
        signs = np.block([[signs, signs], [signs, -signs]])
    rng = np.random.default_rng(4)
    weights = 1.0 + signs[:, rng.integers(0, 8, len(X))].T * rng.choice([-1, 1], len(X))[:, None]
    model = blica.fit(X, segments, sources=2)
    ones = np.ones(len(X))
    found = blica.assess(model, X, segments, sample_weight=ones, replicate_weights=weights, replicate_method="brr")
    squares, thresholds = 0, 0
    for column in weights.T.astype(int):
        other = blica.fit(np.repeat(X, column, axis=0), np.repeat(segments, column), sources=2)
        matched = other.mixing[:, blica.compare(model, other).matching]
        matched = matched * np.sign((matched * model.mixing).sum(0))
        squares = squares + (matched - model.mixing) ** 2 / 8
        thresholds = thresholds + (other.thresholds - model.thresholds) ** 2 / 8
    np.testing.assert_allclose(found.mixing_se, np.sqrt(squares), rtol=1e-9)
    np.testing.assert_allclose(found.threshold_se, np.sqrt(thresholds), rtol=1e-9)
    assert found.replicates == 8 and 0.9 < found.expected_mcs < 1
    half = blica.assess(model, X, segments, sample_weight=ones, replicate_weights=weights, replicate_method="fay=0.5")
    np.testing.assert_allclose(half.mixing_se, 2 * found.mixing_se, rtol=1e-12)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(weights, columns=[f"rep{r}" for r in range(8)]).assign(w=1.0, wave=segments)
    frame = pandas.concat([pandas.DataFrame(X, columns=model.variables), frame], axis=1)
    named = blica.assess(model, frame, "wave", sample_weight="w", replicate_weights=[f"rep{r}" for r in range(8)],
                         replicate_method=np.full(8, 1 / 8))
    np.testing.assert_allclose(named.mixing_se, found.mixing_se, rtol=1e-12)


def test_bad_replicates_are_refused(drawn):
    model = blica.fit(drawn.X, drawn.segments, sources=2)
    ones = np.ones(len(drawn.X))

    def refused(says, weights=np.ones((len(ones), 4)), method="brr", sample_weight=ones, **options):
        with pytest.raises(ValueError, match=says):
            blica.assess(model, drawn.X, drawn.segments, sample_weight=sample_weight, replicate_weights=weights, replicate_method=method,
                         **options)

    refused("belong together", sample_weight=None)
    refused("belong together", method=None)
    refused("replicate_weights has shape", weights=np.ones((7, 4)))
    refused("replicate_weights has shape", weights=ones)
    refused("give jk1, brr, fay=RHO", method="jk9")
    refused("row 1: its weight in replicate 1 is -1", weights=-np.ones((len(ones), 4)))
    refused("leave one of the two out", bootstrap=100)


def test_columns_are_named(drawn):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(drawn.X, columns=[f"q{i}" for i in range(6)])
    weight = 1.0 + np.arange(len(frame)) % 5
    model = blica.fit(drawn.X, drawn.segments, sample_weight=weight, sources=2)
    named = blica.fit(frame.assign(wave=drawn.segments, w=weight), "wave", sample_weight="w", sources=2)
    np.testing.assert_array_equal(model.mixing, named.mixing)


def test_item_that_differs_is_named(drawn):
    X, segments = np.array(drawn.X), np.asarray(drawn.segments)
    here = np.flatnonzero(segments == segments[-1])
    X[here[::2], 3] = 1
    model = blica.fit(X, segments, sources=2)
    found = blica.invariance(model, X, segments)
    first = next(t for t in found.items if t.found == 1)
    assert (first.item, first.segment, first.kind) == (model.variables[3], str(segments[-1]), "cuts")
    assert first.effect < -0.2 and first.p <= first.p_adjusted < 0.05
    assert found.items[0].segment is None and found.items[0].item == model.variables[3]
    assert found.shift.shape == (8, 6) and found.share.shape == (8, 12) and found.loading.shape == (8, 6, 2)
    assert found.shift[-1, 3] == pytest.approx(first.effect)
    assert first.item in repr(found)
    assert blica.invariance(blica.fit(drawn.X, segments, sources=2), drawn.X, segments).found == 0


@pytest.mark.parametrize("weight, says", [([1.0, 2.0], "sample_weight has shape"), (0, "its weight is 0"), (-1, "its weight is -1"),
                                          (np.nan, "its weight is")])
def test_bad_weights_are_refused(drawn, weight, says):
    if np.isscalar(weight):
        given = np.ones(len(drawn.X))
        given[17] = weight
        weight = given
    with pytest.raises(ValueError, match=says):
        blica.fit(drawn.X, drawn.segments, sample_weight=weight, sources=2)


def test_bad_clusters_are_refused(drawn):
    model = blica.fit(drawn.X, drawn.segments, sources=2)
    with pytest.raises(ValueError, match="of one cluster but of the segments"):
        blica.assess(model, drawn.X, drawn.segments, cluster=np.zeros(len(drawn.X)))
    with pytest.raises(ValueError, match="counts and frames of Dask have none"):
        blica.fit(blica.count(drawn.X, drawn.segments), sample_weight=np.ones(len(drawn.X)), sources=2)


def reversed_rows(seed, items, segments):
    """Eight items, some of which have a reversed row of A in some of eight segments: A, the data, and what is reversed."""
    rng = np.random.default_rng(seed)
    mixing, cut = rng.standard_normal((8, 2)), rng.normal(0, 0.5, 8)
    X, own = [], {i: set(rng.choice(8, segments, replace=False)) for i in rng.choice(8, items, replace=False)}
    for s in range(8):
        z = rng.standard_normal((400, 2)) * np.exp(rng.uniform(-0.7, 0.7, 2)) + 0.5 * rng.standard_normal(2)
        a = mixing * np.array([-1 if s in own.get(i, ()) else 1 for i in range(8)])[:, None]
        X.append((z @ a.T + 1.6 * rng.standard_normal((400, 8)) > cut).astype(int))
    return mixing, np.vstack(X), np.repeat([f"s{s}" for s in range(8)], 400), {(f"x{i + 1}", f"s{s}") for i in own for s in own[i]}


@pytest.mark.parametrize("seed", [1, 2, 11])
def test_items_that_bend_the_common_fit_are_found(seed):
    """Freeing whatever looks worst, one after the other, ends at .60, .80 and .89 in these sets."""
    mixing, X, segments, differ = reversed_rows(seed, 2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = blica.fit(X, segments, sources=2, free="auto")
    assert {(f.item, f.segment) for f in model.free} == differ
    assert blica.compare(model, mixing).mcs > 0.98
    assert blica.compare(blica.fit(X, segments, sources=2), mixing).mcs < 0.95


def test_a_search_that_goes_wrong_is_not_certified():
    mixing, X, segments, _ = reversed_rows(0, 4, 4)
    with pytest.warns(blica.BlicaWarning, match="do not rely on the loadings"):
        model = blica.fit(X, segments, sources=2, free="auto")
    found = blica.assess(model, X, segments, bootstrap=0)
    assert blica.compare(model, mixing).mcs < 0.9 and found.answers["fit"] != "yes"
    assert f"{len(model.free)} pairs of an item and a segment are free, without errors of their own" in found.verdict[2]


def test_items_are_estimated_apart(drawn):
    X, segments = np.array(drawn.X), np.asarray(drawn.segments)
    here = np.flatnonzero(segments == segments[-1])
    X[here[::2], 3] = 1
    item, last, first = f"x{4}", str(segments[-1]), str(segments[0])
    model = blica.fit(X, segments, sources=2, free="auto")
    assert [(f.item, f.segment) for f in model.free] == [(item, last)]
    assert model.free[0].cuts[0] < model.cuts[3] - 0.2
    assert f"{item} in {last} has its own cuts" in str(model) and 0 < model.fit["notes"]["mcs_common_freed"] <= 1
    named = blica.fit(X, segments, sources=2, free=[f"cuts:{item}@{last}", f"x1@{first}"])
    assert [(f.item, f.segment, f.mixing is None) for f in named.free] == [("x1", first, False), (item, last, True)]
    assert named.free[0].mixing.shape == (2,)
    again = pickle.loads(pickle.dumps(named))
    np.testing.assert_array_equal(again.free[0].mixing, named.free[0].mixing)
    assert blica.loglik(model, X, segments).loglik > blica.loglik(blica.fit(X, segments, sources=2), X, segments).loglik
    ica = blica.BinaryICA(2, free=f"cuts:{item}@{last}").fit(X, segments=segments)
    np.testing.assert_allclose(ica.model_.free[0].cuts[0], model.free[0].cuts[0], atol=0.3)
    assert blica.fit(drawn.X, segments, sources=2).free == []
    with pytest.raises(ValueError, match="names no item"):
        blica.fit(X, segments, sources=2, free="x99@1")
