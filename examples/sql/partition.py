"""Pair counts of one partition of a table: what each task of a Spark job makes, for `blica merge` to add up.

pair_counts(frame) takes a pandas DataFrame of 0/1 columns (NaN: missing) and a segment column, and gives the counts as a
DataFrame with the columns segment,i,j,n11,n10,n01,n00. In Spark:

    schema = "segment string, i string, j string, n11 long, n10 long, n01 long, n00 long"
    parts = df.mapInPandas(lambda parts: map(pair_counts, parts), schema)
    cells = ["n11", "n10", "n01", "n00"]
    parts.groupBy("segment", "i", "j").sum(*cells).toDF("segment", "i", "j", *cells).toPandas().to_csv("counts.csv", index=False)

Dask needs none of this: blica.count takes its frames. As a program it plays such a job on one machine:

    python3 partition.py data.csv 100000 part        # part-0.csv, part-1.csv, ... of 100 000 rows each
    blica merge part-*.csv --out counts.npz
"""
import sys

import numpy
import pandas

COLUMNS = ["segment", "i", "j", "n11", "n10", "n01", "n00"]


def pair_counts(frame, segment="segment"):
    names = [name for name in frame.columns if name != segment]
    j, i = numpy.tril_indices(len(names))  # i <= j; i = j is the margin of a variable
    parts = []
    for label, rows in frame.groupby(segment, sort=False):
        x = rows[names].to_numpy(float)
        present = (~numpy.isnan(x)).astype(float)
        ones = numpy.nan_to_num(x)
        n11, first, second, both = ones.T @ ones, ones.T @ present, present.T @ ones, present.T @ present
        tables = [n11, first - n11, second - n11, both - first - second + n11]
        part = {"segment": label, "i": [names[a] for a in i], "j": [names[b] for b in j]}
        part.update({name: table[i, j].astype(int) for name, table in zip(COLUMNS[3:], tables)})
        parts.append(pandas.DataFrame(part))
        if len(x) > numpy.diag(both).max():  # rows that no variable shows
            parts.append(pandas.DataFrame([[label, "", "", len(x), 0, 0, 0]], columns=COLUMNS))
    return pandas.concat(parts) if parts else pandas.DataFrame(columns=COLUMNS)


if __name__ == "__main__":
    path, size, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    for number, frame in enumerate(pandas.read_csv(path, chunksize=size, dtype={"segment": str})):
        pair_counts(frame).to_csv(f"{out}-{number}.csv", index=False)
