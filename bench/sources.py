"""Sources of rows: posteriors beside a Gibbs sampler, coverage of 90 % intervals on simulated rows of the true model, and CPU time
beside factor scores.

Writes bench/results/sources.md. Needs build/release/test_gibbs, the Python package (PYTHONPATH=build/release/python-package),
scikit-learn, and R with psych and lavaan. One thread.
"""
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from sklearn.decomposition import FactorAnalysis

import blica

ROWS, SWEEPS = 20000, 500000
ROOT = pathlib.Path(__file__).parent.parent


def rows_of(model, u, rng, count=ROWS):
    """Rows of the model, with their sources and segments."""
    segment = np.arange(count) % u
    z = model.means[segment] + np.sqrt(model.variances[segment]) * rng.standard_normal((count, model.mixing.shape[1]))
    y = np.sqrt(model.link) * z @ model.mixing.T + rng.standard_normal((count, len(model.mixing)))
    planes = [len(own) - 1 for own in model.levels]
    cut, x = np.split(model.cuts, np.cumsum(planes)[:-1]), np.empty(y.shape)
    for i, own in enumerate(cut):
        x[:, i] = (y[:, [i]] > own).sum(axis=1)
    return x, z, np.array(model.segments, dtype=object)[segment]


# variables, sources, segments, levels, share of missing values, segments known
DESIGNS = [(5, 1, 5, 2, 0, True), (8, 2, 10, 2, 0, True), (6, 3, 10, 2, 0, True), (10, 10, 20, 2, 0, True),
           (20, 5, 10, 2, 0, True), (20, 8, 20, 2, 0, True), (40, 5, 20, 2, 0, True), (100, 10, 10, 2, 0, True),
           (20, 5, 10, 2, .3, True), (15, 3, 10, 4, 0, True), (20, 5, 10, 2, 0, False), (40, 5, 20, 2, 0, False)]


def coverage():
    lines = ["| n | k | segments | levels | missing | rows' segments | coverage of 90 % intervals, % |",
             "|---|---|---|---|---|---|---|"]
    for seed, (n, k, u, levels, gaps, known) in enumerate(DESIGNS):
        rng = np.random.default_rng(seed)
        model = blica.simulate(variables=n, sources=k, segments=u, samples=100, levels=levels, seed=seed + 1).model
        x, z, segment = rows_of(model, u, rng)
        x[rng.random(x.shape) < gaps] = np.nan
        found = blica.sources(model, x, segment if known else None, threads=1)
        inside = np.abs(z - found.mean) < 1.6448536 * found.sd
        lines.append(f"| {n} | {k} | {u} | {levels} | {100 * gaps:.0f} % | {'known' if known else 'unknown'} | "
                     f"{100 * inside.mean():.1f} ({100 * inside.mean(axis=0).min():.1f} to {100 * inside.mean(axis=0).max():.1f}) |")
        print(lines[-1], flush=True)
    return lines


R = """
x <- as.matrix(read.csv(commandArgs(TRUE)[1])); k <- as.integer(commandArgs(TRUE)[2]); suppressMessages({library(psych); library(lavaan)})
f <- suppressWarnings(fa(x, k, rotate = "none", fm = "minres"))
s <- system.time(factor.scores(x, f, method = "tenBerge"))[["user.self"]]
few <- as.data.frame(x[1:200, 1:8])
fit <- suppressWarnings(cfa(paste("f =~", paste(names(few), collapse = "+")), as.data.frame(x[, 1:8]), ordered = TRUE))
e <- system.time(lavPredict(fit, newdata = few, method = "EBM"))[["user.self"]]
cat(s / nrow(x) * 1e6, e / 200 * 1e6)
"""


def clock(run):
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def speeds():
    lines = ["| n | k | | microseconds a row |", "|---|---|---|---|"]
    for n, k, rows in ((40, 5, ROWS), (8, 2, 500000)):
        model = blica.simulate(variables=n, sources=k, segments=20, samples=100, seed=1).model
        x, _, segment = rows_of(model, 20, np.random.default_rng(1), rows)
        x = x.astype(np.int8)
        plain = FactorAnalysis(k, max_iter=20).fit(x[:5000])
        each = [("blica, segments known", clock(lambda: blica.sources(model, x, segment, threads=1))),
                ("blica, 20 segments unknown", clock(lambda: blica.sources(model, x, threads=1))),
                ("scikit-learn, FactorAnalysis.transform (linear)", clock(lambda: plain.transform(x)))]
        if n == 40:
            with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
                np.savetxt(file.name, x, "%d", ",", header=",".join(f"x{i + 1}" for i in range(n)), comments="")
                linear, exact = map(float, subprocess.run(["Rscript", "-e", R, file.name, str(k)], capture_output=True, text=True,
                                                          check=True).stdout.split())
            each += [("R, psych::factor.scores (linear)", linear * rows / 1e6),
                     ("R, lavaan::lavPredict of 8 ordered items and one factor", exact * rows / 1e6)]
        for name, seconds in each:
            lines.append(f"| {n} | {k} | {name} | {1e6 * seconds / rows:.3g} |")
            print(lines[-1], flush=True)
    return lines


def errors():
    """The table of tests/unit/likelihood/test_gibbs.c."""
    rows = subprocess.run([ROOT / "build/release/test_gibbs", str(SWEEPS)], capture_output=True, text=True, check=True).stdout
    return f"""| design | beside | means: rms, largest | error of that | sd: rms, range | error of that |
|---|---|---|---|---|---|
{rows}"""


LARGE = """
import resource, sys, time
import numpy as np
import blica
sys.path.insert(0, sys.argv[1])
import sources
rows = 2000000
model = blica.simulate(variables=40, sources=5, segments=20, samples=100, seed=1).model
x = np.memmap(sys.argv[2], dtype=np.int8, mode="w+", shape=(rows, 40))
rng, segment = np.random.default_rng(1), np.empty(rows, dtype=object)
for at in range(0, rows, 100000):
    x[at:at + 100000], _, segment[at:at + 100000] = sources.rows_of(model, 20, rng, 100000)
del x, _
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
x, before, calls = np.memmap(sys.argv[2], dtype=np.int8, mode="r", shape=(rows, 40)), peak(), []
cpu, wall = time.process_time(), time.time()
found = blica.sources(model, x, segment, threads=2, verbose=lambda state: calls.append(state["fraction"]))
print(time.process_time() - cpu, time.time() - wall, peak() - before, found.mean.nbytes / 2 ** 19)
"""


def large():
    with tempfile.NamedTemporaryFile() as file:
        run = subprocess.run([sys.executable, "-c", LARGE, str(ROOT / "bench"), file.name], capture_output=True, text=True, check=True)
    cpu, wall, memory, result = map(float, run.stdout.split())
    return (f"2 million rows of 40 items in a memory map, five sources, segments known, two threads, with progress: {cpu:.1f} CPU seconds, "
            f"{wall:.0f} seconds by the clock of this machine; memory grew by {memory:.0f} MB, of which the result takes {result:.0f}.")


def main():
    text = f"""# Sources of rows

Written by `bench/sources.py`.

Posterior means and standard deviations beside a Gibbs sampler of {SWEEPS} sweeps (20 rows of each simulated model), in posterior
standard deviations, and for up to two sources beside the integral over the sources. What the sampler is off by itself is known from
the spread of parts of its chain and stands beside; it has been taken off the root mean squares, not off the largest difference and
the range.

{errors()}
{ROWS} rows of each of twelve random models, whose true sources are known: how many lie within the
posterior mean plus and minus 1.645 standard deviations (in brackets the least and the most of a source).

""" + "\n".join(coverage()) + """

CPU time of one core, data in memory, all in one run. The linear scores take the answers for numbers; the others are posterior means of
the latent variables.

""" + "\n".join(speeds()) + "\n\n" + large() + "\n"
    (ROOT / "bench/results/sources.md").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
