"""The page of the program about a model, with what is kept of its assessment."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import List, Optional

import numpy as np

from ._data import Table, segment_labels, take_rows
from ._inference import assessed_on
from ._session import NumericalError
from ._verbs import _as_model, table_for


def _program() -> str:
    """The program blica: the one beside this package, beside the interpreter, or on the path."""
    own = [os.path.join(os.path.dirname(__file__), "bin"), os.path.dirname(sys.executable)]
    found = shutil.which("blica", path=os.pathsep.join([*own, os.environ.get("PATH", os.defpath)]))
    if found is None:
        raise FileNotFoundError("the program blica writes reports and is not on the path; install it (Debian: blica), or save the "
                                "model with blica.save and run blica report elsewhere")
    return found


def _free_name(name: str, taken: List[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _write_rows(path: str, table: Table, segments, names: List[str], weight) -> List[str]:
    """The rows as CSV; returns the options that name their columns."""
    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    ids, labels = segment_labels(segments, table.shape[0])
    further = [[quoted(labels[s]) for s in ids]]
    flags = {"segment-column": _free_name("segment", names)}
    if weight is not None:
        flags["weights"] = _free_name("weights", names)
        further.append([repr(float(v)) for v in np.asarray(weight)])
    codes = [[*map(quoted, table.labels(j)), ""] for j in range(table.shape[1])]  # the last is for missing ones, -1
    start = 0
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(",".join(map(quoted, [*names, *flags.values()])) + "\n")
        for block in table.chunks():
            for r, row in enumerate(block, start):
                file.write(",".join([*(own[v] for own, v in zip(codes, row)), *(column[r] for column in further)]) + "\n")
            start += len(block)
    return [f"--{flag}={name}" for flag, name in flags.items() if (flag, name) != ("segment-column", "segment")]


def report(model, X=None, path="report.html", segments=None, *, sample_weight=None, cluster=None, strata=None,
           binarize: Optional[float] = None, missing=None, figures: Optional[str] = None) -> None:
    """Writes a page of HTML about a model, with the program `blica`; with X, also how it fits the data.

    X, segments, sample_weight, cluster and strata are those of the fit, or None; errors are those that the model keeps of `assess`, which
    is called if it was not yet. Of a fitted BinaryICA with segment_column, X has that column. figures names a folder for the
    figures as SVG.
    """
    program, held = _program(), _as_model(model)
    with tempfile.TemporaryDirectory() as folder:
        arguments = [os.path.join(folder, "model.json")]
        held.save(arguments[0])
        found = held.assessment
        if X is not None:
            X, segments, rows = take_rows(X, segments, sample_weight, cluster, strata=strata)
            if hasattr(model, "_split"):
                table, segments = model._split(X, segments, reset=False)
            else:
                table = table_for(held, X, binarize, missing)
            if segments is None and len(held.segments) == 1:
                segments = np.full(table.shape[0], held.segments[0])
            try:
                found = assessed_on(held, table, segments, rows)
            except (ValueError, NumericalError):
                found = None  # the program says why
            arguments.append(os.path.join(folder, "data.csv"))
            arguments += _write_rows(arguments[1], table, segments, held.variables, rows.weight)
        if found is not None:
            arguments += ["--assessment", os.path.join(folder, "assessment.json")]
            found.save(arguments[-1])
        arguments += ["--out", os.fspath(path), "--quiet"] + (["--figures", os.fspath(figures)] if figures else [])
        done = subprocess.run([program, "report", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        kind = ValueError if done.returncode == 3 else OSError
        raise kind(done.stderr.decode(errors="replace").strip() or f"{program} report ended with {done.returncode}")
