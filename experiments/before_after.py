#!/usr/bin/python3
"""Which of two variables comes first? On real before-and-after data, where the answer is known.

psychTools::msqR has 75 mood adjectives rated 0 to 3 before (time 1) and after (time 2 or 3) a session; segments are the studies. For
each adjective a model of two sources is fitted to its two ratings, and the cause is the rating whose signal is closest to a single
source, as in `blica experiment levels`. Beside it the rule of DirectLiNGAM (Shimizu et al. 2011) takes the codes for numbers: the cause
is what leaves the most independent residual, by the entropies of Hyvarinen (1998). before_after.py prints the table of docs/identifiability.md; it needs R with psychTools and the
Python package.
"""
import io
import subprocess
import warnings

import numpy as np
import pandas as pd

import blica

EXPORT = ("data(msqR, package = 'psychTools'); "
          "write.csv(msqR[c(1:75, which(names(msqR) %in% c('time', 'id', 'study')))], row.names = FALSE)")


def impurity(model: blica.Model, item: int) -> float:
    """Of a variable's signal, the mean share of the source that it has less of: 0 for a cause."""
    part = model.mixing[item] ** 2 * model.variances
    share = (part / part.sum(axis=1, keepdims=True)).mean(axis=0)
    return share.min()


def entropy(x: np.ndarray) -> float:
    """Approximate entropy of a standardised variable."""
    return ((1 + np.log(2 * np.pi)) / 2 - 79.047 * (np.mean(np.log(np.cosh(x))) - 0.37457) ** 2
            - 7.4129 * np.mean(x * np.exp(-x * x / 2)) ** 2)


def first_causes(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether x is rather the cause of y than y of x, by the residuals of the two regressions."""
    x, y = ((v - v.mean()) / v.std() for v in (x, y))
    r = np.mean(x * y)
    left = np.sqrt(1 - r * r)
    return entropy(x) + entropy((y - r * x) / left) < entropy(y) + entropy((x - r * y) / left)


def main() -> None:
    text = subprocess.run(["Rscript", "--vanilla", "-e", EXPORT], check=True, capture_output=True, text=True).stdout
    rows = pd.read_csv(io.StringIO(text))
    items = list(rows.columns[:75])
    before = rows[rows.time == 1].drop_duplicates(["study", "id"])
    after = rows[rows.time.isin([2, 3])].sort_values("time").drop_duplicates(["study", "id"])
    both = before.merge(after, on=["study", "id"], suffixes=("", "_after"))
    right, clear, clear_right, lingam = 0, 0, 0, 0
    for item in items:
        pair = both[[item, item + "_after", "study"]].dropna()
        pair = pair[pair.groupby("study").study.transform("size") >= 40]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = blica.fit(pair, "study", sources=2, levels=[0, 1, 2, 3], threads=1)
        first, second = impurity(model, 0), impurity(model, 1)
        right += first < second
        if max(first, second) > 0.1 and min(first, second) < max(first, second) / 4:
            clear += 1
            clear_right += first < second
        centred = pair[[item, item + "_after"]] - pair.groupby("study")[[item, item + "_after"]].transform("mean")
        lingam += first_causes(*centred.to_numpy().T)
    print(f"| adjectives | right | clear answers | right of these | DirectLiNGAM on the codes, right |\n|---|---|---|---|---|\n"
          f"| {len(items)} | {right} | {clear} | {clear_right} | {lingam} |")


if __name__ == "__main__":
    main()
