"""Moods of students. Data: psychTools::msqR, adjectives rated 0 to 3, as they are beside cut at "at all" (above 0). Segments are study
and time of measurement: some studies showed films or gave caffeine, so that moods spread more in some than in others."""
import sys
import warnings

import numpy as np

import blica
from rdata import load

ITEMS = ["energetic", "lively", "alert", "tired", "sleepy", "sluggish", "calm", "relaxed", "at.ease", "tense", "nervous", "jittery",
         "sad", "blue", "unhappy", "gloomy"]
warnings.simplefilter("ignore", blica.BlicaWarning)
d = load("msqR", "psychTools")
d["segment"] = d.study + ":" + d.time.astype(str)
size = d.segment.value_counts()
kept = d[d.segment.isin(size.index[size >= 150]) & (d[ITEMS].notna().mean(axis=1) > 0.5)]
x, segment = kept[ITEMS], kept.segment
print(f"{len(d)} rows; {len(kept)} in {segment.nunique()} segments of at least 150, {int(x.isna().sum().sum())} answers missing.")
chosen = blica.select(x, segment, ordinal=True, sources="1:4", folds=3, references=20)
print("How many sources? " + chosen.reason)
print("BIC by number of sources: " + ", ".join(f"{k}: {b:.0f}" for k, b in zip(chosen.candidates[1:], chosen.bic[1:])) +
      ". Three is a choice for reading.")
half = np.arange(len(x)) % 2 == 0


def study(name, **coding):
    """One fit to all rows and one to each half; its sources in words, and how far to trust it."""
    ica = blica.BinaryICA(3, **coding).fit(x, segments=segment)
    a, b = (blica.BinaryICA(3, **coding).fit(x[h], segments=segment[h]) for h in (half, ~half))
    print(f"\n{name}:")
    for j in range(3):
        order = np.argsort(-np.abs(ica.mixing_[:, j]))[:5]
        print(f"Source {j + 1}: " + ", ".join(f"{ITEMS[i]} {ica.mixing_[i, j]:.1f}" for i in order))
    spread = ica.variances_.max(axis=0) / ica.variances_.min(axis=0)
    print("From segment to segment the variances of the sources differ by factors of " + ", ".join(f"{s:.1f}" for s in spread) + ".")
    print("Cosines of the columns between fits to halves of the rows: " +
          ", ".join(f"{c:.2f}" for c in np.abs(blica.compare(a, b).cosine)) + ".")
    print("\n".join(blica.assess(ica, x, segment, binarize=coding.get("binarize"), bootstrap=50).verdict))
    return ica


four = study("Four points", ordinal=True)
two = study("Cut at one point", binarize=0.5)
print("\nThe two have columns with cosines " + ", ".join(f"{c:.2f}" for c in np.abs(blica.compare(four, two).cosine)) + ".")
if len(sys.argv) > 1:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, 3, figsize=(14, 5), layout="constrained")
    for ax, ica, title in zip(axes, (four, two), ("four points", "cut at one point")):
        blica.plot_mixing(ica, ax)
        ax.set_title(title)
    blica.plot_variances(four, axes[2])
    figure.savefig(f"{sys.argv[1]}/mood.png")
