"""Moods of students. Data: psychTools::msqR, adjectives rated 0 to 3, cut at "at all" (above 0). Segments are study and time of
measurement: some studies showed films or gave caffeine, so that moods spread more in some than in others."""
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
print(f"{len(d)} rows; {len(kept)} in {kept.segment.nunique()} segments of at least 150, {int(kept[ITEMS].isna().sum().sum())} answers missing.")

fits = {}
for k in (2, 3, 4):
    ica = fits[k] = blica.BinaryICA(k, binarize=0.5).fit(kept[ITEMS], segments=kept.segment)
    score = blica.loglik(ica, kept[ITEMS], kept.segment, binarize=0.5)
    bic = -2 * score.loglik + ica.model_.parameters * np.log(len(kept))
    print(f"{k} sources: log-likelihood {score.loglik:.0f}, BIC {bic:.0f}")
ica = fits[3]
other = blica.BinaryICA(3, binarize=0.5, method="blica").fit(kept[ITEMS], segments=kept.segment)
for j in range(3):
    a = ica.mixing_[:, j]
    order = np.argsort(-np.abs(a))[:5]
    print(f"Source {j + 1}: " + ", ".join(f"{ITEMS[i]} {a[i]:.1f}" for i in order))
pairs = len(ITEMS) * (len(ITEMS) - 1) // 2 * len(ica.segments_)
agree = np.abs(blica.compare(ica, other).cosine)
print(f"{ica.model_.fit['zero_cells']} of {pairs} tables have an empty cell and were filled.")
spread = ica.variances_.max(axis=0) / ica.variances_.min(axis=0)
print("From segment to segment the variances of the sources differ by factors of " + ", ".join(f"{s:.1f}" for s in spread) + ".")
print("How far to trust it: cosines of the columns by methods matched and blica: " + ", ".join(f"{c:.2f}" for c in agree) + ";")
print("BIC asks for more sources the more there are, as it often does with thousands of rows; three is a choice for reading.")
print(blica.assess(ica, kept[ITEMS], kept.segment, binarize=0.5))
if len(sys.argv) > 1:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
    blica.plot_mixing(ica, axes[0])
    blica.plot_variances(ica, axes[1])
    figure.savefig(f"{sys.argv[1]}/mood.png")
