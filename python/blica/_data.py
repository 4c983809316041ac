"""From arrays, DataFrames and sparse matrices to the packed bits of the library, some rows at a time."""
from __future__ import annotations

import copy
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ._library import ffi, lib
from ._session import Session, encoded

CHUNK = 1 << 22  # values that are unpacked at a time
Levels = List[Optional[Tuple[Any, Any]]]  # per column: (value of 0, value of 1), None for plain 0/1


def is_sparse(x) -> bool:
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def is_frame(x) -> bool:
    return hasattr(x, "columns") and hasattr(x, "iloc") and hasattr(x, "dtypes")


class Table:
    """Rows of n columns whose values are yet to become 0, 1 or missing."""

    def __init__(self, x, levels: Optional[Levels] = None, binarize: Optional[float] = None):
        self.binarize = _threshold(binarize)
        self.names: Optional[List[str]] = None
        self.levels: Levels = []
        if is_frame(x):
            self.names = [str(name) for name in x.columns]
            x = self._from_frame(x, levels)
        elif is_sparse(x):
            x = x.tocsr()
            if x.dtype.kind == "c":
                raise ValueError("Complex data not supported: X has complex values; binary data are 0 and 1")
        else:
            x = _array(x)
        self.x = x
        self._check_shape()
        if not self.levels:
            self.levels = levels if levels is not None else [None] * self.shape[1]
            if levels is None and self.binarize is None:
                self._learn_levels()

    def rows(self, which: np.ndarray) -> "Table":
        """The same columns for some of the rows."""
        part = copy.copy(self)
        part.x = self.x[which]
        return part

    @property
    def shape(self) -> Tuple[int, int]:
        return self.x.shape

    def name(self, j: int) -> str:
        return f"column {j}" + (f" ('{self.names[j]}')" if self.names else "")

    def _check_shape(self) -> None:
        rows, columns = self.shape
        if rows < 1:
            raise ValueError(f"Found array with 0 sample(s) (shape={self.shape}) while a minimum of 1 is required: "
                             "there are no rows")
        if columns < 1:
            raise ValueError(f"Found array with 0 feature(s) (shape={self.shape}) while a minimum of 2 is required: "
                             "there are no variables")
        if columns < 2:
            raise ValueError("n_features=1: at least 2 variables are needed, as pairs of them are counted")

    def _from_frame(self, x, levels: Optional[Levels]) -> np.ndarray:
        result = np.empty(x.shape, dtype=float, order="F")
        learned: Levels = []
        for j in range(x.shape[1]):
            column = x.iloc[:, j]
            known = levels[j] if levels is not None else None
            values, pair = _frame_column(column, known, self.binarize, self.name(j))
            result[:, j] = values
            learned.append(pair)
        self.levels = learned
        return result

    def _step(self) -> int:
        return max(1, CHUNK // self.shape[1])

    def _raw(self, start: int, stop: int) -> np.ndarray:
        part = self.x[start:stop]
        return part.toarray() if is_sparse(part) else part

    def _learn_levels(self) -> None:
        """Columns that are not 0/1 may hold two other values: the lower one is 0. More or fewer is an error."""
        odd = np.zeros(self.shape[1], dtype=bool)
        for start in range(0, self.shape[0], self._step()):
            part = self._raw(start, start + self._step())
            odd |= ~((part == 0) | (part == 1) | (part != part)).all(axis=0)
        for j in np.flatnonzero(odd):
            column = self.x[:, j]
            values = np.unique(column.toarray() if is_sparse(column) else column)
            self.levels[j] = _two(values[values == values].tolist(), self.name(j))

    def chunks(self):
        """Blocks of rows as int8 [rows, n]: 0, 1, -1 for missing."""
        low = np.array([0 if pair is None or isinstance(pair[0], str) else pair[0] for pair in self.levels], dtype=float)
        high = np.array([1 if pair is None or isinstance(pair[0], str) else pair[1] for pair in self.levels], dtype=float)
        for start in range(0, self.shape[0], self._step()):
            part = self._raw(start, start + self._step())
            missing = part != part
            if self.binarize is not None:
                out = (part > self.binarize).astype(np.int8)
            else:
                out = (part == high).astype(np.int8)
                wrong = ~((part == low) | (out == 1) | missing)
                if wrong.any():
                    r, j = np.argwhere(wrong)[0]
                    raise ValueError(f"row {start + r}, {self.name(j)}: value {part[r, j]!r} is neither {low[j]:g} nor "
                                     f"{high[j]:g}; recode it, or give binarize= a threshold")
            out[missing] = -1
            yield out if out.flags.f_contiguous else np.ascontiguousarray(out)


def _threshold(binarize) -> Optional[float]:
    if binarize is None:
        return None
    try:
        return float(binarize)
    except (TypeError, ValueError):
        raise TypeError(f"binarize is {binarize!r}; give a number or None") from None


def _array(x) -> np.ndarray:
    if isinstance(x, (str, bytes)) or x is None:
        raise TypeError(f"X is {type(x).__name__}; give an array, a DataFrame or a sparse matrix of binary values")
    masked = np.ma.getmaskarray(x) if isinstance(x, np.ma.MaskedArray) else None
    x = np.asarray(x)
    if x.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has complex values; binary data are 0 and 1")
    if x.dtype.kind == "O":
        x = x.astype(float)
    if x.dtype.kind not in "biuf":
        raise ValueError(f"X has values of type {x.dtype}; give 0/1 numbers, or a DataFrame for columns of two labels")
    if masked is not None and masked.any():
        x = np.where(masked, np.nan, x)
    if x.ndim != 2:
        raise ValueError(f"Expected 2D array, got {x.ndim}D array instead: X must have one row per sample and one column "
                         "per variable. Reshape your data either using array.reshape(-1, 1) or array.reshape(1, -1)")
    return x


def _two(values: list, name: str) -> Tuple[Any, Any]:
    if len(values) != 2:
        some = ", ".join(repr(v) for v in values[:4]) + (", ..." if len(values) > 4 else "")
        what = f"{len(values)} different values ({some})" if len(values) != 1 else f"one value ({some}), which is not 0 or 1"
        raise ValueError(f"{name} has {what}; binary variables have two levels: recode it, or give binarize= a threshold")
    return values[0], values[1]


def _frame_column(column, known, binarize, name: str):
    """Values as float (NaN missing), and the two labels when the column is not numeric."""
    if column.dtype.kind in "biuf" or hasattr(column.dtype, "numpy_dtype"):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        if known is None and binarize is None:
            present = np.unique(values[values == values])
            if not np.isin(present, (0, 1)).all():
                known = _two(present.tolist(), name)
        return values, known
    if binarize is not None:
        raise ValueError(f"{name} is not numeric ({column.dtype}); binarize= is for numbers")
    missing = column.isna().to_numpy()
    labels = np.array([str(value) for value in column], dtype=object)
    if known is None:
        order = [str(c) for c in column.cat.categories] if hasattr(column, "cat") else sorted(set(labels[~missing]))
        known = _two([c for c in order if c in set(labels[~missing])], name)
    result = np.where(labels == known[1], 1.0, np.where(labels == known[0], 0.0, 2.0))
    if (result[~missing] == 2).any():
        raise ValueError(f"{name}: value {labels[~missing][result[~missing] == 2][0]!r} is neither {known[0]!r} nor {known[1]!r}")
    result[missing] = np.nan
    return result, known


def segment_labels(segments, rows: int) -> Tuple[np.ndarray, List[str]]:
    """An id for each row, and the labels as text: in order of the categories of a Categorical, else of appearance."""
    if segments is None:
        return np.zeros(rows, dtype=np.int32), ["1"]
    if isinstance(segments, (str, bytes)):
        raise TypeError("segments is text; give one label for each row")
    categories = getattr(getattr(segments, "cat", segments), "categories", None)
    masked = np.ma.getmaskarray(segments) if isinstance(segments, np.ma.MaskedArray) else False
    values = segments.to_numpy() if hasattr(segments, "to_numpy") else np.asarray(segments)
    if values.ndim == 2 and values.shape[1] == 1:
        values, masked = values[:, 0], masked[:, 0] if masked is not False else False
    if values.ndim != 1 or len(values) != rows:
        raise ValueError(f"segments has shape {values.shape}, X has {rows} rows; give one label for each row")
    if values.dtype.kind == "O":
        absent = np.array([v is None or v != v for v in values.tolist()], dtype=bool)
        values = np.array([_label(v) for v in values], dtype=str)
    else:
        absent = values != values
    absent = absent | masked
    if absent.any():
        raise ValueError(f"row {int(np.argmax(absent))} has no segment; drop such rows or give them a segment of their own")
    found, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    labels = [_label(value) for value in found]
    if categories is not None:
        place = {_label(category): at for at, category in enumerate(categories)}
        first = np.array([place[label] for label in labels])
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[inverse].astype(np.int32), [labels[i] for i in order]


def _label(value) -> str:
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def c_texts(values: Optional[Sequence[str]]):
    """A C array of strings and what keeps it alive."""
    if values is None:
        return ffi.NULL, None
    kept = [ffi.new("char[]", encoded(value)) for value in values]
    return ffi.new("char *[]", kept), kept


def pack(session: Session, table: Table, segments):
    """The C data object."""
    rows, n = table.shape
    ids, labels = segment_labels(segments, rows)
    names, kept = c_texts(table.names)
    packer = session.call(lib.blica_pack_begin, n, names, free=lib.blica_packer_free)
    del kept
    known = ffi.new("int32_t *")
    for label in labels:
        session.call(lib.blica_pack_segment, packer, encoded(label), known)
    start = 0
    for block in table.chunks():
        part = np.ascontiguousarray(ids[start:start + len(block)])
        by_columns = block.flags.f_contiguous and not block.flags.c_contiguous
        session.call(lib.blica_pack_columns if by_columns else lib.blica_pack_rows, packer, len(block),
                     ffi.from_buffer("int8_t[]", block.T if by_columns else block), ffi.from_buffer("int32_t[]", part))
        start += len(block)
    ffi.gc(packer, None)  # the end consumes it, whether it succeeds or not
    return session.call(lib.blica_pack_end, packer, free=lib.blica_data_free)
