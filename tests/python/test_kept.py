"""One assessment, which the model keeps: everything that shows errors shows its errors, and it is not computed twice."""
import json
import os
import pickle
import subprocess

import matplotlib.pyplot as plt
import numpy as np
import pytest

import blica


@pytest.fixture(scope="module")
def drawn():
    return blica.simulate(variables=6, sources=2, segments=6, samples=200, seed=5)


@pytest.fixture
def ica(drawn):
    return blica.BinaryICA(2).fit(drawn.X, segments=drawn.segments)


def test_the_same_question_gives_the_same_object(drawn, ica):
    first = ica.assess(drawn.X, segments=drawn.segments, bootstrap=20)
    assert ica.assess(drawn.X, segments=drawn.segments, bootstrap=20) is first
    assert blica.assess(ica, drawn.X.tolist(), list(drawn.segments), bootstrap=20) is first
    assert blica.assess(ica.model_, drawn.X, drawn.segments, bootstrap=20, threads=1) is first
    assert ica.assess() is ica.assessment_ is ica.model_.assessment is blica.assess(ica) is first
    assert ica.mixing_se_ is first.mixing_se and ica.expected_mcs_ == first.expected_mcs
    with pytest.raises(ValueError, match="read-only"):
        first.mixing_se[0, 0] = 0


def test_everything_shows_its_errors(drawn, ica):
    model = ica.model_
    assert "±" not in model._repr_html_() and "se" not in model.to_frame()
    found = ica.assess(drawn.X, segments=drawn.segments, bootstrap=0)
    assert model._repr_html_() == ica._repr_html_() == found._repr_html_()
    assert model.to_frame().equals(found.to_frame()) and str(found) in str(model)
    assert model.to_frame("means").equals(found.to_frame("means"))
    lines = blica.plot_loadings(model)[1].collections[0].get_segments()
    assert sorted(line[0, 0] for line in lines) == sorted(found.mixing_low[:, 1])
    plt.close("all")


def test_pickle_keeps_it_and_a_fit_drops_it(drawn, ica):
    found = ica.assess(drawn.X, segments=drawn.segments, bootstrap=0)
    for again in (pickle.loads(pickle.dumps(ica)), pickle.loads(pickle.dumps(ica.model_))):
        kept = again.assess() if again is not None and hasattr(again, "assess") else again.assessment
        assert blica.assess(again, drawn.X, drawn.segments, bootstrap=0) is kept and kept.model is getattr(again, "model_", again)
        assert (kept.mixing_se == found.mixing_se).all() and not kept.mixing_se.flags.writeable
    ica.fit(drawn.X, segments=drawn.segments)
    assert not hasattr(ica, "assessment_") and not hasattr(ica, "mixing_se_") and ica.model_.assessment is None
    with pytest.raises(ValueError, match="the model keeps no assessment; give X and segments"):
        ica.assess()


def test_other_rows_options_weights_and_clusters_replace_it(drawn, ica):
    model, seen = ica.model_, []
    other = drawn.X.copy()
    other[0, 0] = 1 - other[0, 0]
    weight, cluster = np.linspace(1, 2, len(other)), np.arange(len(other)) // 2
    for X, options in ((drawn.X, {}), (other, {}), (drawn.X, {"level": 0.9}), (drawn.X, {"sample_weight": weight}), (drawn.X, {"cluster": cluster}),
                       (drawn.X[::-1], {})):
        seen.append(blica.assess(model, X, drawn.segments if X is not drawn.X[::-1] else drawn.segments[::-1], bootstrap=0, **options))
        assert model.assessment is seen[-1]
    assert len({id(found) for found in seen}) == len(seen)
    assert seen[2].level == 0.9 and seen[4].clusters == len(other) // 2 and seen[0].clusters == 0
    assert seen[3].rows < seen[0].rows == len(other)
    with pytest.raises(ValueError, match="X is not given, and without it only what the model keeps can be shown"):
        blica.assess(model, bootstrap=0)


@pytest.mark.parametrize("levels", [2, 3])
def test_its_file_is_that_of_the_program(tmp_path, levels):
    drawn = blica.simulate(variables=6, sources=2, segments=6, samples=200, seed=5, levels=levels)
    model = blica.fit(drawn.X, drawn.segments, sources=2, ordinal=True)
    for bootstrap in (0, 20):
        found = blica.assess(model, drawn.X, drawn.segments, bootstrap=bootstrap)
        found.save(tmp_path / "own.json")
        blica.save(model, tmp_path / "model.json")
        with open(tmp_path / "data.csv", "w") as file:
            file.write(",".join(model.variables) + ",segment\n")
            file.writelines(",".join(map(str, row)) + f",{s}\n" for row, s in zip(drawn.X, drawn.segments))
        command = [os.environ["BLICA"], "assess", "model.json", "data.csv", "--bootstrap", str(bootstrap), "--out", "a.json", "--quiet"]
        subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.PIPE)
        own, program = (json.loads((tmp_path / name).read_text()) for name in ("own.json", "a.json"))
        assert own == program


def test_the_report_shows_it(drawn, ica, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(os.environ["BLICA"]), prepend=os.pathsep)

    def page():
        blica.report(ica, drawn.X, tmp_path / "r.html", segments=drawn.segments)
        return (tmp_path / "r.html").read_text()

    found = ica.assess(drawn.X, segments=drawn.segments, bootstrap=0)
    page()
    assert ica.assessment_ is found  # not assessed again, with the usual options
    changed = pickle.loads(pickle.dumps(found))
    changed.verdict[3] = "Axes: as they are kept."
    ica.model_._kept = (ica.model_._kept[0], changed)
    assert "as they are kept" in page()
    blica.report(ica, path=tmp_path / "r.html")  # without rows
    assert "as they are kept" in (tmp_path / "r.html").read_text()
    ica.fit(drawn.X, segments=drawn.segments)
    assert "as they are kept" not in page() and ica.assessment_.draws > 0  # it was assessed for the report


def test_the_report_knows_weights_and_clusters(drawn, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(os.environ["BLICA"]), prepend=os.pathsep)
    cluster = np.arange(len(drawn.X)) // 2
    weight = np.where(cluster % 2, 1.0, 3.0)
    model = blica.fit(drawn.X, drawn.segments, sources=2, sample_weight=weight)
    found = blica.assess(model, drawn.X, drawn.segments, sample_weight=weight, cluster=cluster, bootstrap=0)
    blica.report(model, drawn.X, tmp_path / "r.html", drawn.segments, sample_weight=weight, cluster=cluster)
    page = (tmp_path / "r.html").read_text()
    assert model.assessment is found and "--weights weights" in page
