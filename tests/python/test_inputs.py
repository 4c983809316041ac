"""What users pass in: it works, or the message says what to do."""
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import blica


@pytest.fixture(scope="module")
def drawn():
    return blica.simulate(variables=6, sources=2, segments=8, samples=200, seed=3)


@pytest.fixture(scope="module")
def frame(drawn):
    return pd.DataFrame(drawn.X, columns=list("abcdef")).assign(group=drawn.segments)


class Columns:
    """A frame of another library: it has names, and the interchange protocol at most."""

    def __init__(self, frame, protocol):
        self.columns, self.shape = list(frame.columns), frame.shape
        self.__array__ = frame.to_numpy
        if protocol:
            self.__dataframe__ = frame.__dataframe__


def test_segments_name_a_column(drawn, frame):
    model = blica.fit(frame, segments="group", sources=2)
    assert model.variables == list("abcdef")
    assert (model.mixing == blica.fit(drawn.X, drawn.segments, sources=2).mixing).all()
    assert blica.loglik(model, frame, "group").loglik == blica.loglik(model, drawn.X, drawn.segments).loglik
    assert (blica.sources(model, frame, "group").mean == blica.sources(model, drawn.X, drawn.segments).mean).all()
    assert blica.fitted(model, frame, "group").srmr == blica.fitted(model, drawn.X, drawn.segments).srmr
    assert blica.count(frame, "group").segments == model.segments
    assert blica.select(frame, "group", sources=2, references=20, folds=2).sources == 2
    with pytest.raises(ValueError, match="segments is 'term', which is not a column of X; it has a, b, c, d, e, f, group"):
        blica.fit(frame, "term", sources=2)
    with pytest.raises(TypeError, match="segments is 'group', but X has no column names"):
        blica.fit(drawn.X, "group", sources=2)
    with pytest.raises(TypeError, match="segment_column='group'"):
        blica.BinaryICA(2).fit(frame, segments="group")


def test_labels_in_the_wrong_place(drawn):
    with pytest.raises(ValueError, match="give the labels that you have to fit: fit\\(X, segments=labels\\)"):
        blica.BinaryICA(2, segments=drawn.segments).fit(drawn.X)
    with pytest.raises(ValueError, match="one segment.*y is ignored, so give fit\\(X, segments=labels\\)"):
        blica.BinaryICA(2).fit(drawn.X, drawn.segments)


def test_no_change_is_said_where_segments_are_found():
    coins = np.random.default_rng(0).integers(0, 2, (1000, 6))
    with pytest.raises(ValueError, match='one segment.*segments="auto" found no change over time'):
        blica.BinaryICA(2, segments="auto").fit(coins)


def test_reordered_columns_are_named_before_their_levels(drawn, frame):
    mixed = frame[list("abcdef")].assign(f=np.where(frame.f == 1, "yes", "no"))
    ica = blica.BinaryICA(2).fit(mixed, segments=drawn.segments)
    with pytest.raises(ValueError, match="feature names should match"):
        ica.transform(mixed[list("fedcba")])


def test_frames_of_other_libraries_keep_their_names(drawn, frame):
    items = frame[list("abcdef")]
    assert blica.fit(Columns(items, True), drawn.segments, sources=2).variables == list("abcdef")
    ica = blica.BinaryICA(2).fit(Columns(items, True), segments=drawn.segments)
    assert ica.feature_names_in_.tolist() == list("abcdef") and (ica.transform(Columns(items, True)) == ica.transform(items)).all()
    with pytest.raises(TypeError, match="column names cannot be read"):
        blica.fit(Columns(items, False), drawn.segments, sources=2)


def test_numbers_of_sources_to_compare(drawn):
    for sources in (range(1, 4), [1, 2, 3], np.arange(1, 4), "1:3"):
        found = blica.select(drawn.X, drawn.segments, sources=sources, references=20, folds=2)
        assert found.candidates.tolist() == [0, 1, 2, 3]
    for sources in ([1, 3], [], [3, 2]):
        with pytest.raises(ValueError, match="consecutive numbers"):
            blica.select(drawn.X, drawn.segments, sources=sources)


def test_documented_parameters_are_accepted():
    text = blica.BinaryICA.__doc__.split("Parameters")[1].split("Attributes")[0]
    named = [name for line in text.splitlines() if line.startswith("    ") and " : " in line and not line.startswith("     ")
             for name in line.split(" : ")[0].replace(",", " ").split()]
    assert {"n_components", "n_init", "tol", "max_iter", "method"} <= set(named)
    assert set(named) <= set(blica.BinaryICA().get_params())


def test_arrays_of_a_model_cannot_be_written_to(drawn):
    ica = blica.BinaryICA(2).fit(drawn.X, segments=drawn.segments)
    for held in (ica, pickle.loads(pickle.dumps(ica))):
        for name in ("mixing_", "components_", "variances_", "means_", "cuts_", "thresholds_", "correlations_"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(held, name)[0] = 9
        with pytest.raises(ValueError, match="read-only"):
            held.model_.mixing[0, 0] = 9
    with pytest.raises(ValueError, match="read-only"):
        blica.count(drawn.X).ones[0] = 9


def test_segments_that_are_numbers_are_sorted(drawn):
    numbers = np.array([int(label) for label in drawn.segments])
    order = np.argsort(-numbers, kind="stable")  # 8 first
    for labels in (numbers, numbers.astype(float), numbers.astype(object), pd.Series(numbers)):
        assert blica.count(drawn.X[order], np.asarray(labels)[order]).segments == list("12345678")
    dates = np.array(["2024-03-01", "2023-12-01"], dtype="datetime64[D]")[numbers % 2]
    assert [label[:4] for label in blica.count(drawn.X, dates).segments] == ["2023", "2024"]
    assert blica.count(drawn.X[order], drawn.segments[order]).segments == list("87654321")  # text
    categories = pd.Categorical(numbers, categories=[3, 1, 2, 4, 5, 6, 7, 8])
    assert blica.count(drawn.X, categories).segments == list("31245678")


def test_ages_are_not_taken_for_items_without_a_word(frame):
    with pytest.warns(blica.BlicaWarning, match="'age' has 40 levels, as a measurement has and not an item"):
        blica.fit(frame.assign(age=15 + np.arange(len(frame)) % 40), "group", sources=2, ordinal=True, max_iterations=1)
    assert blica.simulate(variables=4, sources=2, segments=2, samples=9, seed=2.0**60).model.fit["seed"] == 2**60


def test_a_rare_level_does_not_end_cross_validation():
    from sklearn.model_selection import KFold, cross_val_score

    drawn = blica.simulate(variables=5, sources=2, segments=6, samples=100, levels=4, seed=2)
    x = pd.DataFrame(drawn.X, columns=list("abcde"))
    x.loc[5, "a"] = 9
    x["segment"] = drawn.segments
    rare = blica.BinaryICA(2, ordinal=True, segment_column="segment")
    with pytest.warns(blica.BlicaWarning, match=r"1 value not seen in the fit \(row \d+, column 0 \('a'\): 9\) count"):
        scores = cross_val_score(rare, x, cv=KFold(3, shuffle=True, random_state=1), error_score="raise")
    assert np.isfinite(scores).all()
    # it counts as missing, and nothing else of the row does
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ica = rare.fit(x.drop(index=5))
        gone = x.iloc[[5]].assign(a=np.nan)
        assert (ica.transform(x.iloc[[5]]) == ica.transform(gone)).all() and ica.score(x.iloc[[5]]) == ica.score(gone)
    # levels that were given are strict
    with pytest.raises(ValueError, match="value 9 is not one of its levels"):
        blica.BinaryICA(2, levels=[0, 1, 2, 3], segment_column="segment").fit(x.drop(index=5)).transform(x.iloc[[5]])


def test_labels_of_variables_are_kept(tmp_path):
    """As pandas.read_spss leaves them from pandas 2.2 on."""
    drawn = blica.simulate(variables=4, sources=1, segments=4, samples=100, seed=3)
    frame = pd.DataFrame(drawn.X, columns=list("abcd")).assign(wave=drawn.segments)
    assert blica.fit(frame, "wave", sources=1).labels is None
    frame.attrs["column_names_to_labels"] = {"a": "do you smoke?", "b": None, "wave": "season"}
    for model in (blica.fit(frame, "wave", sources=1), blica.BinaryICA(1, segment_column="wave").fit(frame).model_):
        assert model.labels == ["do you smoke?", "", "", ""]
        assert pickle.loads(pickle.dumps(model)).labels == model.labels
        assert "do you smoke?" in str(model) and "a · do you smoke?" in model._repr_html_()
    model.save(tmp_path / "m.json")
    assert blica.load(tmp_path / "m.json").labels == model.labels
