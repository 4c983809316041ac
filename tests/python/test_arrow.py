"""Objects that give their table as an Arrow C stream: here one of ours, by the letter of the specification."""
import ctypes
import errno

import numpy as np
import pandas as pd
import pytest

import blica


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


RELEASE_SCHEMA, RELEASE_ARRAY, RELEASE_STREAM = (ctypes.CFUNCTYPE(None, ctypes.POINTER(kind)) for kind in (Schema, Array, Stream))
GET_SCHEMA, GET_NEXT = (ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(kind)) for kind in (Schema, Array))
LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))
NUMBER = ctypes.c_int64
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", NUMBER),
                   ("n_children", NUMBER), ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
                   ("release", RELEASE_SCHEMA), ("private_data", ctypes.c_void_p)]
Array._fields_ = [("length", NUMBER), ("null_count", NUMBER), ("offset", NUMBER), ("n_buffers", NUMBER), ("n_children", NUMBER),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
                  ("dictionary", ctypes.POINTER(Array)), ("release", RELEASE_ARRAY), ("private_data", ctypes.c_void_p)]
Stream._fields_ = [("get_schema", GET_SCHEMA), ("get_next", GET_NEXT), ("get_last_error", LAST_ERROR), ("release", RELEASE_STREAM),
                   ("private_data", ctypes.c_void_p)]


class Table:
    """Columns of int64 with nulls where they are NaN, in chunks; fail names the chunk that cannot be read."""

    def __init__(self, frame, size=100, fail=None):
        self.frame, self.size, self.fail, self.at, self.kept, self.released = frame, size, fail, 0, [], 0

    def _release(self, pointer):
        pointer.contents.release = type(pointer.contents.release)()
        self.released += 1

    def __arrow_c_stream__(self, requested_schema=None):
        let_go = {kind: kind(self._release) for kind in (RELEASE_SCHEMA, RELEASE_ARRAY, RELEASE_STREAM)}

        def schema(stream, out):
            kids = [Schema(format=b"l", name=name.encode(), release=let_go[RELEASE_SCHEMA]) for name in self.frame.columns]
            list_ = (ctypes.POINTER(Schema) * len(kids))(*map(ctypes.pointer, kids))
            self.kept += [kids, list_]
            out[0] = Schema(format=b"+s", name=b"", n_children=len(kids), children=list_, release=let_go[RELEASE_SCHEMA])
            return 0

        def column(values):
            numbers = np.nan_to_num(values).astype(np.int64)
            bits = np.packbits(~np.isnan(values), bitorder="little")
            buffers = (ctypes.c_void_p * 2)(bits.ctypes.data, numbers.ctypes.data)
            self.kept += [numbers, bits, buffers]
            return Array(length=len(values), null_count=-1, n_buffers=2, buffers=buffers, release=let_go[RELEASE_ARRAY])

        def chunk(stream, out):
            if self.fail is not None and self.at >= self.fail * self.size:
                return errno.EIO
            part = self.frame.iloc[self.at:self.at + self.size]
            out[0] = Array()
            if len(part):
                kids = [column(part[name].to_numpy(float)) for name in part]
                list_ = (ctypes.POINTER(Array) * len(kids))(*map(ctypes.pointer, kids))
                none = (ctypes.c_void_p * 1)(None)
                self.kept += [kids, list_, none]
                out[0] = Array(length=len(part), n_buffers=1, n_children=len(kids), buffers=none, children=list_, release=let_go[RELEASE_ARRAY])
            self.at += len(part)
            return 0

        calls = [GET_SCHEMA(schema), GET_NEXT(chunk), LAST_ERROR(lambda stream: b"the disk is on fire")]
        stream = Stream(*calls, let_go[RELEASE_STREAM])
        self.kept += [let_go, calls, stream]
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(stream), b"arrow_array_stream", None)


@pytest.fixture(scope="module")
def frame():
    drawn = blica.simulate(variables=5, sources=2, segments=6, samples=100, seed=3)
    made = pd.DataFrame(drawn.X.astype(float), columns=list("abcde")).assign(wave=[int(s) for s in drawn.segments])
    made.loc[::7, "b"] = np.nan
    return made


def test_the_model_is_that_of_the_frame(frame):
    table = Table(frame, 130)
    model, near = blica.fit(table, "wave", sources=2), blica.fit(frame, "wave", sources=2)
    assert (model.mixing == near.mixing).all() and model.segments == near.segments and model.variables == near.variables
    assert table.released > 1
    levels = blica.count(Table(frame.assign(a=frame.a + 2 * frame.c)), "wave", ordinal=True)
    assert levels.variables[:3] == ["a[0<1<2<3]>=1", "a[0<1<2<3]>=2", "a[0<1<2<3]>=3"]


def test_errors(frame):
    with pytest.raises(OSError, match="the disk is on fire \\(error 5\\)"):
        blica.count(Table(frame, 100, fail=3), "wave")
    with pytest.raises(ValueError, match="no column 'term'"):
        blica.count(Table(frame), "term")
    with pytest.raises(ValueError, match="column 'a' has 4 different values"):
        blica.count(Table(frame.assign(a=frame.a + 2 * frame.c)), "wave")
    with pytest.raises(ValueError, match="levels= is not for Arrow streams"):
        blica.count(Table(frame), "wave", levels=[0, 1])
    with pytest.raises(TypeError, match="a column of it"):
        blica.count(Table(frame), frame["wave"])
