"""The plain functions: against the definitions, the program, and each other."""
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.stats import multivariate_normal, norm

import blica


@pytest.fixture(scope="module")
def drawn():
    return blica.simulate(variables=6, sources=2, segments=8, samples=400, seed=5)


def program(*arguments):
    return subprocess.run([os.environ["BLICA"], *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def write_csv(path, x, segments):
    frame = pd.DataFrame(x, columns=[f"x{i + 1}" for i in range(x.shape[1])]).astype("Int64").mask(pd.DataFrame(x) .values < 0)
    frame["segment"] = segments
    frame.to_csv(path, index=False)


def test_counts_are_the_tables_of_the_rows(drawn):
    counts = blica.count(drawn.X, drawn.segments)
    assert counts.segments == list(dict.fromkeys(drawn.segments))
    for s, label in enumerate(counts.segments):
        rows = drawn.X[drawn.segments == label]
        for i, j in ((0, 1), (4, 2), (5, 0)):
            expected = [[np.sum((rows[:, i] == a) & (rows[:, j] == b)) for b in (0, 1)] for a in (0, 1)]
            assert (counts.table(s, i, j) == expected).all()


def test_merge_of_parts_is_the_whole(drawn):
    whole = blica.count(drawn.X, drawn.segments)
    half = len(drawn.X) // 3
    merged = blica.merge(blica.count(drawn.X[:half], drawn.segments[:half]), blica.count(drawn.X[half:], drawn.segments[half:]))
    assert merged.segments == whole.segments
    assert (merged.ones == whole.ones).all() and (merged.samples == whole.samples).all()
    assert (merged.table(3, 1, 4) == whole.table(3, 1, 4)).all()
    a, b = (blica.fit(c, sources=2).mixing for c in (whole, merged))
    assert (a == b).all()


def test_tetrachoric_solves_its_equation(drawn):
    r = blica.tetrachoric(drawn.X)
    share = drawn.X.mean(axis=0)
    np.testing.assert_allclose(r.thresholds, norm.ppf(share), atol=1e-14)
    for i, j in ((0, 1), (2, 5)):
        p11 = np.mean((drawn.X[:, i] == 1) & (drawn.X[:, j] == 1))
        rho = r.correlation[i, j]
        p = multivariate_normal([0, 0], [[1, rho], [rho, 1]], seed=1).cdf([r.thresholds[i], r.thresholds[j]])
        assert abs(p - p11) < 1e-6
    assert (r.correlation == r.correlation.T).all() and (np.diag(r.correlation) == 1).all()
    cells = blica.count(drawn.X).table(0, 2, 5)
    one = blica.tetrachoric_table(cells)
    assert one.correlation == pytest.approx(r.correlation[2, 5], abs=1e-13)
    assert one.se == pytest.approx(r.se[2, 5], rel=1e-10)


def test_tetrachoric_keeps_the_names_of_a_frame(drawn):
    frame = pd.DataFrame(drawn.X, columns=list("abcdef"))
    r = blica.tetrachoric(frame)
    assert list(r.correlation.columns) == list("abcdef") and r.se.loc["a", "b"] > 0
    assert (r.correlation.to_numpy() == blica.tetrachoric(drawn.X).correlation).all()


def test_empty_cells_and_constants_are_flagged():
    x = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [0, 0, 1]] * 5)
    r = blica.tetrachoric(x)
    assert r.flags[0, 1] == 1 and r.correlation[0, 1] < 0
    assert r.flags[0, 2] & 2 and r.correlation[0, 2] == 0


def test_kinds_of_input_give_the_same_bits(drawn, monkeypatch):
    x = drawn.X
    expected = blica.fit(x, drawn.segments, sources=2)
    frame = pd.DataFrame({f"v{i}": np.where(x[:, i] == 1, "yes", "no") for i in range(6)})
    frame["v1"] = x[:, 1].astype(bool)
    frame["v2"] = x[:, 2] + 1.0
    frame["v3"] = pd.Categorical(np.where(x[:, 3] == 1, "a", "b"), categories=["b", "a"])
    frame["v4"] = pd.array(x[:, 4], dtype="Int8")
    monkeypatch.setattr(blica._data, "CHUNK", 700)  # several chunks
    for other in (x.astype(float), np.asfortranarray(x), x.astype(bool), 2 * x - 1, x.tolist(), scipy.sparse.csr_matrix(x),
                  scipy.sparse.csc_matrix(x.astype(float)), frame, (x - 0.5)):
        model = blica.fit(other, drawn.segments, sources=2, binarize=0.0 if isinstance(other, np.ndarray) and other.min() == -0.5
                          else None)
        assert (model.mixing == expected.mixing).all()
    assert blica.fit(frame, drawn.segments, sources=2).variables == list(frame.columns)
    for labels in (pd.Series(drawn.segments), pd.Categorical(drawn.segments), list(drawn.segments), drawn.segments.astype(float)):
        assert blica.fit(x, labels, sources=2).segments == expected.segments


def test_sparse_is_never_densified():
    x = scipy.sparse.random(200_000, 40, density=0.02, format="csr", random_state=1)
    x.data[:] = 1
    code = x.__class__.toarray
    sizes = []

    class Watched(scipy.sparse.csr_matrix):
        def toarray(self, *a, **k):
            sizes.append(self.shape[0] * self.shape[1])
            return code(self, *a, **k)

    counts = blica.count(Watched(x))
    assert sizes and max(sizes) <= blica._data.CHUNK < x.shape[0] * x.shape[1]
    assert (counts.ones[0] == np.asarray(x.sum(axis=0)).ravel()).all()


def test_missing_values(drawn, tmp_path):
    rng = np.random.default_rng(1)
    x = drawn.X.astype(float)
    x[rng.random(x.shape) < 0.1] = np.nan
    counts = blica.count(x, drawn.segments)
    label = counts.segments[2]
    rows = x[drawn.segments == label]
    assert counts.table(2, 0, 3).sum() == np.sum(~np.isnan(rows[:, 0]) & ~np.isnan(rows[:, 3]))
    frame = pd.DataFrame(x).astype("Int64")
    sparse = scipy.sparse.csr_matrix(x)
    for other in (frame, sparse):
        c = blica.count(other, drawn.segments)
        assert (c.ones == counts.ones).all() and (c.present == counts.present).all()


def test_exact_counts_recover_the_mixing():
    drawn = blica.simulate(variables=5, sources=3, segments=20, exact=True, seed=2)
    assert drawn.X is None and drawn.counts.exact
    model = blica.fit(drawn.counts, sources=3)
    assert blica.compare(model, drawn.model).mcs > 1 - 1e-9


def test_simulate_from_a_model(drawn):
    again = blica.simulate(drawn.model, seed=9)
    assert again.X.shape == drawn.X.shape and (again.X == blica.simulate(drawn.model, seed=9).X).all()
    assert (again.X != drawn.X).any()
    with pytest.raises(TypeError, match="seed and exact"):
        blica.simulate(drawn.model, samples=5)


def test_compare_finds_order_sign_and_scale():
    rng = np.random.default_rng(3)
    a = rng.normal(size=(7, 4))
    c = blica.compare(a, a[:, [2, 0, 3, 1]] * [-1, 2, -3, 0.5])
    assert c.mcs == pytest.approx(1, abs=1e-15)
    assert c.matching.tolist() == [1, 3, 0, 2] and np.sign(c.cosine).tolist() == [1, 1, -1, -1]
    with pytest.raises(ValueError, match="7 x 4 and b is 7 x 3"):
        blica.compare(a, a[:, :3])


def test_identify():
    n, k, u = 6, 2, 5
    c = blica.identify(variables=n, sources=k, segments=u)
    assert (c.statistics, c.unknowns) == (u * n * (n - 1) // 2 + 2 * u * n, n * k + 2 * u * k + u * n)
    assert blica.identify(blica.simulate(variables=6, sources=2, segments=5).model).design == "yes"
    assert blica.identify(blica.simulate(variables=6, sources=4, segments=1).model).design == "no"
    with pytest.raises(ValueError, match="5 rows per segment"):
        blica.identify(variables=n, sources=k, segments=u, samples=5)
    with pytest.raises(TypeError, match="leave the model out"):
        blica.identify(blica.simulate(variables=6, sources=2, segments=5).model, samples=50)


def test_files_are_those_of_the_program(drawn, tmp_path):
    blica.save(drawn.model, tmp_path / "model.json")
    stored = json.loads((tmp_path / "model.json").read_text())
    assert stored["mixing"] == drawn.model.mixing.tolist() and stored["variances"] == drawn.model.variances.tolist()
    counts = blica.count(drawn.X, drawn.segments)
    counts.save(tmp_path / "c.npz")
    program("fit", tmp_path / "c.npz", "--sources", 2, "--out", tmp_path / "fit.json", "--quiet")
    assert (blica.load(tmp_path / "fit.json").mixing == blica.fit(counts, sources=2).mixing).all()
    assert (blica.Counts.load(tmp_path / "c.npz").ones == counts.ones).all()


def test_the_program_makes_the_same_doubles(drawn, tmp_path):
    program("simulate", "--variables", 6, "--sources", 2, "--segments", 8, "--samples", 400, "--seed", 5, "--out", tmp_path, "--quiet")
    frame = pd.read_csv(tmp_path / "data.csv")
    assert (frame.drop(columns="segment").to_numpy() == drawn.X).all()
    for options in ({}, {"starts": 2, "seed": 7, "condition": 20}, {"condition": "none", "max_iterations": 30},
                    {"condition": 20, "prior": "auto"}):
        flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
        subprocess.run([os.environ["BLICA"], "fit", tmp_path / "data.csv", "--sources", "2", "--out", tmp_path / "m.json", "--quiet",
                        *map(str, flags)], capture_output=True)  # exit 4 when not converged, the model is written
        theirs = blica.load(tmp_path / "m.json")
        for threads in (1, 2, 7):
            ours = blica.fit(drawn.X, drawn.segments, sources=2, threads=threads, **options)
            for name in ("mixing", "variances", "means", "thresholds"):
                assert (getattr(ours, name) == getattr(theirs, name)).all()
            assert ours.fit["objective"] == theirs.fit["objective"]


def test_pickles(drawn):
    for thing in (drawn.model, blica.count(drawn.X, drawn.segments), blica.correlate(drawn.X, drawn.segments)):
        again = pickle.loads(pickle.dumps(thing))
        for name in ("mixing", "ones", "correlation"):
            if hasattr(thing, name):
                assert (getattr(thing, name) == getattr(again, name)).all()


@pytest.mark.parametrize("x, segments, kind, message", [
    ([[0, 1], [2, 1], [1, 1]], None, ValueError, "column 0 has 3 different values"),
    ([[0.5, 1], [0.5, 0]], None, ValueError, "one value"),
    ([0, 1, 1], None, ValueError, "2D array"),
    (np.zeros((0, 3)), None, ValueError, "no rows"),
    ([[1], [0]], None, ValueError, "n_features=1"),
    (np.array([["a", "b"], ["b", "a"]]), None, ValueError, "DataFrame"),
    (np.array([["a", 1], ["b", 0]], dtype=object), None, ValueError, "not numbers .*'a'.* DataFrame"),
    ("text", None, TypeError, "X is str"),
    ([[0, 1], [1, 0]], [1], ValueError, "one label for each row"),
    ([[0, 1], [1, 0]], [1, None], ValueError, "row 1 has no segment"),
    ([[0, 1], [1, 0]], [1, np.nan], ValueError, "row 1 has no segment"),
    ([[0, 1], [1, 0]], "ab", TypeError, "segments is 'ab', but X has no column names"),
])
def test_wrong_input_is_named(x, segments, kind, message):
    with pytest.raises(kind, match=message):
        blica.count(x, segments)


def test_frame_columns_are_named_in_errors():
    with pytest.raises(ValueError, match="column 1 \\('colour'\\) has 3 different values"):
        blica.count(pd.DataFrame({"a": [0, 1, 1], "colour": ["red", "green", "blue"]}))
    with pytest.raises(ValueError, match="both named 'a'"):
        blica.count(pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"]))


def test_wrong_options_are_named(drawn):
    for options, kind, message in (({"sources": 7}, ValueError, "sources is 7"), ({}, TypeError, "sources"),
                                   ({"sources": 2, "starts": 0}, ValueError, "option starts: '0'"),
                                   ({"sources": 2, "method": "magic"}, ValueError, "option method: 'magic'"),
                                   ({"sources": 2, "prior_mixing": 0.01}, ValueError, "prior_mixing .* it needs prior fixed"),
                                   ({"sources": 2, "method": "matched", "condition": 5}, ValueError,
                                    "condition .* it needs method auto or blica"),
                                   ({"sources": 2, "colour": 1}, TypeError, "'colour' is not an option"),
                                   ({"sources": [2]}, TypeError, "option sources")):
        with pytest.raises(kind, match=message):
            blica.fit(drawn.X, drawn.segments, **options)
    with pytest.raises(TypeError, match="threads"):
        blica.fit(drawn.X, drawn.segments, sources=2, threads="many")
    with pytest.raises(OSError, match="nowhere"):
        blica.load("/nowhere/model.json")


def test_resumed_in_the_same_bits(drawn, tmp_path):
    file = tmp_path / "fit.ckpt"
    chosen = dict(sources=2, method="matched", starts=2, threads=1)
    whole, calls = blica.fit(drawn.X, drawn.segments, **chosen), 0

    def stop(progress):
        nonlocal calls
        calls += progress["stage"] == "fit"
        return calls < 20

    blica.fit(drawn.X, drawn.segments, checkpoint=file, verbose=stop, **chosen)
    assert file.exists()
    with pytest.raises(OSError, match="exists already"):
        blica.fit(drawn.X, drawn.segments, checkpoint=str(file), **chosen)
    with pytest.raises(ValueError, match="was made with starts 2, this fit has starts 3"):
        blica.fit(drawn.X, drawn.segments, checkpoint=file, resume=True, **{**chosen, "starts": 3})
    resumed = blica.fit(drawn.X, drawn.segments, checkpoint=file, resume=True, **chosen)
    assert (resumed.mixing == whole.mixing).all() and (resumed.variances == whole.variances).all()
    assert (blica.BinaryICA(2, method="matched", n_init=2, checkpoint=file, resume=True)
            .fit(drawn.X, segments=drawn.segments).mixing_ == whole.mixing).all()  # the file of the whole fit


def test_options_are_documented_from_the_table():
    for verb in ("fit", "simulate"):
        for option in blica.option_table(verb):
            assert option.name in getattr(blica, verb).__doc__ and option.help in getattr(blica, verb).__doc__


def test_one_segment_is_refused_as_by_the_program(drawn, tmp_path):
    with pytest.raises(ValueError, match="one segment.*allow_unidentified"):
        blica.fit(drawn.X, sources=2)
    with pytest.raises(ValueError, match="one segment.*allow_unidentified"):
        blica.fit(blica.count(drawn.X), sources=2)
    with pytest.warns(blica.BlicaWarning, match="not identified"):
        blica.fit(drawn.X, sources=2, allow_unidentified=True)


def test_categories_keep_their_order(drawn):
    order = list(reversed(list(dict.fromkeys(drawn.segments))))
    for labels in (pd.Categorical(drawn.segments, categories=["unused", *order]),
                   pd.Series(pd.Categorical(drawn.segments, categories=order))):
        assert blica.count(drawn.X, labels).segments == order
    assert blica.count(drawn.X, pd.Series(pd.Categorical([int(s) for s in drawn.segments], categories=list(range(1, 9))))).segments \
        == [str(s) for s in range(1, 9)]


def test_masked_values_are_missing(drawn):
    mask = np.random.default_rng(4).random(drawn.X.shape) < 0.1
    x = drawn.X.astype(float)
    x[mask] = np.nan
    expected = blica.count(x, drawn.segments)
    for kind in (np.int8, float, bool):
        found = blica.count(np.ma.MaskedArray(drawn.X.astype(kind), mask), drawn.segments)
        assert (found.ones == expected.ones).all() and (found.present == expected.present).all()
    with pytest.raises(ValueError, match="row 2 has no segment"):
        blica.count([[0, 1], [1, 0], [1, 1]], np.ma.MaskedArray([1, 2, 2], [False, False, True]))


def test_names_of_any_letters(drawn, tmp_path):
    names = ["日本語の長い変数名がここにあります" + str(i) for i in range(5)] + ["constant"]
    frame = pd.DataFrame(drawn.X, columns=names)
    frame["constant"] = 0
    with pytest.warns(blica.BlicaWarning):
        model = blica.fit(frame, drawn.segments, sources=2)
    assert model.variables == names
    for length in range(300, 330):  # a message that is cut inside a character
        with pytest.raises(OSError):
            blica.load("/nowhere/" + "é" * length + "x" * (length % 2))
    frame.columns = ["\udce9t\udce9", *names[1:]]  # Latin-1 bytes, as os.fsdecode gives them
    with pytest.raises(ValueError, match="not UTF-8"):
        blica.count(frame, drawn.segments)
    with pytest.raises(ValueError, match="zero character"):
        blica.count(frame.rename(columns={"constant": "a\0b"}), drawn.segments)


def test_report_is_the_program_s(drawn, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(os.environ["BLICA"]) + os.pathsep + os.environ["PATH"])
    frame = pd.DataFrame(np.where(drawn.X == 1, "yes", "no"), columns=['a "quoted"', *"bcdef"])
    model = blica.fit(frame, drawn.segments, sources=2)
    page = tmp_path / "page.html"
    blica.report(model, frame, page, segments=drawn.segments)
    assert "<html" in page.read_text() and "z2" in page.read_text()
    alone = tmp_path / "alone.html"
    blica.report(blica.BinaryICA(2).fit(frame, segments=drawn.segments), path=alone)
    assert 0 < alone.stat().st_size < page.stat().st_size
    with pytest.raises(ValueError, match="segment"):
        blica.report(model, frame[:500], page, segments=drawn.segments[:500])
    monkeypatch.setattr("shutil.which", lambda *a, **k: None)
    with pytest.raises(FileNotFoundError, match="blica report"):
        blica.report(model, path=page)


def test_dir_shows_the_class():
    assert {"BinaryICA", "fit", "report", "plot_mixing"} <= set(dir(blica))


def test_progress_and_stop(drawn):
    seen = []
    blica.fit(drawn.X, drawn.segments, sources=6, verbose=seen.append)
    assert {"fit"} <= {state["stage"] for state in seen}
    calls = []

    def stop(state):
        calls.append(state)
        return False if state["stage"] == "fit" else None

    model = blica.fit(drawn.X, drawn.segments, sources=6, verbose=stop)
    assert model.fit["stop"] == "interrupted"

    def broken(state):
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        blica.fit(drawn.X, drawn.segments, sources=6, verbose=broken)


LONG = """
import blica, numpy, sys
d = blica.simulate(variables=40, sources=int(sys.argv[1]), segments=40, samples=200, threads=1)
try:
    print("ready", flush=True)
    {}
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize("sources, work", [(40, "blica.fit(d.X, d.segments, sources=40, starts=1000, threads=1)"),
                                           (10, "blica.sources(d.model, numpy.tile(d.X, (1000, 1)), threads=1)")])
def test_control_c_stops_the_work(sources, work):
    process = subprocess.Popen([sys.executable, "-c", LONG.format(work), str(sources)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    assert out == "stopped\n" and process.returncode == 0


def test_control_c_keeps_finished_refits():
    d = blica.simulate(variables=6, sources=2, segments=8, samples=300)
    model = blica.fit(d.X, d.segments, sources=2)

    def stop(state):
        if state["stage"] == "bootstrap draw" and state["fraction"] > 3e-4:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(blica.BlicaWarning, match="interrupted; numbers are those of [0-9]+ of 100000 refits"):
        found = blica.assess(model, d.X, d.segments, bootstrap=100000, threads=1, verbose=stop)
    assert 20 <= found.draws < found.draws_planned == 100000 and np.isfinite(found.mixing_se_bootstrap).all()
    assert "Refits were interrupted" in found.verdict[3] and model.assessment is found
    with pytest.raises(KeyboardInterrupt):  # asked for again, it is computed again; before the refits nothing is there to keep
        blica.assess(model, d.X, d.segments, bootstrap=100000, threads=1, verbose=lambda state: os.kill(os.getpid(), signal.SIGINT))


def test_other_threads_run_during_a_fit():
    d = blica.simulate(variables=30, sources=30, segments=40, samples=200)
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks[0]
    blica.fit(d.X, d.segments, sources=30, starts=1, max_iterations=200, threads=1)
    during = ticks[0] - before
    done.set()
    thread.join()
    assert during > 5  # with the lock held it would be 0


def test_plots(drawn):
    import matplotlib.pyplot as plt

    for draw in (lambda ax: blica.plot_mixing(drawn.model, ax=ax), lambda ax: blica.plot_variances(drawn.model, ax=ax),
                 lambda ax: blica.plot_correlations(blica.correlate(drawn.X, drawn.segments), 1, ax=ax)):
        figure, ax = plt.subplots()
        assert draw(ax) is ax
        figure.canvas.draw()
        plt.close(figure)
    figure, ax = plt.subplots()
    shown = blica.plot_mixing(drawn.model, ax=ax).images[0].get_array()
    assert (np.asarray(shown) == drawn.model.mixing).all()
    plt.close(figure)


FORK = """
import multiprocessing, numpy, signal, blica
d = blica.simulate(variables=4, sources=2, segments=8, samples=200)
def fit(_):
    signal.alarm(60)  # a child that waits for ever ends
    return blica.fit(d.X, d.segments, sources=2, threads=3).mixing
expected = fit(None)
signal.alarm(120)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert all((m == expected).all() for m in pool.map(fit, range(4)))
print("same")
"""


def test_forked_children_compute():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=300)
    assert done.stdout == "same\n", done.stderr


COMMA = """
import locale, blica
assert locale.setlocale(locale.LC_ALL, "de_DE.UTF-8") and locale.str(0.5) == "0,5"
d = blica.simulate(variables=6, sources=2, segments=8, samples=400, seed=5, sd_high=2.5)
model = blica.fit(d.X, d.segments, sources=2, prior="fixed", prior_mixing=2.5)
found = blica.loglik(model, d.X, d.segments, error=0.25)
print(model.link, repr(model.mixing[0, 0]), repr(found.loglik))
"""


def test_a_decimal_comma_changes_nothing():
    if "BLICA_LOCALES" not in os.environ:
        pytest.skip("there is no localedef to make the locale de_DE.UTF-8 with (Debian: locales)")
    environment = dict(os.environ, LOCPATH=os.environ["BLICA_LOCALES"])
    comma = subprocess.run([sys.executable, "-c", COMMA], capture_output=True, text=True, env=environment)
    plain = subprocess.run([sys.executable, "-c", COMMA.replace("assert", "#")], capture_output=True, text=True)
    assert comma.returncode == 0 and plain.returncode == 0, comma.stderr + plain.stderr
    assert comma.stdout == plain.stdout and comma.stdout.startswith("0.39269908169872414 ")


def test_normal_probabilities():
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 6):
        a = rng.standard_normal((n, n + 2))
        cov, lower, upper = a @ a.T, rng.uniform(-3, 0, n), rng.uniform(0.1, 2, n)
        lower[rng.random(n) < 0.3] = -np.inf
        upper[rng.random(n) < 0.3] = np.inf
        found = blica.mvn(lower, upper, cov=cov, error=1e-5, gradient=True)
        draws = rng.standard_normal((400000, n)) @ np.linalg.cholesky(cov).T
        share = ((draws > lower) & (draws < upper)).all(axis=1).mean()
        assert abs(found.value - share) < found.error + 4 * np.sqrt(share * (1 - share) / 400000) + 1e-12
        # all bounds and the mean moved together change nothing
        np.testing.assert_allclose(found.lower + found.upper + found.mean, 0, atol=1e-12)
        # nor do other units: a g_a + b g_b + 2 cov g_cov is 0 in each dimension
        ends = sum(np.where(np.isfinite(side), side, 0) * slope for side, slope in ((lower, found.lower), (upper, found.upper)))
        np.testing.assert_allclose(ends + 2 * (cov * found.cov).sum(axis=1), 0, atol=2e-3)
    loading = rng.standard_normal((30, 2))
    exact = blica.mvn(np.full(30, -1.5), 1.0, loading=loading, unique=1.0)
    whole = blica.mvn(np.full(30, -1.5), 1.0, cov=loading @ loading.T + np.eye(30))
    assert exact.error < 1e-6 and abs(exact.value - whole.value) < exact.error + whole.error
    with pytest.raises(ValueError, match="dimension 2: lower is 1 and upper is 0"):
        blica.mvn([0, 1], [1, 0], cov=np.eye(2))
    with pytest.raises(ValueError, match="give cov, or loading and unique"):
        blica.mvn([0, 1], [1, 2])
    with pytest.raises(ValueError, match="up|128"):
        blica.mvn(np.zeros(129), 1, cov=np.eye(129))



def test_segments_found_in_the_rows_are_remembered():
    drawn = blica.simulate(variables=6, sources=2, segments=3, samples=1000, seed=3)
    found = blica.segment(drawn.X, sources=2, states=3, starts=1)
    assert found.labels.searched.all() and type(found.labels == "1") is np.ndarray
    model = blica.fit(drawn.X, found.labels, sources=2)
    a = blica.assess(model, drawn.X, found.labels, bootstrap=0)
    assert a.segments_found and a.answers["change"] == "unknown" and np.isnan(a.change_p)
    assert blica.assess(model, drawn.X, np.asarray(found.labels), bootstrap=0).segments_found  # the model remembers it
    assert not blica.assess(blica.fit(drawn.X, drawn.segments, sources=2), drawn.X, drawn.segments, bootstrap=0).segments_found


def test_a_split_holds_rows_out_that_can_be_assessed():
    drawn = blica.simulate(variables=6, sources=2, segments=3, samples=1000, seed=3)
    found = blica.segment(drawn.X, sources=2, states=3, starts=1, split=20)
    kept = ~found.labels.searched
    assert kept.sum() == 1500 and not kept[:20].any() and kept[20:40].all()
    X, labels = drawn.X[kept], found.labels[kept]
    assert labels.searched is not None and not labels.searched.any()
    a = blica.assess(blica.fit(X, labels, sources=2), X, labels, bootstrap=0)
    assert not a.segments_found and a.answers["change"] == "yes"
    assert found.draws_per_run > 100 and abs(found.lag_z) < 3.3
