"""Items with levels: how they are given, kept by the model, and what the program makes of the same data."""
import json
import os
import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

import blica

OLSSON = np.array([[13, 6, 0], [69, 113, 22], [41, 132, 104]])
NAMES = ["low", "middle", "high"]


@pytest.fixture(scope="module")
def drawn():
    return blica.simulate(variables=5, sources=2, segments=6, samples=500, levels=3, seed=4)


@pytest.fixture(scope="module")
def frame(drawn):
    """The same rows as ordered Categoricals, but for the first item, which is 0/1."""
    made = pd.DataFrame({f"x{i + 1}": pd.Categorical.from_codes(drawn.X[:, i], NAMES, ordered=True) for i in range(5)})
    made["x1"] = (drawn.X[:, 0] > 0).astype(int)
    return made


def program(tmp_path, frame, segments, *options):
    frame.assign(segment=segments).to_csv(tmp_path / "data.csv", index=False)
    subprocess.run([os.environ["BLICA"], "fit", tmp_path / "data.csv", "--sources", "2", "--out", tmp_path / "model.json", "--quiet",
                    *options], check=True)
    return blica.load(tmp_path / "model.json")


def same(a, b):
    assert a.levels == b.levels and a.variables == b.variables and a.cut_names == b.cut_names
    for part in ("mixing", "variances", "means", "cuts", "thresholds", "samples"):
        assert (getattr(a, part) == getattr(b, part)).all(), part


def test_whole_numbers_are_what_the_program_makes_of_them(drawn, tmp_path):
    model = blica.fit(drawn.X, drawn.segments, sources=2, ordinal=True)
    assert drawn.X.min() == 0 and drawn.X.max() == 2 and model.levels == [["0", "1", "2"]] * 5
    assert model.cuts.shape == (10,) and model.cut_names[:2] == ["x1>=1", "x1>=2"]
    same(model, program(tmp_path, pd.DataFrame(drawn.X, columns=model.variables), drawn.segments, "--ordinal"))
    assert blica.compare(model, drawn.model).mcs > 0.98


def test_ordered_categoricals_and_a_column_of_two_levels(drawn, frame, tmp_path):
    model = blica.fit(frame, drawn.segments, sources=2)
    assert model.levels == [["0", "1"]] + [NAMES] * 4
    text = "low<middle<high"
    same(model, program(tmp_path, frame, drawn.segments, "--levels", ",".join(f"x{i}={text}" for i in range(2, 6))))
    plain = frame.astype(object)
    given = blica.fit(plain, drawn.segments, sources=2, levels={name: NAMES for name in frame.columns[1:]})
    same(model, given)
    same(model, pickle.loads(pickle.dumps(model)))
    ica = blica.BinaryICA(2).fit(frame, segments=drawn.segments)
    same(model, ica.model_)
    assert ica.levels_ == [None] + [tuple(NAMES)] * 4
    numbers = blica.fit(np.column_stack([frame["x1"], drawn.X[:, 1:]]), drawn.segments, sources=2, ordinal=True)
    assert (numbers.mixing == model.mixing).all()


def test_levels_that_nobody_has_are_kept(drawn):
    wide = pd.DataFrame({f"x{i + 1}": pd.Categorical(drawn.X[:, i], [0, 1, 2, 3], ordered=True) for i in range(5)})
    assert blica.fit(wide, drawn.segments, sources=2).levels == [["0", "1", "2", "3"]] * 5
    few = blica.fit(drawn.X, drawn.segments, sources=2, levels=[0, 1, 2, 3])
    assert few.levels == [["0", "1", "2", "3"]] * 5


def test_counts_and_correlations_carry_the_levels(drawn):
    counts = blica.count(drawn.X, drawn.segments, ordinal=True)
    assert counts.variables[:2] == ["x1[0<1<2]>=1", "x1[0<1<2]>=2"]
    cor = blica.correlate(counts)
    first = drawn.X[drawn.segments == cor.segments[0]]
    np.testing.assert_allclose(cor.thresholds[0, :2], norm.ppf([(first[:, 0] >= 1).mean(), (first[:, 0] >= 2).mean()]), atol=1e-12)
    assert cor.levels[0] == ["0", "1", "2"] and cor.log_scale.shape == cor.location.shape == (6, 5)
    assert (blica.fit(counts, sources=2).mixing == blica.fit(drawn.X, drawn.segments, sources=2, ordinal=True).mixing).all()
    binary = blica.correlate(drawn.X > 0, drawn.segments)
    assert binary.log_scale is None and binary.levels[0] == ["0", "1"]


def test_simulated_rows_have_the_levels_of_the_model(drawn, frame):
    model = blica.fit(frame, drawn.segments, sources=2)
    rows = blica.simulate(model, seed=3).X
    assert list(rows.columns) == model.variables and rows["x2"].cat.ordered and list(rows["x2"].cat.categories) == NAMES
    assert abs((rows["x2"] == "low").mean() - (frame["x2"] == "low").mean()) < 0.05
    numbers = blica.fit(drawn.X + 4, drawn.segments, sources=2, ordinal=True)
    assert set(np.unique(blica.simulate(numbers, seed=3).X)) == {4, 5, 6}


def test_inverse_transform_of_levels(drawn):
    ica = blica.BinaryICA(2, ordinal=True).fit(drawn.X, segments=drawn.segments)
    z = np.array([[0.3, -1.0]])
    expected = norm.cdf(np.sqrt(ica.model_.link) * np.repeat(ica.mixing_ @ z[0], 2) - ica.cuts_)
    np.testing.assert_allclose(ica.inverse_transform(z)[0], expected, atol=1e-14)


def test_two_labels_are_remembered(drawn):
    answers = pd.DataFrame(np.where(drawn.X > 0, "yes", "no"), columns=list("abcde"))
    model = blica.fit(answers, drawn.segments, sources=2)
    assert model.levels == [["no", "yes"]] * 5
    one = pd.DataFrame([["yes", "no", "yes", "yes", "yes"]], columns=list("abcde"))
    found = blica.sources(model, one)
    plain = blica.fit(drawn.X > 0, drawn.segments, sources=2)
    np.testing.assert_allclose(found.mean, blica.sources(plain, [[1, 0, 1, 1, 1]]).mean, atol=1e-9)
    swapped = one[list("edcba")]  # columns by name, levels with them
    np.testing.assert_allclose(blica.sources(model, swapped).mean, found.mean, atol=1e-12)
    with pytest.raises(ValueError, match=r"row 0, column 1 \('b'\): value 'maybe' is not one of its levels no<yes"):
        blica.sources(model, one.replace("no", "maybe"))
    with pytest.raises(ValueError, match="not one of its levels no<yes"):
        blica.loglik(model, drawn.X > 0, drawn.segments)


def test_labels_that_cannot_be_written_are_zero_and_one(drawn):
    short = pd.DataFrame(np.where(drawn.X > 0, ">=5", "<5"), columns=list("abcde"))
    ica = blica.BinaryICA(2).fit(short, segments=drawn.segments)
    assert ica.model_.levels == [["0", "1"]] * 5 and ica.levels_[0] == ("<5", ">=5")
    plain = blica.BinaryICA(2).fit(drawn.X > 0, segments=drawn.segments)
    assert (ica.transform(short[:3]) == plain.transform((drawn.X > 0)[:3])).all()


@pytest.mark.parametrize("change, options, message", [
    (lambda x: x, {}, r"column 0 \('x1'\) has 3 different values \(0, 1, 2\).*ordinal=True"),
    (lambda x: x + 0.5, {"ordinal": True}, "0.5 is not a whole number"),
    (lambda x: x * 0, {"ordinal": True}, r"column 0 \('x1'\) has 1 value \(0\)"),
    (lambda x: x, {"levels": [0, 1]}, "value 2 is not one of its levels 0<1"),
    (lambda x: x, {"levels": ["a", "b", "c"]}, "a number is not one of its levels a<b<c"),
    (lambda x: x, {"levels": {"mood": [0, 1, 2]}}, "there is no column 'mood'"),
    (lambda x: x, {"levels": [0, 1, 1]}, "'1' occurs twice"),
    (lambda x: x, {"levels": "abc"}, "give a list of levels"),
    (lambda x: x, {"ordinal": True, "binarize": 1}, "leave ordinal, levels and numeric out"),
    (lambda x: x.astype(str) + "x", {"ordinal": True}, "'0x' is not a whole number"),
    (lambda x: x.astype(str) + "x", {}, "make it an ordered Categorical"),
    (lambda x: x.replace(2, "two"), {"ordinal": True}, "is not a whole number"),
    (lambda x: x + np.arange(len(x))[:, None] * 3, {"ordinal": True}, "from 2 to 100 can be used"),
])
def test_levels_that_cannot_be_are_refused(drawn, change, options, message):
    frame = pd.DataFrame(drawn.X[:300].astype(int), columns=[f"x{i + 1}" for i in range(5)])
    with pytest.raises((ValueError, TypeError), match=message):
        blica.count(change(frame), **options)


def test_polychoric_of_olssons_table():
    found = blica.polychoric_table(OLSSON)
    np.testing.assert_allclose(found.row_thresholds, [-1.77438, -0.13577], atol=5e-6)
    np.testing.assert_allclose(found.column_thresholds, [-0.68713, 0.66821], atol=5e-6)
    assert found.correlation == pytest.approx(0.4913712, abs=1e-6)  # psych 2.2.9, whose search ends at about 1e-6
    h = np.concatenate([[-9], found.row_thresholds, [9]])
    k = np.concatenate([[-9], found.column_thresholds, [9]])

    def score(rho, step=1e-4):
        def value(r):
            corner = np.array([[multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([a, b]) for b in k] for a in h])
            cell = corner[1:, 1:] - corner[:-1, 1:] - corner[1:, :-1] + corner[:-1, :-1]
            return (OLSSON[OLSSON > 0] * np.log(cell[OLSSON > 0])).sum()
        return (value(rho + step) - value(rho - step)) / (2 * step)

    assert found.correlation == pytest.approx(brentq(score, 0.3, 0.7, xtol=1e-9), abs=2e-6)
    assert found.flags == 0 and 0.03 < found.se < 0.05
    with pytest.raises(ValueError, match="at least 2 rows"):
        blica.polychoric_table([1, 2])


def test_polychoric_of_data_is_that_of_its_tables(drawn):
    x = drawn.X.astype(float)
    x[::7, 2] = np.nan
    found = blica.polychoric(x)
    both = ~np.isnan(x[:, 2])
    table = pd.crosstab(x[both, 2], x[both, 4]).to_numpy()
    one = blica.polychoric_table(table)
    assert found.correlation[2, 4] == pytest.approx(one.correlation, abs=1e-12)
    assert found.se[2, 4] == pytest.approx(one.se, rel=1e-9)
    np.testing.assert_allclose(found.thresholds[0], norm.ppf([(x[:, 0] <= 0).mean(), (x[:, 0] <= 1).mean()]), atol=1e-12)
    named = blica.polychoric(pd.DataFrame(x, columns=list("abcde")))
    assert named.correlation.loc["c", "e"] == found.correlation[2, 4] and list(named.thresholds) == list("abcde")
    two = blica.polychoric(np.column_stack([drawn.X[:, 0] > 0, drawn.X[:, 1:]]).astype(int))  # 0/1 beside three levels
    assert len(two.thresholds[0]) == 1 and len(two.thresholds[1]) == 2
    cut = (drawn.X > 0).astype(int)
    assert (blica.polychoric(cut).correlation == blica.tetrachoric(cut).correlation).all()


def test_an_empty_level_is_left_out_of_a_table():
    wide = np.insert(np.insert(OLSSON, 1, 0, axis=0), 3, 0, axis=1)
    a, b = blica.polychoric_table(wide), blica.polychoric_table(OLSSON)
    assert a.correlation == b.correlation and a.se == b.se


def test_a_model_file_keeps_the_levels(drawn, frame, tmp_path):
    model = blica.fit(frame, drawn.segments, sources=2)
    blica.save(model, tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["levels"] == model.levels
    same(model, blica.load(tmp_path / "model.json"))


def test_rows_have_sources_and_a_likelihood(drawn, frame, tmp_path):
    ica = blica.BinaryICA(2).fit(frame, segments=drawn.segments)
    found = blica.sources(ica, frame, drawn.segments)
    assert (ica.transform(frame, segments=drawn.segments) == found.mean).all()
    mean, sd = ica.transform(frame, segments=drawn.segments, return_std=True)
    assert (sd == found.sd).all() and (sd > 0).all() and (mean == found.mean).all()
    total = blica.loglik(ica, frame, drawn.segments)
    assert total.row_loglik.sum() == pytest.approx(total.loglik, abs=1e-4)
    assert ica.score(frame, segments=drawn.segments) == pytest.approx(total.row_loglik.mean(), abs=1e-12)
    assert ica.bic(frame, segments=drawn.segments) == pytest.approx(
        -2 * total.row_loglik.sum() + ica.model_.parameters * np.log(len(frame)), abs=1e-6)
    frame.assign(segment=drawn.segments).to_csv(tmp_path / "data.csv", index=False)
    blica.save(ica, tmp_path / "model.json")
    said = subprocess.run([os.environ["BLICA"], "loglik", tmp_path / "model.json", tmp_path / "data.csv", "--json"], check=True,
                          capture_output=True, text=True).stdout
    assert json.loads(said)["loglik"] == total.loglik
    subprocess.run([os.environ["BLICA"], "sources", tmp_path / "model.json", tmp_path / "data.csv", "--out", tmp_path / "s.csv",
                    "--quiet"], check=True)
    written = pd.read_csv(tmp_path / "s.csv", float_precision="round_trip")
    np.testing.assert_allclose(written[[c for c in written if c.endswith("mean") or c in ("z1", "z2")]].to_numpy()[:, :2], mean,
                               rtol=1e-8, atol=1e-10)


def test_probabilities_of_all_patterns_are_one_together(drawn):
    model = blica.fit(drawn.X, drawn.segments, sources=2, ordinal=True)
    patterns = np.array(np.meshgrid(*[[0, 1, 2]] * 3)).reshape(3, -1).T.astype(float)
    rows = np.column_stack([patterns, np.full((27, 2), np.nan)])
    each = blica.loglik(model, rows, [model.segments[1]] * 27).row_loglik
    assert np.exp(each).sum() == pytest.approx(1, abs=1e-5)
    with pytest.raises(ValueError, match="value 3 is not one of its levels 0<1<2"):
        blica.sources(model, rows + 1, [model.segments[1]] * 27)


def test_a_report_of_items_with_levels(drawn, tmp_path):
    model = blica.fit(drawn.X, drawn.segments, sources=2, ordinal=True)
    os.environ["PATH"] = os.path.dirname(os.environ["BLICA"]) + os.pathsep + os.environ["PATH"]
    blica.report(model, drawn.X, tmp_path / "report.html", drawn.segments)
    assert "x3" in (tmp_path / "report.html").read_text()


def test_segments_are_found_in_items_with_levels():
    drawn = blica.simulate(variables=6, sources=2, segments=3, samples=400, levels=4, seed=3)
    found = blica.segment(drawn.X, sources=2, ordinal=True, change_points=True, max_states=5, threads=1)
    assert found.states == 3 and found.engine == "grid"
    assert np.mean(found.labels.astype(int) == 1 + np.arange(1200) // 400) > 0.97
    assert blica.compare(found.model, drawn.model).mcs > 0.98
    assert len(found.model.cuts) == 18


def test_values_that_mean_missing():
    drawn = blica.simulate(variables=5, sources=2, segments=4, samples=300, levels=3, seed=5)
    hole = np.random.default_rng(1).random(drawn.X.shape) < 0.1
    x, gone = np.where(hole, np.nan, drawn.X), np.where(hole, -9, drawn.X)
    wanted = blica.count(x, drawn.segments, ordinal=True)
    for other in (gone, np.where(hole & (x != x), 99, gone), pd.DataFrame(gone, columns=[f"x{i + 1}" for i in range(5)])):
        found = blica.count(other, drawn.segments, ordinal=True, missing=[-9, 99])
        assert (found.table(1, 0, 3) == wanted.table(1, 0, 3)).all() and found.variables == wanted.variables
    model = blica.fit(gone, drawn.segments, sources=2, ordinal=True, missing=-9)
    assert (model.mixing == blica.fit(x, drawn.segments, sources=2, ordinal=True).mixing).all()
    assert blica.loglik(model, gone, drawn.segments, missing=-9)[0] == blica.loglik(model, x, drawn.segments)[0]
    assert (blica.polychoric(gone, missing=-9).correlation == blica.polychoric(x).correlation).all()
    ica = blica.BinaryICA(2, ordinal=True, missing="-9").fit(gone, segments=drawn.segments)
    assert (ica.mixing_ == model.mixing).all() and (ica.transform(gone) == ica.transform(x)).all()
    with pytest.raises(ValueError, match="-9 is not one of its levels"):
        blica.loglik(model, gone, drawn.segments)


def test_text_that_means_missing():
    answers = ["never", "often", "refused"] * 20
    ordered = pd.Categorical(answers, ["never", "rarely", "often", "refused"], ordered=True)
    frame = pd.DataFrame({"a": ordered, "b": ["no", "yes", "?"] * 20})
    counts = blica.count(frame, missing=["refused", "?"])
    assert counts.variables == ["a[never<rarely<often]>=1", "a[never<rarely<often]>=2", "b[no<yes]>=1"]
    assert counts.table(0, 0, 2).sum() == 40 and list(frame["a"].cat.categories)[-1] == "refused"
    with pytest.raises(ValueError, match="not for sparse"):
        blica.count(sparse.csr_matrix(np.eye(4)), missing=-9)


def test_ordinal_takes_columns_of_two_words_and_given_levels_of_text():
    rng = np.random.default_rng(3)
    z = rng.normal(size=(900, 4)) + rng.normal(size=(900, 1)) * np.repeat([0.4, 1, 2], 300)[:, None]
    frame = pd.DataFrame({"a": 1 + (z[:, 0] > -0.5) + (z[:, 0] > 0.5), "b": 1 + (z[:, 1] > -0.5) + (z[:, 1] > 0.5),
                          "smoker": np.where(z[:, 2] > 0, "Yes", "No"),
                          "mood": np.array(["never", "rarely", "often"])[(z[:, 3] > -0.5).astype(int) + (z[:, 3] > 0.5)]})
    segments = np.repeat(["x", "y", "z"], 300)
    model = blica.fit(frame, segments, sources=1, ordinal=True, levels={"mood": ["never", "rarely", "often"]})
    assert [list(own) for own in model.levels] == [["1", "2", "3"], ["1", "2", "3"], ["No", "Yes"], ["never", "rarely", "often"]]
    with pytest.raises(ValueError, match="not a whole number"):
        blica.fit(frame, segments, sources=1, ordinal=True)
    with pytest.raises(ValueError, match="not a whole number"):
        blica.fit(frame.assign(smoker=frame.smoker.replace("No", "low")).drop(columns="mood"), segments, sources=1, ordinal=True)
