"""intercepts.py PROGRAM: what items' thresholds do to fits with fewer sources than items.

n = 10, k = 2, 40 segments of 1000 rows, 20 sets without and with intercepts of sd 2. Per method the mean MCS and the largest
error of a fitted share, mean and most over sets."""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

program = sys.argv[1] if len(sys.argv) > 1 else "build/release/blica"
SETS = int(sys.argv[2]) if len(sys.argv) > 2 else 20


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


print("| intercepts | method | mean MCS | largest error of a share: mean, most |")
print("|---|---|---|---|")
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for sd in (0, 2):
        found = {"auto": [], "mle": []}
        for seed in range(1, SETS + 1):
            run("simulate", "--variables", 10, "--sources", 2, "--segments", 40, "--samples", 1000, "--seed", seed,
                "--intercepts", sd, "--out", folder)
            truth = json.loads((folder / "model.json").read_text())
            for method in found:
                run("fit", folder / "data.csv", "--sources", 2, "--method", method, "--out", folder / "fit.json")
                mcs = json.loads(run("compare", folder / "model.json", folder / "fit.json", "--json"))["mcs"]
                fit = json.loads((folder / "fit.json").read_text())
                found[method].append((mcs, max(abs(a - b) for a, b in zip(shares(truth), shares(fit)))))
        for method, each in found.items():
            print(f"| {sd} | {method} | {sum(m for m, _ in each) / SETS:.4f} | {sum(e for _, e in each) / SETS:.3f}, {max(e for _, e in each):.3f} |", flush=True)
