"""intercepts.py PROGRAM [SETS [SD ...]]: what items' thresholds do to fits with fewer sources than items.

n = 10, k = 2, 40 segments of 1000 rows, 20 sets without and with intercepts of sd 2. Per method the mean MCS, and over the 400
shares P(x_i = 1) of a set: the largest difference of fitted and true, fitted and observed, observed and true shares (mean over
sets), and the root mean square of the errors against the truth. The largest of 400 normal errors is 3.2 times their size."""
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

program = sys.argv[1] if len(sys.argv) > 1 else "build/release/blica"
SETS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
INTERCEPTS = [float(sd) for sd in sys.argv[3:]] or [0, 2]


def run(*args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        raise SystemExit(done.stderr)
    return done.stdout


def shares(m):
    c = m["link"]
    out = []
    for v, mu in zip(m["variances"], m["means"]):
        for a, cut in zip(m["mixing"], m["cuts"]):
            mean = math.sqrt(c) * sum(x * y for x, y in zip(a, mu)) - cut[0]
            sd = math.sqrt(1 + c * sum(x * x * y for x, y in zip(a, v)))
            out.append(0.5 * math.erfc(-mean / sd / math.sqrt(2)))
    return out


def observed(path, truth):
    """Shares of ones by segment and item, in the order of the model."""
    names, labels = truth["variables"], [str(label) for label in truth["segments"]]
    ones, rows = {label: [0] * len(names) for label in labels}, dict.fromkeys(labels, 0)
    with open(path) as file:
        for row in csv.DictReader(file):
            label = row["segment"]
            rows[label] += 1
            for i, name in enumerate(names):
                ones[label][i] += row[name] == "1"
    return [count / rows[label] for label in labels for count in ones[label]]


def most(a, b):
    return max(abs(x - y) for x, y in zip(a, b))


def size(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / len(a))


print("| intercepts | method | mean MCS | fitted - true | fitted - observed | observed - true | rms: fitted, observed |")
print("|---|---|---|---|---|---|---|")
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for sd in INTERCEPTS:
        found = {"auto": [], "mle": []}
        for seed in range(1, SETS + 1):
            run("simulate", "--variables", 10, "--sources", 2, "--segments", 40, "--samples", 1000, "--seed", seed,
                "--intercepts", sd, "--out", folder)
            truth = json.loads((folder / "model.json").read_text())
            true, seen = shares(truth), observed(folder / "data.csv", truth)
            for method in found:
                run("fit", folder / "data.csv", "--sources", 2, "--method", method, "--out", folder / "fit.json")
                mcs = json.loads(run("compare", folder / "model.json", folder / "fit.json", "--json"))["mcs"]
                fit = shares(json.loads((folder / "fit.json").read_text()))
                found[method].append((mcs, most(fit, true), most(fit, seen), most(seen, true), size(fit, true), size(seen, true)))
        for method, each in found.items():
            mcs, true_most, seen_most, floor, rms, rms_seen = (sum(column) / SETS for column in zip(*each))
            worst = max(column[1] for column in each)
            print(f"| {sd:g} | {method} | {mcs:.4f} | {true_most:.3f} (most {worst:.3f}) | {seen_most:.3f} | {floor:.3f} | {rms:.4f}, {rms_seen:.4f} |",
                  flush=True)
