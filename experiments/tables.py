"""The tables of README.md from the CSV files of a run: python3 experiments/tables.py FOLDER"""
import collections
import csv
import os
import statistics
import sys

ORDER = [("blica", "10"), ("blica", "3"), ("blica", "100"), ("matched", ""), ("pairwise", ""), ("mle", ""), ("ivae", ""), ("fastica", "")]


def load(folder, name):
    with open(os.path.join(folder, name + ".csv"), newline="") as file:
        return list(csv.DictReader(file))


def spread(values):
    """Median [quartiles] (how many)."""
    if not values:
        return ""
    text = f"{statistics.median(values):.3f}"
    if len(values) > 4:
        low, _, high = statistics.quantiles(values, n=4)
        text += f" [{low:.3f}, {high:.3f}]"
    return f"{text} ({len(values)})"


def line(cells):
    print("| " + " | ".join(cells) + " |")


def finite_sample(rows):
    for n, k in ((10, 10), (6, 6), (6, 2)):
        values = collections.defaultdict(list)
        for r in rows:
            if (int(r["variables"]), int(r["sources"])) == (n, k):
                condition = r["condition"] if r["method"] == "blica" else ""
                values[r["method"], condition, int(r["samples"])].append(float(r["mcs"]))
        sizes = sorted({key[2] for key in values})
        print()
        line([f"n = {n}, k = {k}"] + [f"N = {size}" for size in sizes])
        line(["---"] * (len(sizes) + 1))
        for method, condition in ORDER:
            name = f"{method}, r = {condition}" if condition else method
            line([name] + [spread(values.get((method, condition, size), [])) for size in sizes])
    print()
    stops = collections.Counter((r["method"], r["stop"]) for r in rows)
    for (method, stop), count in sorted(stops.items()):
        print(f"{method}: {count} {stop}")


def scalability(rows):
    print()
    line(["n", "k", "method", "MCS", "count", "correlate", "regularise", "near", "optimise", "all, s", "stops"])
    line(["---"] * 11)
    groups = collections.defaultdict(list)
    for r in rows:
        groups[int(r["sources"]) != int(r["variables"]), int(r["variables"]), int(r["sources"]), r["method"]].append(r)
    for (_, n, k, method), group in sorted(groups.items()):
        def median(field):
            return f"{statistics.median(float(r[field]) for r in group):.2g}"
        steps = [median("seconds_" + s) for s in ("count", "correlate", "regularise", "near", "optimise")]
        stops = collections.Counter(r["stop"] for r in group)
        line([str(n), str(k), method, spread([float(r["mcs"]) for r in group])] + steps +
             [median("seconds"), ", ".join(f"{c} {s}" for s, c in sorted(stops.items()))])


finite_sample(load(sys.argv[1], "finite-sample"))
scalability(load(sys.argv[1], "scalability"))
