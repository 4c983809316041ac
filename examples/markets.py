"""Four stock markets, day by day, with no labels: when were the markets volatile? Data: datasets::EuStockMarkets, closing prices of
DAX, SMI, CAC and FTSE, 1991 to 1998. Items are, for each market, whether it moved by more than 0.8 % and whether it rose. The rows
are in time order, and blica.segment finds the segments."""
import sys
import warnings

import numpy as np

import blica
from rdata import load

warnings.simplefilter("ignore", blica.BlicaWarning)
prices = load("EuStockMarkets", "datasets")
names = list(prices.columns)
change = np.diff(np.log(prices.to_numpy()), axis=0)
items = np.hstack([np.abs(change) > 0.008, change > 0]).astype(np.int8)
year = 1991.496 + np.arange(1, len(prices)) / 260  # the first day is the 130th working day of 1991
print(f"{len(items)} days, {items.shape[1]} items; a state lasts at least 60 days (a quarter).")

found = blica.segment(items, sources=3, min_length=60, max_states=8)
tried = [t for t in found.trials if not np.isnan(t.heldout)]
most = max(t.heldout for t in tried)
print("Log-likelihood of held-out days less the largest (standard error): " +
      ", ".join(f"{t.states}: {t.heldout - most:.0f} ({t.heldout_se:.0f})" for t in tried) + f". {found.states} states.")
start = np.flatnonzero(np.r_[True, found.labels[1:] != found.labels[:-1]])
for a, b in zip(start, np.r_[start[1:], len(items)]):
    rows = items[a:b]
    print(f"{year[a]:.1f} to {year[b - 1]:.1f}: state {found.labels[a]}, {b - a} days; moved by more than 0.8 % on "
          f"{100 * rows[:, :4].mean():.0f} % of them")
sure = found.probability.max(axis=1)
print(f"On {100 * np.mean(sure > 0.9):.0f} % of the days the state is more than 90 % certain.")
a = found.model.mixing
for j in range(3):
    order = np.argsort(-np.abs(a[:, j]))[:4]
    labels = [f"{names[i % 4]} {'moves' if i < 4 else 'rises'}" for i in order]
    print(f"Source {j + 1}: " + ", ".join(f"{label} {a[i, j]:.1f}" for label, i in zip(labels, order)) + "; variance in the states " +
          ", ".join(f"{v:.2f}" for v in found.model.variances[:, j]))
still = blica.segment(items[np.random.default_rng(1).permutation(len(items))], sources=3, min_length=60, max_states=8)
print(f"The same days in random order: {still.states} state.")
rank = blica.identify(found.model)
print("What is known: the currency crisis of autumn 1992, the fall of bonds in 1994, the Asian crisis from 1997 on. The volatile state has no\n"
      f"other times. How far to trust it: the times. The mixing matrix rests on two states only (rank {rank.rank} of {rank.parameters}), and source 3, whose\n"
      "variance hardly changes, is not to be read.")
if len(sys.argv) > 1:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(9, 3))
    axis.stackplot(year, found.probability.T, labels=[f"state {s + 1}" for s in range(found.states)])
    axis.set(xlabel="year", ylabel="probability", xlim=(year[0], year[-1]), ylim=(0, 1))
    axis.legend(loc="upper left")
    figure.savefig(f"{sys.argv[1]}/markets.png", bbox_inches="tight")
