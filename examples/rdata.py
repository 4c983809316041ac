"""Data sets that come with R packages, through a CSV file in a temporary folder."""
import pathlib
import subprocess
import tempfile

import pandas


def load(name: str, package: str) -> pandas.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "data.csv")
        subprocess.run(["Rscript", "--vanilla", "-e", f'data({name}, package = "{package}"); write.csv({name}, "{path}", row.names = FALSE)'],
                       check=True)
        return pandas.read_csv(path)
