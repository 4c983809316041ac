"""Columns of numbers among the items: the model of the program, new rows cut at the same numbers, what is refused."""
import os
import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest

import blica


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    mixing = rng.standard_normal((6, 2))
    rows = [rng.standard_normal((300, 2)) * np.exp(rng.normal(0, .8, 2) / 2) @ mixing.T * .6267 + rng.standard_normal((300, 6)) for s in range(12)]
    q = pd.DataFrame(np.vstack(rows), columns=["income", "time", "score", "a", "b", "c"])
    q[["a", "b", "c"]] = (q[["a", "b", "c"]] > 0).astype(int)
    q.loc[7::50, "time"] = np.nan
    return q.assign(income=np.exp(q.income), score=(100 * q.score).round().astype(int), wave=np.repeat(np.arange(12), 300))


def test_the_model_is_that_of_the_program(frame, tmp_path):
    model = blica.fit(frame, "wave", sources=2, numeric=["income", "time", "score"])
    frame.to_csv(tmp_path / "data.csv", index=False)
    subprocess.run([os.environ["BLICA"], "fit", tmp_path / "data.csv", "--sources", "2", "--numeric", "income:score", "--segment-column",
                    "wave", "--out", tmp_path / "model.json", "--quiet"], check=True)
    other = blica.load(tmp_path / "model.json")
    assert model.levels == other.levels and (model.mixing == other.mixing).all() and (model.cuts == other.cuts).all()
    assert model.levels[0][0] == "-Inf" and len(model.levels[0]) == 16 and model.cut_names[0].startswith("income>=")
    ours, theirs = blica.sources(other, frame, "wave"), blica.sources(model, frame.assign(wave=frame.wave.astype(str)), "wave")
    assert (ours.mean == theirs.mean).all()


def test_arrays_estimators_and_new_rows(frame):
    x = frame[["income", "time", "score", "a", "b", "c"]].to_numpy()
    ica = blica.BinaryICA(2, numeric=[0, 1, 2]).fit(x, segments=frame.wave)
    assert (ica.mixing_ == blica.fit(frame, "wave", sources=2, numeric=["income", "time", "score"]).mixing).all()
    new = x[:50].copy()
    new[:, 0] = 1e9  # above all that was seen
    top = x[:50].copy()
    top[:, 0] = float(ica.levels_[0][-1])
    assert (ica.transform(new) == ica.transform(top)).all()
    again = pickle.loads(pickle.dumps(ica))
    assert (again.transform(new) == ica.transform(new)).all()
    counts = blica.count(x, frame.wave, levels={0: ["-Inf", .5, 2], 1: ["-Inf", 0], 2: ["-Inf", -100, 0, 100]})
    assert counts.variables[:2] == ["x1[-Inf<0.5<2]>=1", "x1[-Inf<0.5<2]>=2"]
    assert counts.ones[:, 1].sum() == (x[:, 0] >= 2).sum()


def test_what_is_refused(frame):
    with pytest.raises(ValueError, match="numeric: there is no column 'wages' in X"):
        blica.fit(frame, "wave", sources=2, numeric=["wages"])
    with pytest.raises(ValueError, match="column 0 \\('income'\\): levels gives its levels, and numeric names it too"):
        blica.fit(frame, "wave", sources=2, numeric=["income", "time", "score"], levels={"income": ["-Inf", 1]})
    with pytest.raises(ValueError, match="column 0 \\('income'\\): it has 1 different numbers"):
        blica.count(frame.assign(income=3.), "wave", numeric=["income", "time", "score"])
    with pytest.raises(ValueError, match="column 3 \\('a'\\) is not numeric"):
        blica.count(frame.assign(a="x"), "wave", numeric="a")
    with pytest.raises(ValueError, match="leave ordinal, levels and numeric out"):
        blica.count(frame, "wave", numeric="income", binarize=0)
    with pytest.raises(ValueError, match="column 1 \\('time'\\) has .* different values"):
        blica.count(frame, "wave", numeric="income")
