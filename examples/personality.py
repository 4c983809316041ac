"""Five factors from 25 items. Data: psychTools::bfi, rated 1 to 6, as they are beside cut at "agree" (above 3). Segments are sex and
age: six groups, in which the spread of a trait may differ."""
import sys
import warnings

import numpy as np
import pandas

import blica
from rdata import load

warnings.simplefilter("ignore", blica.BlicaWarning)
d = load("bfi", "psychTools")
items = [f"{trait}{i}" for trait in "ACENO" for i in range(1, 6)]
age = pandas.cut(d.age, [0, 21, 30, 100], labels=["to 21", "22 to 30", "over 30"])
segment = d.gender.map({1: "men", 2: "women"}) + " " + age.astype(str)
x = d[items]
print(f"{len(x)} people in {segment.nunique()} groups of {segment.value_counts().min()} to {segment.value_counts().max()}; "
      f"{int(x.isna().sum().sum())} answers missing, left out pair by pair.")
half = np.arange(len(x)) % 2 == 0


def scales(a):
    """For each source, how much of its squared entries is in each trait's items."""
    share = np.array([[np.sum(a[5 * t:5 * t + 5, j] ** 2) for t in range(5)] for j in range(5)])
    return share / share.sum(axis=1, keepdims=True)


def study(name, **coding):
    """One fit to all people and one to each half; the share of traits, and how far to trust it."""
    ica = blica.BinaryICA(5, **coding).fit(x, segments=segment)
    a, b = (blica.BinaryICA(5, **coding).fit(x[h], segments=segment[h]) for h in (half, ~half))
    halves = np.abs(blica.compare(a, b).cosine)
    table = scales(ica.mixing_)
    print(f"\n{name}:")
    print(pandas.DataFrame(table.round(2), columns=list("ACENO"), index=[f"z{j + 1}" for j in range(5)]).to_string())
    print("Share of the strongest trait in each source: " + ", ".join(f"{row.max():.2f} ({'ACENO'[row.argmax()]})" for row in table) + ".")
    ratio = ica.variances_.max(axis=0) / ica.variances_.min(axis=0)
    print("The variances of the sources differ between the groups by factors of " + ", ".join(f"{r:.1f}" for r in ratio) + ".")
    print("Cosines of the columns between fits to halves of the people: " + ", ".join(f"{c:.2f}" for c in halves) +
          f" (mean {halves.mean():.2f}).")
    print("\n".join(blica.assess(ica, x, segment, binarize=coding.get("binarize"), bootstrap=50).verdict))
    return ica


six = study("Six points", ordinal=True)
two = study("Cut at one point", binarize=3.5)
rng = np.random.default_rng(1)
chance = np.mean([blica.compare(rng.normal(size=(25, 5)), rng.normal(size=(25, 5))).mcs for _ in range(200)])
print("\nThe two have columns with cosines " + ", ".join(f"{c:.2f}" for c in np.abs(blica.compare(six, two).cosine)) +
      f". By chance the mean cosine is {chance:.2f}.")
print("Trust the columns whose cosine between halves is near 1, and only them.")
if len(sys.argv) > 1:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, 2, figsize=(10, 7), layout="constrained")
    for ax, ica, title in zip(axes, (six, two), ("six points", "cut at one point")):
        blica.plot_mixing(ica, ax)
        ax.set_title(title)
    figure.savefig(f"{sys.argv[1]}/personality.png")
