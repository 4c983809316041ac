"""Dask frames and arrays: each worker packs and counts its partitions, and a tree adds the counts.

Two passes over the partitions: the first finds which values the columns have and which segments there are, the second counts.
Counts are whole numbers, so that their sum does not depend on partitions, workers or the order in which they end.
"""
from __future__ import annotations

import re
from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np

from ._data import Coding, Table, given_levels, is_frame, pack, segment_labels, take_segments
from ._library import ffi, lib
from ._objects import Counts
from ._session import Session

FAN = 8  # counts that a task adds


def is_lazy(x) -> bool:
    return hasattr(x, "__dask_graph__") and hasattr(x, "to_delayed")


class Counted(NamedTuple):
    """The counts of all partitions, and the levels of the items."""

    counts: Counts
    levels: Coding


def empty(x):
    """What an empty partition of x looks like: its columns and their types."""
    if hasattr(x, "columns"):
        return x._meta
    if x.ndim != 2:
        raise ValueError(f"Expected 2D array, got {x.ndim}D array instead: X must have one row per sample and one column per variable")
    return np.empty((0, x.shape[1]), dtype=x.dtype)


def _partitions(x) -> List[Any]:
    """The partitions of a frame, of an array with all columns in each, or of labels."""
    if hasattr(x, "columns") or x.ndim == 1:
        return list(np.ravel(x.to_delayed()))
    return list((x if x.numblocks[1] == 1 else x.rechunk({1: -1})).to_delayed().ravel())


class _Survey(NamedTuple):
    """Of one partition: rows, distinct values of each column, distinct segments in order of appearance."""

    rows: int
    values: Optional[list]
    segments: Any


def _parts(number: int, part, segments, columns: Optional[list]) -> Tuple[Any, Any]:
    """Rows and segments of a partition, whose columns must be those of all."""
    if columns is not None and list(part.columns) != columns:
        raise ValueError(f"partition {number} has the columns {', '.join(map(str, part.columns))}; those of the frame are "
                         f"{', '.join(map(str, columns))}")
    return take_segments(part, segments)


def _survey(number: int, part, segments, columns: Optional[list], look: bool) -> _Survey:
    part, segments = _parts(number, part, segments, columns)
    values = None
    if look:
        values = [part.iloc[:, j].drop_duplicates() if is_frame(part) else np.unique(part[:, j]) for j in range(part.shape[1])]
    if segments is None or not len(part):
        return _Survey(len(part), values, None)
    try:
        segment_labels(segments, len(part))
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from None
    return _Survey(len(part), values, segments.drop_duplicates() if hasattr(segments, "drop_duplicates") else
                   segments[np.sort(np.unique(segments, return_index=True)[1])])


def _count_part(number: int, part, segments, columns: Optional[list], levels: Coding, binarize, missing, order) -> Optional[Counts]:
    part, segments = _parts(number, part, segments, columns)
    if not len(part):
        return None
    session = Session(1)
    try:
        table = Table(part, coding=lambda names: list(levels), binarize=binarize, missing=missing)
        return Counts(session.call(lib.blica_count, pack(session, table, segments, order), free=lib.blica_counts_free))
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from None


def _add(parts: List[Optional[Counts]]) -> Optional[Counts]:
    kept = [part for part in parts if part is not None]
    if len(kept) < 2:
        return kept[0] if kept else None
    pointers = ffi.new("blica_counts *[]", [part._pointer for part in kept])
    return Counts(Session(1).call(lib.blica_merge, len(kept), pointers, free=lib.blica_counts_free))


def _all(columns: List[Any], meta, j: int):
    """The distinct values of column j in all partitions, of the type of the column."""
    if not is_frame(meta):
        return np.unique(np.concatenate(columns))
    import pandas

    found = pandas.concat(columns).drop_duplicates()
    if hasattr(meta.iloc[:, j], "cat") and not hasattr(found, "cat"):
        raise ValueError(f"column {j} ('{meta.columns[j]}') is a Categorical whose categories differ between partitions; "
                         "ddf.categorize() makes them the same")
    return found


def _learn(surveys: List[_Survey], meta, options: dict) -> Coding:
    """The levels of the columns, from a table that has each of their values at least once."""
    found = [_all([one.values[j] for one in surveys if one.rows and one.values], meta, j) for j in range(meta.shape[1])]
    longest = max(map(len, found))
    padded = [column[np.arange(longest) % len(column)] if isinstance(column, np.ndarray) else
              column.iloc[np.arange(longest) % len(column)].reset_index(drop=True) for column in found]
    if is_frame(meta):
        import pandas

        sample = pandas.concat(padded, axis=1)
        sample.columns = meta.columns
    else:
        sample = np.column_stack(padded)
    try:
        return Table(sample, **options).levels
    except ValueError as error:  # a row of the sample is none of the data
        raise ValueError(re.sub(r"^row \d+, ", "", str(error))) from None


def _order(surveys: List[_Survey]) -> Optional[List[str]]:
    """The labels of the segments in the order that they have on one machine."""
    found = [one.segments for one in surveys if one.segments is not None]
    if not found:
        return None
    if not hasattr(found[0], "iloc"):
        return segment_labels(np.concatenate(found), sum(map(len, found)))[1]
    import pandas

    whole = pandas.concat(found)
    return segment_labels(whole, len(whole))[1]


def _sliced(segments, rows: List[int]) -> List[Any]:
    """Labels of all rows, by partition."""
    values = segments if hasattr(segments, "iloc") else np.asarray(segments)
    if len(values) != sum(rows):
        raise ValueError(f"segments has {len(values)} labels, X has {sum(rows)} rows; give one label for each row")
    ends = np.cumsum([0] + rows)
    return [values.iloc[a:b] if hasattr(values, "iloc") else values[a:b] for a, b in zip(ends, ends[1:])]


def count(x, segments, *, binarize=None, ordinal: bool = False, levels=None, missing=None, numeric=None) -> Counted:
    """The counts of a Dask frame or array, by the scheduler that is active: that of a distributed.Client, else threads."""
    import dask

    if numeric is not None:
        raise ValueError('numeric= is not for Dask, as quantiles need all rows; give the cuts, as in levels={"income": ["-Inf", 1000, 5000]}')
    meta, parts = empty(x), _partitions(x)
    columns = list(meta.columns) if is_frame(meta) else None
    by_row = segments is not None and not isinstance(segments, str) and not is_lazy(segments)
    if is_lazy(segments):
        labels = _partitions(segments)
        if len(labels) != len(parts):
            raise ValueError(f"segments has {len(labels)} partitions, X has {len(parts)}; give the name of a column, or labels with the "
                             "same partitions")
    else:
        labels = [None if by_row else segments] * len(parts)
    items, _ = take_segments(meta, segments) if isinstance(segments, str) else (meta, None)
    names = [str(name) for name in items.columns] if is_frame(items) else None
    given = given_levels(levels, names, items.shape[1])
    look = binarize is None and any(own is None for own in given)
    survey, count_part, add = (dask.delayed(f) for f in (_survey, _count_part, _add))
    surveys = list(dask.compute(*[survey(i, part, labels[i], columns, look) for i, part in enumerate(parts)]))
    if not any(one.rows for one in surveys):
        raise ValueError("there are no rows")
    if look:
        given = _learn(surveys, items, {"binarize": binarize, "ordinal": ordinal, "levels": levels, "missing": missing})
    if by_row:
        labels = _sliced(segments, [one.rows for one in surveys])
        order: Optional[List[str]] = segment_labels(segments, sum(one.rows for one in surveys))[1]
    else:
        order = _order(surveys)
    first = next(i for i, one in enumerate(surveys) if one.rows)  # has all segments, which sets their order
    tree = [count_part(i, part, labels[i], columns, given, binarize, missing, order if i == first else None)
            for i, part in enumerate(parts)]
    while len(tree) > 1:
        tree = [add(tree[i:i + FAN]) for i in range(0, len(tree), FAN)]
    return Counted(dask.compute(tree[0])[0], given)
