#!/bin/bash
# What blica writes, numpy opens; what numpy writes, blica reads. Counts are checked against numpy's own.
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || { echo "skipped: python3-numpy is not installed"; exit 77; }
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" - "$BLICA" "$folder" <<'END'
import itertools, os, subprocess, sys
import numpy as np
blica, folder = sys.argv[1:]
os.chdir(folder)
rng = np.random.default_rng(5)
N, n, u = 700, 9, 4
x = (rng.random((N, n)) < rng.random(n)).astype(float)
seg = rng.integers(0, u, N)
order = list(dict.fromkeys(seg))  # segments in order of first appearance

def run(*args):
    subprocess.run([blica, *args, "--quiet"], check=True)

def expected(x):
    """[u, pairs] cells, pairs in the order of tril_indices."""
    j, i = np.tril_indices(x.shape[1], -1)
    cells = {}
    for name, a, b in (("n11", 1, 1), ("n10", 1, 0), ("n01", 0, 1), ("n00", 0, 0)):
        cells[name] = np.array([[((x[seg == s, p] == a) & (x[seg == s, q] == b)).sum() for p, q in zip(i, j)] for s in order])
    return cells

def check(path, x):
    z = np.load(path)
    assert str(z["format"]) == "blica-counts" and z["version"] == 1 and not z["exact"]
    assert [str(s) for s in z["segments"]] == [str(s) for s in order], z["segments"]
    assert list(z["variables"]) == [f"x{i + 1}" for i in range(n)]
    assert (z["samples"] == [np.sum(seg == s) for s in order]).all()
    assert (z["ones"] == [np.sum(x[seg == s] == 1, 0) for s in order]).all()
    assert (z["present"] == [np.sum(~np.isnan(x[seg == s]), 0) for s in order]).all()
    for name, cell in expected(x).items():
        if name == "n11" or np.isnan(x).any():
            assert (z[name] == cell).all(), name
        else:
            assert name not in z.files

table = np.column_stack([x, seg])
kinds = [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64]
for kind, order_ in itertools.product(kinds, "CF"):
    np.save("t.npy", np.array(table, dtype=kind, order=order_))
    run("count", "t.npy", "--segment-column", "last", "--out", "c.npz")
    check("c.npz", x)
np.savetxt("labels.txt", seg, fmt="%d")
for values in (x.astype(bool), np.asfortranarray(x.astype(bool))):
    np.save("b.npy", values)
    run("count", "b.npy", "--segment-file", "labels.txt", "--out", "c.npz")
    check("c.npz", x)

holes = x.copy()
holes[rng.random(x.shape) < 0.1] = np.nan
np.save("h.npy", np.column_stack([holes, seg]))
run("count", "h.npy", "--segment-column", "last", "--out", "h.npz")
check("h.npz", holes)

# counts that numpy wrote, in other types and orders, merge as our own
z = dict(np.load("h.npz"))
z["n11"] = np.asfortranarray(z["n11"].astype(np.int32))
z["ones"] = z["ones"].astype(np.float32)
np.savez("numpy.npz", **z)
run("merge", "numpy.npz", "h.npz", "--out", "sum.npz")
s = np.load("sum.npz")
for name in ("samples", "ones", "present", "n11", "n10", "n01", "n00"):
    assert (s[name] == 2 * np.load("h.npz")[name]).all(), name

def refused(words, *args):
    r = subprocess.run([blica, *args], capture_output=True, text=True)
    assert r.returncode == 3 and words in r.stderr, (r.returncode, r.stderr)

np.save("one.npy", x[:, 0])
refused("1 dimension", "count", "one.npy", "--segment-length", "10", "--out", "c.npz")
np.save("big.npy", x.astype(">f8"))
run("count", "big.npy", "--segment-file", "labels.txt", "--out", "c.npz")
check("c.npz", x)
np.save("text.npy", np.array([["0", "1"]]))
refused("text", "count", "text.npy", "--segment-length", "10", "--out", "c.npz")
np.save("two.npy", x + 1)
refused("value '2' is not 0 or 1", "count", "two.npy", "--segment-length", "100", "--out", "c.npz")
refused("nothing says which segment", "count", "h.npy", "--out", "c.npz")
whole = open("t.npy", "rb").read()
for cut in (5, 20, 100, len(whole) - 1):
    open("cut.npy", "wb").write(whole[:cut])
    r = subprocess.run([blica, "count", "cut.npy", "--segment-column", "last", "--out", "cut.npz"], capture_output=True)
    assert r.returncode == 3 and not os.path.exists("cut.npz"), cut

# correlations: shapes and symmetry
run("correlate", "h.npz", "--out", "r.npz")
r = np.load("r.npz")
assert r["rho"].shape == (u, n, n) and r["se"].shape == (u, n, n) and r["thresholds"].shape == (u, n)
assert (r["rho"] == r["rho"].transpose(0, 2, 1)).all() and (r["rho"][:, range(n), range(n)] == 1).all()
print("numpy agrees")
END
