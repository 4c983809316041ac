"""What notebooks, the console and figures show."""
import html.parser
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

import blica


@pytest.fixture(scope="module")
def drawn():
    return blica.simulate(variables=7, sources=2, segments=6, samples=300, seed=5)


@pytest.fixture(scope="module")
def ica(drawn):
    ica = blica.BinaryICA(2).fit(drawn.X, segments=drawn.segments)
    ica.assess(drawn.X, segments=drawn.segments, bootstrap=0)
    return ica


@pytest.fixture(scope="module")
def bare(drawn):
    """The same model, which nobody has assessed."""
    return blica.fit(drawn.X, drawn.segments, sources=2)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


class Cells(html.parser.HTMLParser):
    """The cells of a table, and whether tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1].append(data)


def test_notebooks_show_loadings_in_blocks(ica, bare):
    model, found = ica.model_, ica.assessment_
    rows = Cells(found._repr_html_()).rows
    assert rows[0] == ["item", "z1", "z2", "communality"] and len(rows) == 8
    for row in rows[1:]:
        i = model.variables.index(row[0])
        assert row[1:3] == [f"{model.mixing[i, j]:.2f} ± {found.mixing_se[i, j]:.2f}" for j in range(2)]
        assert row[3] == f"{model.communalities[i]:.2f}"
    strongest = [np.abs(model.standardised[model.variables.index(row[0])]) for row in rows[1:]]
    blocks = [s.argmax() for s in strongest]
    assert blocks == sorted(blocks)
    for j in range(2):
        assert list(np.diff([s.max() for s in strongest if s.argmax() == j]) <= 0).count(False) == 0
    assert Cells(ica._repr_mimebundle_()["text/html"]).rows == rows
    assert Cells(bare._repr_html_()).rows[1][1] == rows[1][1].split(" ± ")[0]
    assert "sk-" in blica.BinaryICA(2)._repr_html_()  # what scikit-learn shows before the fit
    assert all(sentence in str(found) for sentence in found.verdict) and rows[1][0] in str(found)


def test_names_are_escaped(drawn):
    import pandas as pd

    frame = pd.DataFrame(drawn.X, columns=["<b>", "a&b", *"cdefg"])
    model = blica.fit(frame, drawn.segments, sources=2)
    assert "<b>" in [row[0] for row in Cells(model._repr_html_()).rows] and "&lt;b&gt;" in model._repr_html_()


def test_selection_and_segmentation_are_tables(drawn):
    found = blica.select(drawn.X, drawn.segments, sources="1:3", references=20, folds=2)
    rows = Cells(found._repr_html_()).rows
    assert [row[0] for row in rows] == ["sources", "0", "1", "2", "3"]
    assert [row[0] for row in rows if row[-1] == "<"] == [str(found.sources)]
    lines = str(found).splitlines()
    assert lines[0] == found.reason and len(lines) == 7 and "nan" not in str(found)
    drawn = blica.simulate(variables=6, sources=2, segments=3, samples=500, seed=3)
    states = blica.segment(drawn.X, sources=2, change_points=True)
    rows = Cells(states._repr_html_()).rows
    assert rows[0] == ["state", "rows", "runs"] and len(rows) == 1 + states.states
    assert repr(states) == f"<blica.Segmentation: {states.states} states in 1500 rows>"


def test_frames_have_errors(ica, bare):
    model, found = ica.model_, ica.assessment_
    loadings = found.to_frame()
    assert list(loadings.columns) == ["variable", "source", "loading", "standardised", "se", "low", "high"] and len(loadings) == 14
    row = loadings[(loadings.variable == model.variables[3]) & (loadings.source == "z2")].iloc[0]
    assert (row.loading, row.se, row.low) == (model.mixing[3, 1], found.mixing_se[3, 1], found.mixing_low[3, 1])
    variances = found.to_frame("variances").set_index(["segment", "source"])
    assert variances.loc[("4", "z1")].variance == model.variances[3, 0] and variances.loc[("4", "z1")].high == found.variance_high[3, 0]
    means = found.to_frame("means")
    np.testing.assert_allclose((means.high - means.low) / means.se, 2 * 1.959963984540054, rtol=1e-12)
    assert list(bare.to_frame().columns) == ["variable", "source", "loading", "standardised"]
    with pytest.raises(ValueError, match="what is 'cuts'; give one of mixing, variances, means"):
        model.to_frame("cuts")


def test_standardised_loadings_are_correlations(drawn, ica):
    model = ica.model_
    share = model.samples / model.samples.sum()
    signal = model.link * model.mixing**2 * (share @ model.variances)
    np.testing.assert_allclose(model.communalities, signal.sum(axis=1) / (1 + signal.sum(axis=1)), rtol=1e-13)
    np.testing.assert_allclose((model.standardised**2).sum(axis=1), model.communalities, rtol=1e-13)
    assert (np.sign(model.standardised) == np.sign(model.mixing)).all()


def test_plots_have_axes_of_their_own(ica):
    first, second = blica.plot_mixing(ica), blica.plot_variances(ica)
    assert first.figure is not second.figure and blica.plot_means(ica).figure is not second.figure
    ax = plt.subplots()[1]
    assert blica.plot_variances(ica, ax) is ax


def test_loadings_are_drawn_with_their_intervals(ica, bare):
    found, model = ica.assessment_, ica.model_
    axes = blica.plot_loadings(ica)
    assert len(axes) == 2 and [ax.get_title() for ax in axes] == ["z1", "z2"]
    names = [label.get_text() for label in axes[0].get_yticklabels()]
    for j, ax in enumerate(axes):
        lines, dots = ax.collections
        for name, line, dot in zip(names, lines.get_segments(), dots.get_offsets()):
            i = model.variables.index(name)
            assert line[:, 0].tolist() == [found.mixing_low[i, j], found.mixing_high[i, j]] and dot[0] == model.mixing[i, j]
    assert "95 % interval" in axes[0].get_xlabel()
    assert len(blica.plot_loadings(bare)[0].collections) == 1  # without an assessment there are dots alone
    with pytest.raises(ValueError, match="axes has 1 axes; the model has 2 sources"):
        blica.plot_loadings(ica, plt.subplots()[1])


def test_only_segments_in_order_are_joined(drawn):
    towns = np.array(["Kiel", "Bonn", "Jena", "Gera", "Suhl", "Ulm"])[drawn.segments.astype(int) - 1]
    for labels, joined in ((drawn.segments, True), (towns, False), (np.char.add("2024-01-0", drawn.segments.astype(str)), True)):
        model = blica.fit(drawn.X, labels, sources=2)
        ax = blica.plot_variances(model)
        assert {line.get_linestyle() for line in ax.lines if len(line.get_xdata()) == 6} == {"-" if joined else "None"}
        names = [label.get_text() for label in (ax.get_xticklabels() if joined else ax.get_yticklabels())]
        assert names == (model.segments if joined else [model.segments[s] for s in np.argsort(model.variances[:, 0])])
        assert {line.get_linestyle() for line in blica.plot_means(model, ordered=not joined).lines if len(line.get_xdata()) == 6} == {
            "None" if joined else "-"}
    assert re.match(r"variance", ax.get_ylabel())
