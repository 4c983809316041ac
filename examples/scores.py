"""A score per person, and regressions on it. Data: psychTools::bfi, 25 items rated 1 to 6; segments are sex and age."""
import warnings

import numpy as np
import pandas

import blica
from rdata import load

warnings.simplefilter("ignore", blica.BlicaWarning)
d = load("bfi", "psychTools")
items = [f"{trait}{i}" for trait in "ACENO" for i in range(1, 6)]
decade = pandas.cut(d.age, [0, 19, 24, 29, 39, 100], labels=["to 19", "20 to 24", "25 to 29", "30 to 39", "40 on"]).astype(str)
segment = d.gender.map({1: "men", 2: "women"}) + " " + decade
ica = blica.BinaryICA(5, ordinal=True, random_state=1).fit(d[items], segments=segment)

# the source that most of the squared loadings of the items on neuroticism are on; high is nervous
share = (ica.mixing_[15:20] ** 2).sum(axis=0) / (ica.mixing_ ** 2).sum(axis=0)
j = int(share.argmax())
sign = np.sign(ica.mixing_[15:20, j].sum())
mean, sd, draws = ica.transform(d[items], segments=segment, return_std=True, draws=20)
score, error, plausible = sign * mean[:, j], sd[:, j], sign * draws[:, :, j]
reliability = blica.sources(ica, d[items], segment).reliability[j]
unit = np.sqrt(np.var(plausible, axis=0).mean())  # the standard deviation of the source
print(f"{len(d)} people; the source of neuroticism has {100 * share[j]:.0f} % of its squared loadings on those five items.")
print(f"Reliability of its scores: {reliability:.2f}. Standard deviations of the source {unit:.2f}, of the scores {score.std():.2f}.")
print("First three people (score and its standard deviation, in units of the source): "
      + ", ".join(f"{s / unit:.2f} ({e / unit:.2f})" for s, e in zip(score[:3], error[:3])) + ".")


def slope(y, x):
    """Slope of y on x and its standard error."""
    x, y = x - x.mean(), y - y.mean()
    b = x @ y / (x @ x)
    return b, np.sqrt(((y - b * x) ** 2).sum() / (len(x) - 2) / (x @ x))


def combined(fits):
    """Rubin's rules: the mean slope, with the variance between draws."""
    b, e = np.array(fits).T
    return b.mean(), np.sqrt((e ** 2).mean() + (1 + 1 / len(b)) * b.var(ddof=1))


age = d.age.to_numpy(dtype=float) / 10
print("\nslope of                          posterior means    plausible values")
for name, scale, run in (("score on age, per ten years", unit, lambda z: slope(z, age)),
                         ("age on score, years per sd", 0.1 / unit, lambda z: slope(age, z))):
    means, values = run(score), combined([run(draw) for draw in plausible.T])
    print(f"{name:32} {means[0] / scale:6.3f} ({means[1] / scale:.3f})    {values[0] / scale:6.3f} ({values[1] / scale:.3f})")
print(f"share of its variance between segments   {np.var(pandas.Series(score).groupby(segment.to_numpy()).transform('mean')) / score.var():.3f}"
      f"              {np.mean([np.var(pandas.Series(z).groupby(segment.to_numpy()).transform('mean')) / z.var() for z in plausible.T]):.3f}")
