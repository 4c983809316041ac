#!/usr/bin/python3
"""Time and memory of the verbs against the size of the data: bench/growth.py BLICA OUT.md OUT.svg.

From a base of n = 20 items, k = 2 sources, u = 16 segments and N = 250 rows in each, one of the four is doubled up to three
times. User seconds of one thread and the peak of resident memory are those of whole commands, less what a command on
four items takes; the exponent is the slope of log time between the two largest sizes, and "-" where that time is below 0.05 s.
"""
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

BASE = {"n": 20, "k": 2, "u": 16, "N": 250}
DOUBLINGS = 3
VERBS = ("count", "correlate", "fit", "assess", "select", "sources")
FLAGS = {"n": "--variables", "k": "--sources", "u": "--segments", "N": "--samples"}
LIMIT = 25  # seconds of one command


def run(*command):
    """User seconds and peak MiB of a command; NaN when it takes too long."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execvpe(command[0], command, dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_WAIT_POLICY="passive"))
    _, status, usage = os.wait4(pid, 0)
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) not in (0, 4, 5):
        return math.nan, math.nan
    return usage.ru_utime, usage.ru_maxrss / 1024


def measure(blica, size, folder):
    """{verb: (seconds, MiB)} of data of a size."""
    made = [text for key in FLAGS for text in (FLAGS[key], str(size[key]))]
    subprocess.run([blica, "simulate", *made, "--seed", "1", "--out", folder, "--quiet"], check=True, stdin=subprocess.DEVNULL)
    data, model, k = f"{folder}/data.csv", f"{folder}/fit.json", str(size["k"])
    one = ["--threads", "1", "--quiet"]
    commands = {"count": [data, "--out", f"{folder}/c.npz"], "correlate": [f"{folder}/c.npz", "--out", f"{folder}/r.npz"],
                "fit": [f"{folder}/c.npz", "--sources", k, "--out", model], "assess": [model, data, "--bootstrap", "0"],
                "select": [data, "--sources", k, "--references", "20"], "sources": [model, data, "--out", f"{folder}/s.csv"]}
    return {verb: run(blica, verb, *commands[verb], *one) for verb in VERBS}


def exponent(small, large):
    return math.log2(large / small) if small > 0.05 and large > 0.05 else math.nan


def text(value, form):
    return "-" if math.isnan(value) else format(value, form)


def picture(path, found):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, 4, figsize=(12, 3.6), sharey=True)
    for axis, key in zip(axes, BASE):
        sizes = [BASE[key] * 2**d for d in range(DOUBLINGS + 1)]
        for verb in VERBS:
            axis.loglog(sizes, [max(found[key, d][verb][0], 1e-3) for d in range(DOUBLINGS + 1)], marker="o", ms=3, label=verb)
        axis.set_xlabel({"n": "items n", "k": "sources k", "u": "segments u", "N": "rows of a segment N"}[key])
        axis.set_xticks(sizes, [str(s) for s in sizes])
        axis.minorticks_off()
    axes[0].set_ylabel("user seconds, one thread")
    axes[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main(blica, page, image):
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        idle = measure(blica, {"n": 4, "k": 1, "u": 4, "N": 50}, folder)
        for key in BASE:
            for d in range(DOUBLINGS + 1):
                size = dict(BASE, **{key: BASE[key] * 2**d})
                same = d == 0 and key != "n"
                found[key, d] = found["n", 0] if same else measure(blica, size, folder)
    picture(image, found)
    rows = [f"| verb | base, s | {' | '.join(f'{key} = {BASE[key] * 2**DOUBLINGS}: s (MiB), exponent' for key in BASE)} |", "|---" * 6 + "|"]
    for verb in VERBS:
        cells = [text(max(found["n", 0][verb][0] - idle[verb][0], 0), ".2f")]
        for key in BASE:
            time = [max(found[key, d][verb][0] - idle[verb][0], 0) for d in (DOUBLINGS - 1, DOUBLINGS)]
            cells.append(f"{text(time[1], '.2f')} ({text(found[key, DOUBLINGS][verb][1], '.0f')}), {text(exponent(*time), '.1f')}")
        rows.append(f"| {verb} | {' | '.join(cells)} |")
    before, after = "<!-- written by bench/growth.py -->\n", "\n<!-- end -->"
    old = pathlib.Path(page).read_text(encoding="utf-8")
    head, _, rest = old.partition(before)
    pathlib.Path(page).write_text(head + before + "\n" + "\n".join(rows) + "\n" + after + rest.partition(after)[2], encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:4])
