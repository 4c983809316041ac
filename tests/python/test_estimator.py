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
from blica._estimator import NAMES, OWN


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
        assert parameters[back.get(option.name, option.name)].default is None, option.name  # None: that of the table
        assert option.help in blica.BinaryICA.__doc__ or option.name in ("seed", "sources")
    named = {NAMES.get(name, name) for name in parameters} - {"self", *OWN}
    assert named == {option.name for option in blica.option_table("fit")}


def test_same_as_the_function(drawn, ica):
    model = blica.fit(drawn.X, drawn.segments, sources=2)
    for name in ("mixing", "variances", "means", "thresholds"):
        assert (getattr(ica, name + "_") == getattr(model, name)).all()
    assert (blica.BinaryICA(2, n_jobs=-1).fit(drawn.X, segments=drawn.segments).mixing_ == ica.mixing_).all()
    other = np.random.default_rng(1).integers(0, 5, len(drawn.X))
    assert (blica.BinaryICA(2).fit(drawn.X, other, segments=drawn.segments).mixing_ == ica.mixing_).all()  # y is ignored


def test_attributes(drawn, ica):
    assert blica.compare(ica, drawn.model).mcs > 0.95
    assert ica.components_.shape == (2, 6) and np.allclose(ica.components_ @ ica.mixing_, np.eye(2))
    assert ica.correlations_.shape == (8, 6, 6) and ica.segments_ == list(dict.fromkeys(drawn.segments))
    assert ica.converged_ and ica.n_iter_ > 1 and len(ica.starts_) == 3 and ica.n_features_in_ == 6
    frame = pd.DataFrame(drawn.X, columns=list("abcdef"))
    named = blica.BinaryICA(2).fit(frame, segments=drawn.segments)
    assert named.feature_names_in_.tolist() == list("abcdef") and named.model_.variables == list("abcdef")
    assert named.get_feature_names_out().tolist() == ["z1", "z2"]


def test_warnings_and_errors(drawn, ica):
    with pytest.warns(blica.BlicaWarning, match="not identified"):
        blica.BinaryICA(2, allow_unidentified=True).fit(drawn.X)
    with pytest.raises(ValueError, match="one segment.*allow_unidentified"):
        blica.BinaryICA(2).fit(drawn.X, drawn.segments)  # they are not given as y
    with pytest.warns(ConvergenceWarning, match="iterations"):
        blica.BinaryICA(6, max_iter=2).fit(drawn.X, segments=drawn.segments)
    with pytest.raises(ValueError, match="both segments and segment_column"):
        blica.BinaryICA(2, segment_column=0).fit(drawn.X, segments=drawn.segments)
    with pytest.raises(ValueError, match="'term', which is not a column of X; it has a, b"):
        blica.BinaryICA(2, segment_column="term").fit(pd.DataFrame(drawn.X[:, :2], columns=["a", "b"]))
    with pytest.raises(ValueError, match="segment_column is 'term', but X has no names"):
        blica.BinaryICA(2, segment_column="term").fit(drawn.X)
    with pytest.raises(ValueError, match=r"segment_column is 9, but X has shape \(3200, 6\)"):
        blica.BinaryICA(2, segment_column=9).fit(drawn.X)
    with pytest.raises(ValueError, match="binarize"):
        blica.BinaryICA(2).fit(np.random.default_rng(1).normal(size=(20, 4)))
    with pytest.raises(NotFittedError):
        blica.BinaryICA(2).inverse_transform([[0, 0]])
    with pytest.raises(ValueError, match="2 sources"):
        ica.inverse_transform([[0, 0, 0]])
    with pytest.raises(ValueError, match="^n_components is 7; with 6 variables"):
        blica.BinaryICA(7).fit(drawn.X, segments=drawn.segments)
    with pytest.raises(ValueError, match="^option n_init: '0'"):
        blica.BinaryICA(2, n_init=0).fit(drawn.X, segments=drawn.segments)
    with pytest.raises(TypeError, match="random_state"):
        blica.BinaryICA(2, random_state="x").fit(drawn.X, segments=drawn.segments)


def test_inverse_transform_is_the_link(ica):
    from scipy.stats import norm

    z = np.random.default_rng(2).normal(size=(5, 2))
    np.testing.assert_allclose(ica.inverse_transform(z), norm.cdf(np.sqrt(np.pi / 8) * z @ ica.mixing_.T - ica.cuts_), rtol=1e-13)


def test_clone_and_random_state(drawn, ica):
    again = clone(ica).fit(drawn.X, segments=drawn.segments)
    assert (again.mixing_ == ica.mixing_).all()
    a = blica.BinaryICA(2, random_state=np.random.RandomState(4)).fit(drawn.X, segments=drawn.segments)
    b = blica.BinaryICA(2, random_state=np.random.RandomState(4)).fit(drawn.X, segments=drawn.segments)
    assert a.model_.fit["seed"] == b.model_.fit["seed"] != 1


def test_check_estimator():
    check_estimator(blica.BinaryICA(binarize=0.0, allow_unidentified=True))


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
    assert (unknown != z).any()
    mean, sd = ica.transform(drawn.X, segments=drawn.segments, return_std=True)
    assert (mean == z).all() and (sd == both.sd).all()
    assert np.allclose(ica.transform(scipy.sparse.csr_matrix(drawn.X)), unknown)
    again = pickle.loads(pickle.dumps(ica))
    assert (again.transform(drawn.X[:9]) == ica.transform(drawn.X[:9])).all()


def test_levels_of_the_fit_hold_in_transform(drawn, ica):
    yes = pd.DataFrame(np.where(drawn.X == 1, "yes", "no"), columns=list("abcdef"))
    named = blica.BinaryICA(2).fit(yes, segments=drawn.segments)
    all_yes = pd.DataFrame([["yes"] * 6], columns=list("abcdef"))
    assert np.allclose(named.transform(all_yes), ica.transform(np.ones((1, 6), dtype=int)), atol=1e-6)
    with pytest.raises(ValueError, match="row 0, column 0 \\('a'\\): value 'maybe' is not one of its levels no<yes"):
        named.transform(all_yes.replace("yes", "maybe"))


def test_score_is_the_mean_log_likelihood(drawn, ica):
    each = ica.score_samples(drawn.X, segments=drawn.segments)
    assert ica.score(drawn.X, segments=drawn.segments) == pytest.approx(each.mean(), abs=1e-15)
    found = blica.loglik(ica, drawn.X, drawn.segments)
    assert each.sum() == pytest.approx(found.loglik, abs=1e-6)
    assert found.error < 0.1 and found.segment_loglik.sum() == pytest.approx(found.loglik, abs=1e-9)
    # all 64 patterns have probability 1 together
    patterns = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    label = ica.segments_[0]
    total = sum(np.exp(blica.loglik(ica, p[None], [label]).loglik) for p in patterns)
    assert total == pytest.approx(1, abs=1e-6)
    assert np.exp(ica.score_samples(patterns, segments=[label] * 64)).sum() == pytest.approx(1, abs=1e-9)
    assert np.exp(ica.score_samples(patterns)).sum() == pytest.approx(1, abs=1e-9)


def test_unknown_segments_are_averaged(drawn, ica):
    rows = drawn.X[:40].astype(float)
    rows[3] = np.nan  # no value at all
    rows[5, 2] = np.nan
    share = ica.model_.samples / ica.model_.samples.sum()
    known = np.array([ica.score_samples(rows, segments=[label] * 40) for label in ica.segments_])
    np.testing.assert_allclose(ica.score_samples(rows), np.log(share @ np.exp(known)), atol=1e-10)
    assert ica.score_samples(rows)[3] == 0 and ica.score(rows) == pytest.approx(ica.score_samples(rows).mean())
    mixed = list(drawn.segments[:20]) + ["winter"] * 20
    with pytest.warns(blica.BlicaWarning, match="1 of the segments of X \\('winter'\\) were not in the fit"):
        z, sd = ica.transform(rows, segments=mixed, return_std=True)
    assert np.allclose(z[:20], ica.transform(rows[:20], segments=drawn.segments[:20]))
    assert np.allclose(z[20:], ica.transform(rows[20:])) and sd.shape == z.shape
    with pytest.raises(ValueError, match="winter"):
        blica.loglik(ica, drawn.X[:1], ["winter"])


def test_transform_gives_plausible_values_and_keeps_the_index(drawn, ica):
    frame = pd.DataFrame(drawn.X, columns=list("abcdef"), index=[f"p{r}" for r in range(len(drawn.X))])
    mean, sd, draws = ica.transform(drawn.X[:60], segments=drawn.segments[:60], return_std=True, draws=400)
    assert draws.shape == (60, 400, 2)
    assert (np.abs(draws.mean(axis=1) - mean) < 0.25 * sd).all() and (np.abs(draws.std(axis=1) / sd - 1) < 0.2).all()
    assert len(ica.transform(drawn.X[:3], draws=1)) == 2
    # rows have streams of their own, whatever their segments are
    label = ica.segments_[0]
    _, mixed = ica.transform(drawn.X[[0, 0]], segments=[label, None], draws=1)
    assert not np.allclose(mixed[0], mixed[1], atol=1e-3)
    named = blica.BinaryICA(2).fit(frame, segments=drawn.segments).set_output(transform="pandas")
    assert list(named.transform(frame[:7]).index) == list(frame.index[:7])
    scores = blica.sources(ica, drawn.X, drawn.segments)
    spread = scores.mean.var(axis=0)
    np.testing.assert_allclose(scores.reliability, spread / (spread + (scores.sd ** 2).mean(axis=0)))
    with pytest.raises(ValueError, match="draws"):
        ica.transform(drawn.X, draws=-1)


def test_rows_without_a_segment_are_averaged(drawn, ica):
    known, unknown = ica.transform(drawn.X[:6], segments=drawn.segments[:6]), ica.transform(drawn.X[:6])
    some = list(drawn.segments[:3]) + [None, float("nan"), None]
    assert np.allclose(ica.transform(drawn.X[:6], segments=some), np.vstack([known[:3], unknown[3:]]))
    assert np.allclose(blica.sources(ica, drawn.X[:6], some).mean, np.vstack([known[:3], unknown[3:]]))
    # segment_column names a column that new people do not have
    frame = with_segments(drawn)
    fitted = blica.BinaryICA(2, segment_column="term").fit(frame)
    bare = frame.drop(columns="term")
    assert np.allclose(fitted.transform(bare[:6]), ica.transform(drawn.X[:6]), atol=1e-6)
    with pytest.raises(ValueError):
        fitted.transform(bare.rename(columns={"a": "z"}))
    array = np.column_stack([drawn.X, drawn.segments])
    fitted = blica.BinaryICA(2, segment_column=-1).fit(array)
    assert np.allclose(fitted.transform(drawn.X[:6]), fitted.transform(bare.to_numpy()[:6]))


def test_many_rows_are_taken_in_pieces(drawn, ica, monkeypatch):
    whole = ica.transform(drawn.X, segments=drawn.segments, draws=1)
    monkeypatch.setattr("blica._verbs.PIECE", 1000)
    for a, b in zip(whole, ica.transform(drawn.X, segments=drawn.segments, draws=1)):
        assert (a == b).all()
    wrong = drawn.X.copy()
    wrong[2001, 1] = 7
    with pytest.raises(ValueError, match="row 2001, column 1"):
        ica.transform(wrong, segments=drawn.segments)


def test_information_criteria(drawn, ica):
    loglik, parameters = blica.loglik(ica, drawn.X, drawn.segments).loglik, 6 * 2 + 2 * 8 * 2 - 2 + 6 - 2
    assert ica.aic(drawn.X, segments=drawn.segments) == pytest.approx(2 * parameters - 2 * loglik, abs=1e-5)
    assert ica.bic(drawn.X, segments=drawn.segments) == pytest.approx(np.log(3200) * parameters - 2 * loglik, abs=1e-5)


def with_segments(drawn):
    frame = pd.DataFrame(drawn.X, columns=list("abcdefgh")[:drawn.X.shape[1]])
    frame.insert(2, "term", [f"t{s}" for s in drawn.segments])
    return frame


def test_segment_column(drawn, ica):
    frame = with_segments(drawn)
    by_name = blica.BinaryICA(2, segment_column="term").fit(frame)
    assert (by_name.mixing_ == ica.mixing_).all() and by_name.segments_ == [f"t{s}" for s in ica.segments_]
    assert by_name.model_.variables == list("abcdef") and by_name.feature_names_in_.tolist() == list(frame.columns)
    assert (by_name.transform(frame) == ica.transform(drawn.X, segments=drawn.segments)).all()
    assert (by_name.fit_transform(frame) == by_name.transform(frame)).all()
    assert by_name.score(frame) == ica.score(drawn.X, segments=drawn.segments)
    numbers = np.column_stack([drawn.segments.astype(int), drawn.X])
    for other in (numbers, numbers.astype(float), numbers.astype(str).astype(object), scipy.sparse.csr_matrix(numbers),
                  pd.DataFrame(numbers, columns=list("sabcdef"))):
        assert (blica.BinaryICA(2, segment_column=0).fit(other).mixing_ == ica.mixing_).all()
    last = np.column_stack([drawn.X, drawn.segments.astype(int)])
    assert (blica.BinaryICA(2, segment_column=-1).fit(last).transform(last) == by_name.transform(frame)).all()
    with pytest.raises(ValueError, match="segment_column is 'term', which is not a column"):
        by_name.transform(frame.drop(columns=["term", "a"]))


def test_target_is_not_a_segment(drawn, ica):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import Pipeline, make_pipeline

    y = (drawn.X[:, 0] ^ drawn.X[:, 3]) | drawn.X[:, 1]
    pipe = Pipeline([("ica", blica.BinaryICA(2)), ("model", LogisticRegression())])
    pipe.fit(drawn.X, y, ica__segments=drawn.segments)
    assert (pipe["ica"].mixing_ == ica.mixing_).all()
    assert (pipe.predict(drawn.X) == LogisticRegression().fit(ica.transform(drawn.X, segments=drawn.segments), y)
            .predict(ica.transform(drawn.X))).all()
    scores = cross_val_score(make_pipeline(blica.BinaryICA(2, segment_column="term"), LogisticRegression()), with_segments(drawn), y,
                             cv=3, error_score="raise")
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore::blica.BlicaWarning")  # folds of consecutive rows hold segments out
def test_model_selection(drawn):
    from sklearn.model_selection import GridSearchCV, KFold

    grid = {"n_components": [1, 2]}
    for cv in (3, KFold(3, shuffle=True, random_state=1)):
        search = GridSearchCV(blica.BinaryICA(segment_column="term"), grid, cv=cv, error_score="raise").fit(with_segments(drawn))
        assert search.best_params_ == {"n_components": 2} and np.isfinite(search.cv_results_["mean_test_score"]).all()
        search = GridSearchCV(blica.BinaryICA(), grid, cv=cv, error_score="raise").fit(drawn.X, segments=drawn.segments)
        assert search.best_params_ == {"n_components": 2} and np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.filterwarnings("ignore::blica.BlicaWarning")
def test_grid_search_chooses_as_select_does():
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    for k, levels in ((1, 2), (2, 3)):
        drawn = blica.simulate(variables=8, sources=k, segments=8, samples=300, levels=levels, seed=7)
        chosen = blica.select(drawn.X, drawn.segments, sources="1:3", folds=3, references=20, ordinal=levels > 2, threads=1)
        folds = list(StratifiedKFold(3, shuffle=True, random_state=1).split(drawn.X, drawn.segments))
        search = GridSearchCV(blica.BinaryICA(segment_column="term", ordinal=levels > 2), {"n_components": [1, 2, 3]}, cv=folds,
                              error_score="raise").fit(with_segments(drawn))
        assert search.best_params_ == {"n_components": chosen.sources} and chosen.sources == k


def test_assessment_is_kept(drawn):
    ica = blica.BinaryICA(2).fit(drawn.X, segments=drawn.segments)
    found = ica.assess(drawn.X, segments=drawn.segments, bootstrap=0)
    alone = blica.assess(ica, drawn.X, drawn.segments, bootstrap=0)
    assert found is ica.assessment_ and found.verdict == alone.verdict
    assert (ica.mixing_se_ == alone.mixing_se).all() and ica.expected_mcs_ == alone.expected_mcs


def test_metadata_routing_where_there_is_any(drawn):
    ica = blica.BinaryICA(2)
    if not hasattr(ica, "set_fit_request"):
        pytest.skip("this scikit-learn has no metadata routing")
    import sklearn
    from sklearn.pipeline import make_pipeline

    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(ica.set_fit_request(segments=True).set_transform_request(segments=True))
        found = pipe.fit_transform(drawn.X, segments=drawn.segments)
    assert (found == blica.BinaryICA(2).fit_transform(drawn.X, segments=drawn.segments)).all()


def test_pandas_output(drawn, ica):
    out = clone(ica).set_output(transform="pandas").fit_transform(drawn.X, segments=drawn.segments)
    assert list(out.columns) == ["z1", "z2"]


def test_segments_are_found():
    drawn = blica.simulate(variables=6, sources=2, segments=3, samples=1000, seed=3)
    found = blica.segment(drawn.X, sources=2, threads=1)
    assert found.states == 3 and found.stop == "converged"
    assert np.allclose(found.probability.sum(axis=1), 1)
    truth = np.unique(drawn.segments, return_inverse=True)[1]
    same = found.labels.astype(int)
    assert np.mean([same[truth == s] == np.bincount(same[truth == s]).argmax() for s in range(3)]) > 0.95
    ica = blica.BinaryICA(2, segments="auto")
    z = ica.fit_transform(drawn.X)
    assert (ica.segmentation_.labels == found.labels).all()
    assert ica.segments_ == ["1", "2", "3"] and z.shape == (3000, 2)
    by_hand = blica.fit(drawn.X, found.labels, sources=2)
    assert (ica.mixing_ == by_hand.mixing).all()
    assert blica.compare(found.model, drawn.model).mcs > 0.95
    with pytest.raises(ValueError, match="given too"):
        ica.fit(drawn.X, segments=drawn.segments)
    with pytest.raises(ValueError, match="at least 50"):
        blica.segment(drawn.X[:40], sources=2)
    with pytest.raises(ValueError, match='give "auto"'):
        blica.BinaryICA(2, segments="some").fit(drawn.X)
