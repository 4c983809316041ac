"""From arrays, DataFrames and sparse matrices to levels and the packed bits of the library, some rows at a time."""
from __future__ import annotations

import copy
import ctypes
import hashlib
import warnings
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._library import ffi, lib
from ._session import BlicaWarning, Session, encoded

CHUNK = 1 << 22  # values that are unpacked at a time
Labels = Optional[Tuple[Any, ...]]  # levels of a column, lowest first; None for plain 0/1
Coding = List[Labels]  # of every column


def is_sparse(x) -> bool:
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def is_frame(x) -> bool:
    return hasattr(x, "columns") and hasattr(x, "iloc") and hasattr(x, "dtypes")


def as_frame(x):
    """A frame of another library (polars, pyarrow) as one of pandas, which keeps its names and levels; all else as it is."""
    if is_frame(x) or is_sparse(x) or isinstance(x, np.ndarray):
        return x
    if hasattr(x, "__dataframe__"):
        from pandas.api.interchange import from_dataframe

        return from_dataframe(x)
    if hasattr(x, "columns") and hasattr(x, "shape"):
        raise TypeError(f"X is a {type(x).__name__}, whose column names cannot be read; convert it to a pandas DataFrame")
    return x


def is_stream(x) -> bool:
    """Whether x gives its table as an Arrow stream only, as results of DuckDB do; frames with more are read as pandas reads them."""
    return hasattr(x, "__arrow_c_stream__") and not is_frame(x) and not hasattr(x, "__dataframe__")


def pack_stream(session: Session, x, segments, ordinal: bool, **others):
    """The C data object of an Arrow stream; segments is the name of a column, or None."""
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name}= is not for Arrow streams, whose levels are those of their dictionaries; give a pandas DataFrame")
    if segments is not None and not isinstance(segments, str):
        raise TypeError("segments of an Arrow stream are a column of it; give its name")
    capsule = x.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = ffi.cast("struct ArrowArrayStream *", pointer(capsule, b"arrow_array_stream"))
    name = ffi.NULL if segments is None else ffi.new("char[]", encoded(segments))
    return session.call(lib.blica_pack_arrow, stream, name, bool(ordinal), free=lib.blica_data_free)


def take_segments(x, segments, what: str = "segments") -> Tuple[Any, Any]:
    """X without the column that segments (or what else) names, and that column; or both as they are given."""
    if not isinstance(segments, str):
        return x, segments
    x = as_frame(x)
    if not is_frame(x):
        raise TypeError(f"{what} is {segments!r}, but X has no column names; give one value for each row")
    if segments not in x.columns:
        raise ValueError(f"{what} is {segments!r}, which is not a column of X; it has {', '.join(map(str, x.columns))}")
    return x.drop(columns=segments), x[segments]


def is_pieces(x) -> bool:
    """Whether x is an iterator, which gives a table piece by piece."""
    return hasattr(x, "__next__")


def pieces_of(x, segments) -> Iterator[Tuple[Any, Any]]:
    """Parts of X, each with the segments of its rows: x gives parts, or pairs of a part and its segments."""
    if segments is not None and not isinstance(segments, str):
        raise TypeError("X is an iterator: its pieces bring their segments along, as pairs (X, segments), or as a column that segments names")
    for part in x:
        if not isinstance(part, tuple):
            yield part, segments
        elif len(part) == 2 and segments is None:
            yield part[0], part[1]
        else:
            raise TypeError("a piece of X is a tuple; give pairs (X, segments), or X alone where a column of it holds the segments")


class Rows(NamedTuple):
    """What is known of rows beside their values; None: nothing."""

    weight: Any = None
    cluster: Any = None
    replicates: Any = None
    method: Optional[str] = None
    strata: Any = None

    def give(self, session: Session, data) -> None:
        """To packed data."""
        rows = int(data.rows)
        if self.weight is not None:
            weight = np.ascontiguousarray(self.weight, dtype=float)
            _check_length(weight, rows, "sample_weight")
            session.call(lib.blica_data_set_weights, data, ffi.from_buffer("double[]", weight))
            if self.replicates is not None:
                columns = np.ascontiguousarray(np.asarray(self.replicates, dtype=float).T)
                if columns.ndim != 2 or columns.shape[1] != rows:
                    raise ValueError(f"replicate_weights has shape {columns.T.shape}; there are {rows} rows, and each needs one value of each replicate")
                session.call(lib.blica_data_set_replicates, data, ffi.from_buffer("double[]", weight), len(columns),
                             ffi.from_buffer("double[]", columns), encoded(str(self.method)))
        for given, what, take in ((self.cluster, "cluster", lib.blica_data_set_clusters), (self.strata, "strata", lib.blica_data_set_strata)):
            if given is None:
                continue
            labels = np.asarray(given)
            _check_length(labels, rows, what)
            if (labels != labels).any() or (labels.dtype == object and any(one is None for one in labels)):
                raise ValueError(f"{what} has missing values; give rows that belong to none a label of their own")
            number = np.ascontiguousarray(np.unique(labels.astype(str), return_inverse=True)[1].reshape(-1), dtype=np.int32)
            session.call(take, data, ffi.from_buffer("int32_t[]", number))


def _check_length(values: np.ndarray, rows: int, what: str) -> None:
    if values.shape != (rows,):
        raise ValueError(f"{what} has shape {values.shape}; there are {rows} rows, and each needs one value")


def take_rows(x, segments, sample_weight=None, cluster=None, replicate_weights=None, replicate_method=None,
              strata=None) -> Tuple[Any, Any, "Rows"]:
    """X without the columns that are named, the segments, and what is known of the rows."""
    if (replicate_weights is None) != (replicate_method is None) or (replicate_weights is not None and sample_weight is None):
        raise ValueError("replicate_weights, replicate_method and sample_weight, which has the weights that the replicates vary, belong together")
    x, segments = take_segments(x, segments)
    x, sample_weight = take_segments(x, sample_weight, "sample_weight")
    x, cluster = take_segments(x, cluster, "cluster")
    x, strata = take_segments(x, strata, "strata")
    if isinstance(replicate_weights, (list, tuple)) and replicate_weights and all(isinstance(name, str) for name in replicate_weights):
        columns = []
        for name in replicate_weights:
            x, column = take_segments(x, name, "replicate_weights")
            columns.append(column)
        replicate_weights = np.column_stack(columns)
    if replicate_method is not None and not isinstance(replicate_method, str):
        replicate_method = ",".join(repr(float(factor)) for factor in np.atleast_1d(replicate_method))
    return x, segments, Rows(sample_weight, cluster, replicate_weights, replicate_method, strata)


class FoundLabels(np.ndarray):
    """Labels of rows that `segment` gives. searched: True where they were found in the row itself, so that change over them
    cannot be tested; indexing keeps it."""

    searched: Optional[np.ndarray]

    def __array_finalize__(self, obj):
        known = getattr(obj, "searched", None)
        self.searched = known if known is not None and known.shape == self.shape else None

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array)[()]

    def __getitem__(self, key):
        part = super().__getitem__(key)
        if isinstance(part, FoundLabels) and self.searched is not None:
            part.searched = self.searched[key]
        return part


class Table:
    """Rows of n columns whose values are yet to become levels 0, 1, ... or missing.

    missing holds values that mean missing beside NaN. The levels of the columns are those that the user gives (levels), or
    those of a model (coding, a function of the names of the columns), or they are learned. Where lenient(names, n) is true
    for a column, a value that is not one of its levels is missing, with a warning; elsewhere it is an error.
    """

    first = 0  # number of the first row, for messages

    def __init__(self, x, coding: Optional[Callable[[Optional[List[str]]], Coding]] = None, binarize: Optional[float] = None,
                 ordinal: bool = False, levels=None, missing=None, numeric=None,
                 lenient: Optional[Callable[[Optional[List[str]], int], List[bool]]] = None):
        if hasattr(x, "__dask_graph__"):
            raise TypeError(f"X is a {type(x).__module__}.{type(x).__name__}; only count, correlate, fit and BinaryICA.fit take it whole. Apply "
                            "this to its partitions, as in ddf.map_partitions, or give ddf.compute()")
        self.binarize = _threshold(binarize)
        self.ordinal = bool(ordinal)
        x = as_frame(x)
        if self.binarize is not None and (self.ordinal or levels is not None or numeric is not None):
            raise ValueError("binarize makes two levels of numbers; leave ordinal, levels and numeric out, or binarize")
        self.names: Optional[List[str]] = None
        if is_frame(x):
            self.names = [str(name) for name in x.columns]
        elif is_sparse(x):
            x = x.tocsr()
            if x.dtype.kind == "c":
                raise ValueError("Complex data not supported: X has complex values; give the levels of the items")
        else:
            x = _array(x)
        if missing is not None:
            x = _without(x, missing)
        self.x = x
        self._check_shape()
        n = self.shape[1]
        self._known = coding is not None
        self.levels: Coding = given_levels(levels, self.names, n) if coding is None else coding(self.names)
        if len(self.levels) != n:
            self.levels = [None] * n  # the caller refuses the shape
        for column in () if numeric is None else [numeric] if isinstance(numeric, str) or hasattr(numeric, "__index__") else numeric:
            self._cut(_place(column, self.names, n, "numeric"))
        self._lenient = np.array([False] * n if lenient is None else lenient(self.names, n))
        self._values: List[Optional[np.ndarray]] = [None] * n  # the number that stands for each level; None: 0 and 1
        if is_frame(x):
            self._from_frame()
        else:
            self._from_numbers()

    def rows(self, which: Union[np.ndarray, slice]) -> "Table":
        """The same columns for some of the rows."""
        part = copy.copy(self)
        part.x = self.x[which]
        part.first = self.first + which.start if isinstance(which, slice) else self.first
        return part

    @property
    def shape(self) -> Tuple[int, int]:
        return self.x.shape

    def name(self, j: int) -> str:
        return f"column {j}" + (f" ('{self.names[j]}')" if self.names else "")

    def labels(self, j: int) -> List[str]:
        """Levels of a column as text. Two that the library cannot write are 0 and 1."""
        known = self.levels[j]
        texts = ["0", "1"] if known is None else [_label(level) for level in known]
        return ["0", "1"] if len(texts) == 2 and any(not t or set(t) & set("<[]") for t in texts) else texts

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

    def _cut(self, j: int) -> None:
        """Makes a column of numbers an item, whose levels are labelled by their least numbers, the lowest by "-Inf"."""
        if self.levels[j] is not None:
            raise ValueError(f"{self.name(j)}: levels gives its levels, and numeric names it too; give one of them")
        column = self.x.iloc[:, j] if is_frame(self.x) else self.x[:, [j]].toarray()[:, 0] if is_sparse(self.x) else self.x[:, j]
        if is_frame(self.x) and not _is_numeric(column, False):
            raise ValueError(f"{self.name(j)} is not numeric ({column.dtype}), and numeric names it")
        values = np.ascontiguousarray(column.to_numpy(dtype=float, na_value=np.nan) if is_frame(self.x) else column, dtype=float)
        cut, cuts = ffi.new("double[]", lib.BLICA_NUMBER_LEVELS), ffi.new("int *")
        try:
            Session().call(lib.blica_cut_numbers, len(values), ffi.from_buffer("double[]", values), cut, cuts)
        except ValueError as error:
            raise ValueError(f"{self.name(j)}: {error}") from None
        self.levels[j] = ("-Inf", *cut[0:cuts[0]])

    def _from_frame(self) -> None:
        if all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in self.x.dtypes):
            self.x = self.x.to_numpy(dtype=float)
            self._from_numbers()
            return
        frame, result = self.x, np.empty(self.shape, dtype=float, order="F")
        for j in range(self.shape[1]):
            column = frame.iloc[:, j]
            if _is_numeric(column, self.ordinal):
                result[:, j] = column.to_numpy(dtype=float, na_value=np.nan)
                self._number_levels(j, result[:, j])
            elif self.binarize is not None:
                raise ValueError(f"{self.name(j)} is not numeric ({column.dtype}); binarize= is for numbers")
            else:
                result[:, j], self.levels[j] = _text_column(column, self.levels[j], self.ordinal, self.name(j))
                self._values[j] = np.arange(len(self.levels[j] or "01"), dtype=float)
        self.x = result

    def _from_numbers(self) -> None:
        """Columns of numbers. Only those that are not 0/1, or whose levels are given, are looked at one by one."""
        n = self.shape[1]
        odd = np.array([known is not None for known in self.levels])
        if self.ordinal and not self._known and not odd.any() and self._few_numbers():
            return
        if not self._known and self.binarize is None:
            zero, one = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
            for start in range(0, self.shape[0], self._step()):
                part = self._raw(start, start + self._step())
                zeros, ones = part == 0, part == 1
                odd |= ~(zeros | ones | (part != part)).all(axis=0)
                if self.ordinal:
                    zero |= zeros.any(axis=0)
                    one |= ones.any(axis=0)
            if self.ordinal:
                odd |= ~(zero & one)  # a constant, which is refused
        for j in np.flatnonzero(odd):
            column = self.x[:, [j]]
            self._number_levels(j, (column.toarray() if is_sparse(column) else column)[:, 0])

    def _few_numbers(self) -> bool:
        """Levels of all columns at once, where they are few whole numbers and none is constant."""
        if is_sparse(self.x) or self.x.dtype.kind == "b":
            return False
        low, high = np.fmin.reduce(self.x, axis=None), np.fmax.reduce(self.x, axis=None)
        if not high - low < 32 or not float(low).is_integer():
            return False
        values = np.arange(low, high + 1)
        counts = np.array([np.count_nonzero(self.x == v, axis=0) for v in values])
        if counts.sum() + np.count_nonzero(self.x != self.x) < self.x.size or (np.count_nonzero(counts, axis=0) < 2).any():
            return False
        for j, own in enumerate((counts > 0).T):
            known = _learned(values[own].tolist(), True, self.name(j))
            self.levels[j], self._values[j] = known, None if known is None else values[own]
        return True

    def _number_levels(self, j: int, column: np.ndarray) -> None:
        """Levels of a column of numbers and the numbers that stand for them."""
        known = self.levels[j]
        if known is None and not self._known and self.binarize is None:
            present = np.unique(column)
            known = self.levels[j] = _learned(present[present == present].tolist(), self.ordinal, self.name(j))
        if known is not None:
            self._values[j] = _numbers(known, self.name(j))

    def _step(self) -> int:
        return max(1, CHUNK // self.shape[1])

    def _raw(self, start: int, stop: int) -> np.ndarray:
        part = self.x[start:stop]
        return part.toarray() if is_sparse(part) else part

    def chunks(self):
        """Blocks of rows as int8 [rows, n]: levels from 0, -1 for missing."""
        for start in range(0, self.shape[0], self._step()):
            part = self._raw(start, start + self._step())
            missing = part != part
            if self.binarize is not None:
                out = (part > self.binarize).astype(np.int8)
            else:
                out, right = self._coded(part)
                right |= missing
                if not right.all():
                    self._refuse(part, ~(right | missing | self._lenient), start)
                    missing |= self._unseen(part, ~right, start)
            out[missing] = -1
            yield out if out.flags.f_contiguous else np.ascontiguousarray(out)

    def _coded(self, part: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Levels of a block of rows, and whether they are any."""
        coded = [j for j, values in enumerate(self._values) if values is not None]
        if not coded:
            out = (part == 1).astype(np.int8)
            return out, (part == 0) | (out == 1)
        first = np.array([0.0 if values is None else values[0] for values in self._values])
        last = np.array([1.0 if values is None else values[-1] for values in self._values])
        with np.errstate(invalid="ignore"):  # missing values
            out = (part - first).astype(np.int8)
        right = (part >= first) & (part <= last) & (out + first == part)
        for j in coded:  # gaps, or another order than that of the numbers
            values = self._values[j]
            if values is not None and values[0] == -np.inf:
                out[:, j], right[:, j] = np.searchsorted(values, part[:, j], side="right") - 1, True
            elif values is not None and not (np.diff(values) == 1).all():
                out[:, j], right[:, j] = _codes(part[:, j], values)
        return out, right

    def _refuse(self, part: np.ndarray, wrong: np.ndarray, start: int) -> None:
        if not wrong.any():
            return
        r, j = np.argwhere(wrong)[0]
        known = self.levels[j]
        what = "neither 0 nor 1; recode it, or give binarize= a threshold" if known is None else _not_a_level(known)
        raise ValueError(f"row {self.first + start + r}, {self.name(j)}: value {_label(part[r, j])} is {what}")


    def _unseen(self, part: np.ndarray, wrong: np.ndarray, start: int) -> np.ndarray:
        """Which values are not among the levels, after a warning that names the first."""
        if wrong.any():
            r, j = np.argwhere(wrong)[0]
            warnings.warn(f"{wrong.sum()} value{'s' if wrong.sum() > 1 else ''} not seen in the fit (row {self.first + start + r}, {self.name(j)}: "
                          f"{_label(part[r, j])}) count as missing; levels= of the fit names levels that are rare", BlicaWarning,
                          stacklevel=7)
        return wrong


def given_levels(levels, names: Optional[List[str]], n: int) -> Coding:
    """Levels as the user gives them: a list for all columns, or a dict from names or indices of columns to lists."""
    if levels is None:
        return [None] * n
    if isinstance(levels, str) or not hasattr(levels, "__len__"):
        raise TypeError(f"levels is {levels!r}; give a list of levels, lowest first, or a dict of such lists by column")
    if not isinstance(levels, dict):
        return [_given(levels, "levels")] * n
    result: Coding = [None] * n
    for column, own in levels.items():
        result[_place(column, names, n, "levels")] = _given(own, f"levels of column {column!r}")
    return result


def _place(column, names: Optional[List[str]], n: int, option: str) -> int:
    """The index of a column that an option names."""
    j = names.index(str(column)) if names and str(column) in names else column
    if not hasattr(j, "__index__") or not -n <= int(j) < n:
        raise ValueError(f"{option}: there is no column {column!r} in X")
    return int(j)


def _given(own, name: str) -> Tuple[Any, ...]:
    if isinstance(own, str) or not hasattr(own, "__len__") or len(own) < 2:
        raise ValueError(f"{name}: {own!r} is given; an item has a list of at least two levels, lowest first")
    texts = [_label(level) for level in own]
    twice = [text for text in texts if texts.count(text) > 1]
    if twice:
        raise ValueError(f"{name}: the level {twice[0]!r} occurs twice")
    return tuple(own)


def _threshold(binarize) -> Optional[float]:
    if binarize is None:
        return None
    try:
        return float(binarize)
    except (TypeError, ValueError):
        raise TypeError(f"binarize is {binarize!r}; give a number or None") from None


_TEXT_COLUMNS = "give numbers, or a DataFrame for columns of text"


def _array(x) -> np.ndarray:
    if isinstance(x, (str, bytes)) or x is None:
        raise TypeError(f"X is {type(x).__name__}; give an array, a DataFrame or a sparse matrix of 0 and 1")
    masked = np.ma.getmaskarray(x) if isinstance(x, np.ma.MaskedArray) else None
    x = np.asarray(x)
    if x.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has complex values; give the levels of the items")
    if x.dtype.kind == "O":
        try:
            x = x.astype(float)
        except ValueError as error:
            raise ValueError(f"X has values that are not numbers ({error}); {_TEXT_COLUMNS}") from None
    if x.dtype.kind not in "biuf":
        raise ValueError(f"X has values of type {x.dtype}; {_TEXT_COLUMNS}")
    if masked is not None and masked.any():
        x = np.where(masked, np.nan, x)
    if x.ndim != 2:
        raise ValueError(f"Expected 2D array, got {x.ndim}D array instead: X must have one row per sample and one column "
                         "per variable. Reshape your data either using array.reshape(-1, 1) or array.reshape(1, -1)")
    return x


def _without(x, missing):
    """x with NaN where its values are among those that mean missing: one value or a list, compared as numbers, else as text."""
    listed = [missing] if isinstance(missing, (str, bytes)) or not hasattr(missing, "__iter__") else list(missing)
    texts = {_label(value) for value in listed}
    numbers = [float(text) for text in texts if _is_number(text)]
    if is_sparse(x):
        raise ValueError("missing= is not for sparse matrices, whose zeros are not stored; give an array")
    if not is_frame(x):
        return np.where(np.isin(x, numbers), np.nan, x)
    x = x.copy()
    for j in range(x.shape[1]):
        column = x.iloc[:, j]
        if hasattr(column, "cat"):
            column = column.cat.remove_categories([c for c in column.cat.categories if _label(c) in texts])
        elif column.dtype.kind in "biuf" or hasattr(column.dtype, "numpy_dtype"):
            column = column.mask(column.isin(numbers))
        else:
            column = column.mask(column.map(lambda value: value == value and _label(value) in texts).astype(bool))
        x.isetitem(j, column)
    return x


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _some(values: list) -> str:
    return ", ".join(repr(v) if isinstance(v, str) else _label(v) for v in values[:4]) + (", ..." if len(values) > 4 else "")


def _learned(values: list, ordinal: bool, name: str) -> Labels:
    """The levels of a column that has these distinct numbers, in order."""
    if ordinal:
        odd = [v for v in values if not float(v).is_integer()]
        if odd:
            raise ValueError(f"{name}: {odd[0]!r} is not a whole number, which ordinal=True asks for; give levels=")
        if len(values) < 2:
            raise ValueError(f"{name} has {len(values)} value{'' if len(values) != 1 else ' (' + _label(values[0]) + ')'}; an item "
                             "needs at least two levels: leave it out, or give levels=")
        return None if values == [0, 1] else tuple(int(v) for v in values)
    if all(v in (0, 1) for v in values):
        return None
    if len(values) != 2:
        what = (f"{len(values)} different values ({_some(values)})" if len(values) != 1 else
                f"one value ({_some(values)}), which is not 0 or 1")
        raise ValueError(f"{name} has {what}; binary variables have two levels: say ordinal=True if they are ordered whole "
                         "numbers, give levels=, or give binarize= a threshold")
    return tuple(values)


def _not_a_level(known: Sequence) -> str:
    return "not one of its levels " + "<".join(_label(level) for level in known)


def _numbers(known: Sequence, name: str) -> np.ndarray:
    """The numbers that stand for levels in a column of numbers; false and true are 0 and 1."""
    try:
        return np.array([{"false": 0.0, "true": 1.0}.get(str(v).lower(), v) for v in known], dtype=float)
    except ValueError:
        raise ValueError(f"{name} has numbers, and a number is {_not_a_level(known)}") from None


def _codes(column: np.ndarray, values: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """The index of each element among values, and whether it is there."""
    order = np.argsort(values)
    at = order[np.minimum(np.searchsorted(values, column, sorter=order), len(values) - 1)]
    return at.astype(np.int8), values[at] == column


def _is_numeric(column, ordinal: bool) -> bool:
    if column.dtype.kind in "biuf" or hasattr(column.dtype, "numpy_dtype"):
        return True
    kept = column.dropna() if ordinal and column.dtype == object else ()
    return len(kept) > 0 and all(isinstance(v, (int, float, np.number)) for v in kept)


_PAIRS = (("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"))


def _usual_pair(present) -> Tuple[Any, ...]:
    """The two texts, lowest first, when they are a pair whose order is plain; else nothing."""
    order = sorted(present, key=str.lower)  # each pair is in the order of the alphabet
    return tuple(order) if tuple(text.lower() for text in order) in _PAIRS else ()


def _text_column(column, known: Labels, ordinal: bool, name: str) -> Tuple[np.ndarray, Labels]:
    """Levels from 0 as float (NaN missing) and their labels, for text and Categorical."""
    missing = column.isna().to_numpy()
    labels = np.array([_label(value) for value in column], dtype=object)
    present = set(labels[~missing])
    if known is None:
        categorical = hasattr(column, "cat")
        if categorical and column.cat.ordered:
            known = tuple(column.cat.categories)
            if len(known) < 2:
                raise ValueError(f"{name} is an ordered Categorical with {len(known)} level; an item needs at least two")
        elif ordinal and len(pair := _usual_pair(present)) > 0:
            known = pair
        elif ordinal:
            odd = next(iter(sorted(present)), "nothing")
            raise ValueError(f"{name}: {odd!r} is not a whole number, which ordinal=True asks for; make it an ordered Categorical, "
                             "or give levels=")
        else:
            order = [_label(c) for c in column.cat.categories] if categorical else sorted(present)
            known = tuple(c for c in order if c in present)
            if len(known) != 2:
                raise ValueError(f"{name} has {len(known)} different value{'' if len(known) == 1 else 's'} ({_some(list(known))}); "
                                 "binary variables have two levels: make it an ordered Categorical, or give levels=, lowest first")
    place = {_label(level): float(code) for code, level in enumerate(known)}
    result = np.array([np.nan if gone else place.get(label, -1.0) for label, gone in zip(labels, missing)])
    if (result < 0).any():
        r = int(np.argmax(result < 0))
        raise ValueError(f"row {r}, {name}: value {labels[r]!r} is {_not_a_level(known)}")
    return result, known


def segment_labels(segments, rows: int, blank: bool = False) -> Tuple[np.ndarray, List[str]]:
    """An id for each row, and the labels as text: numbers and dates in their order, a Categorical in that of its categories,
    text in order of appearance. With blank, rows may have none: the label of these is empty, and the last."""
    if segments is None:
        return np.zeros(rows, dtype=np.int32), ["1"]
    if isinstance(segments, (str, bytes)):
        raise TypeError(f"segments is {segments!r}; give one label for each row (BinaryICA has segment_column= for the name of a column)")
    categories = getattr(getattr(segments, "cat", segments), "categories", None)
    masked = np.ma.getmaskarray(segments) if isinstance(segments, np.ma.MaskedArray) else False
    values = segments.to_numpy() if hasattr(segments, "to_numpy") else np.asarray(segments)
    if values.ndim == 2 and values.shape[1] == 1:
        values, masked = values[:, 0], masked[:, 0] if masked is not False else False
    if values.ndim != 1 or len(values) != rows:
        raise ValueError(f"segments has shape {values.shape}, X has {rows} rows; give one label for each row")
    if values.dtype.kind == "O":
        absent = np.array([v is None or v != v for v in values.tolist()], dtype=bool)
        if not all(isinstance(v, (int, float, np.number)) for v in values.tolist()):
            values = np.array([_label(v) for v in values], dtype=str)
        else:
            values = np.array(values.tolist())
    else:
        absent = values != values
    absent = absent | masked
    if absent.any() and blank:
        ids, labels = segment_labels(values[~absent], int((~absent).sum()))
        all_ids = np.full(rows, len(labels), dtype=np.int32)
        all_ids[~absent] = ids
        return all_ids, labels + [""]
    if absent.any():
        raise ValueError(f"row {int(np.argmax(absent))} has no segment; drop such rows or give them a segment of their own")
    found, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    labels = [_label(value) for value in found]
    if categories is not None:
        place = {_label(category): at for at, category in enumerate(categories)}
        first = np.array([place[label] for label in labels])
    order = np.arange(len(found)) if categories is None and values.dtype.kind in "biufM" else np.argsort(first)
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


def pack(session: Session, table: Table, segments, order: Optional[List[str]] = None, known_of: Rows = Rows()):
    """The C data object. Its segments are those of the rows, or those that order lists, some of which may have no rows."""
    rows, n = table.shape
    ids, labels = segment_labels(segments, rows)
    if order is not None:
        ids, labels = np.array([order.index(label) for label in labels], dtype=np.int32)[ids], order
    names, kept = c_texts(table.names)
    texts = [table.labels(j) for j in range(n)]
    if all(own == ["0", "1"] for own in texts):
        packer = session.call(lib.blica_pack_begin, n, names, free=lib.blica_packer_free)
    else:
        levels, kept_levels = c_texts([label for own in texts for label in own])
        packer = session.call(lib.blica_pack_begin_items, n, names, [len(own) for own in texts], levels, free=lib.blica_packer_free)
        del kept_levels
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
    data = session.call(lib.blica_pack_end, packer, free=lib.blica_data_free)
    known_of.give(session, data)
    searched = getattr(segments, "searched", None)
    data.segments_found = int(searched is not None and searched.any())
    return data


def data_digest(data) -> bytes:
    """Of packed rows: equal for the same values in the same order, with the same segments, weights, replicates, clusters and
    strata."""
    digest = hashlib.blake2b(digest_size=16)
    names = [ffi.string(name) for name in [*data.variables[0:data.n], *data.segments[0:data.u]]]
    digest.update(repr((names, [data.samples[s] for s in range(data.u)], data.unordered, data.segments_found)).encode())
    for s in range(data.u):
        for bits in (data.ones[s], data.present[s]):
            digest.update(ffi.buffer(bits, 8 * data.words[s] * data.n) if bits else b"-")
    for values, size in ((data.weight, 8 * data.rows), (data.cluster, 4 * data.rows), (data.stratum, 4 * data.rows),
                         (data.replicate, 8 * data.rows * data.replicates),
                         (data.replicate_factor, 8 * data.replicates)):
        digest.update(ffi.buffer(values, size) if values else b"-")
    return digest.digest()
