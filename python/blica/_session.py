"""One call into the library: its context, its errors as exceptions, its warnings, progress and Ctrl-C."""
from __future__ import annotations

import os
import re
import sys
import threading
import time
import warnings
from typing import Any, Callable, Dict, Optional, Union

from ._library import ffi, lib

Verbose = Union[int, bool, Callable[[Dict[str, Any]], Any]]
_current = threading.local()  # session: the one whose call is running in this thread; ranks: what this thread works for (_cluster.py)


class BlicaWarning(UserWarning):
    """A warning of the library: the result is there, but something about it should be known."""


class NumericalError(ArithmeticError):
    """A numerical method broke down."""


def text(value) -> str:
    """A C string as str; empty for NULL. Bytes that are not UTF-8 come through, as in names of files."""
    return ffi.string(value).decode(errors="surrogateescape") if value else ""


def message_text(value) -> str:
    """A C string to be shown: what is not UTF-8 is replaced, so that it can be printed anywhere."""
    return ffi.string(value).decode(errors="replace") if value else ""


def encoded(value: str) -> bytes:
    """The bytes of a name or label."""
    if "\0" in value:
        raise ValueError(f"{value!r} has a zero character; names and labels cannot have one")
    return value.encode(errors="surrogateescape")


_EXCEPTIONS = {
    lib.BLICA_ERR_MEMORY: MemoryError,
    lib.BLICA_ERR_ARGUMENT: ValueError,
    lib.BLICA_ERR_DATA: ValueError,
    lib.BLICA_ERR_IO: OSError,
    lib.BLICA_ERR_FORMAT: ValueError,
    lib.BLICA_ERR_NUMERIC: NumericalError,
    lib.BLICA_ERR_INTERRUPTED: KeyboardInterrupt,
    lib.BLICA_ERR_INTERNAL: RuntimeError,
}


class Session:
    """A context of the library, for the calls of one function. ``check(status)`` turns failures into exceptions.

    Every call of the library releases the interpreter lock. The poll callback takes it again now and then, which is
    when Python runs its signal handlers: a Ctrl-C ends the call and is raised as KeyboardInterrupt.
    """

    def __init__(self, threads: Optional[int] = None, verbose: Verbose = 0, names: Optional[Dict[str, str]] = None):
        self._names = names or {}  # what the caller's user calls some options, in errors
        self.error: Optional[BaseException] = None
        self.verbose = verbose
        self.span = (0.0, 1.0)  # which part of the work the next call is
        self._printed = 0.0
        self._warnings: list = []
        self.kept: list = []  # what structs of the library borrow
        out = ffi.new("blica_ctx **")
        if lib.blica_ctx_create(out) != lib.BLICA_OK:
            raise MemoryError("no memory for a context of the library")
        self.ctx = ffi.gc(out[0], lib.blica_ctx_free)
        self._handle = ffi.new_handle(self)
        lib.blica_set_threads(self.ctx, _threads(threads))
        lib.blica_set_poll(self.ctx, lib.blica_python_poll, self._handle)
        lib.blica_set_warn(self.ctx, lib.blica_python_warn, self._handle)
        self._ranks = getattr(_current, "ranks", None)
        if self._ranks is not None:
            lib.blica_set_comm(self.ctx, self._ranks.comm)

    def call(self, function, *arguments, free=None, keeps=False):
        """Calls function(ctx, *arguments, out) and returns *out, owned; or function(ctx, *arguments) without free. keeps: what the
        function returns after a Ctrl-C is a result, of which it warns."""
        before = getattr(_current, "session", None)
        _current.session = self
        try:
            if free is None:
                status, result = function(self.ctx, *arguments), None
            else:
                out = ffi.new(ffi.typeof(function).args[-1])
                status = function(self.ctx, *arguments, out)
                result = ffi.gc(out[0], free) if out[0] else None
        finally:
            _current.session = before
        if keeps and status == lib.BLICA_OK and isinstance(self.error, KeyboardInterrupt):
            self.error = None
        self._finish(status)
        return result

    def _finish(self, status: int) -> None:
        error, self.error = self.error, None
        if error is not None:
            raise error
        pending, self._warnings = self._warnings, []
        if status != lib.BLICA_OK:
            raise _EXCEPTIONS.get(status, RuntimeError)(self._renamed(message_text(lib.blica_message(self.ctx))))
        if self._ranks is not None:
            self._ranks.warned += pending
            return
        for message in pending:
            warnings.warn(message, BlicaWarning, stacklevel=4)

    def _renamed(self, message: str) -> str:
        for ours, theirs in self._names.items():
            message = re.sub(rf"^(option )?{ours}(?=:| is )", rf"\g<1>{theirs}", message)
        return message

    def poll(self, progress) -> int:
        if self._ranks is not None and not self._ranks.go_on():
            return 1
        if not self.verbose:
            return 0
        low, high = self.span
        fraction = low + (high - low) * progress.fraction if progress.fraction >= 0 else progress.fraction
        state = {"stage": text(progress.stage), "fraction": fraction, "objective": progress.objective,
                 "start": progress.start, "iteration": progress.iteration}
        if callable(self.verbose):
            return 1 if self.verbose(state) is False else 0
        now = time.monotonic()
        if now - self._printed >= (0.5 if int(self.verbose) == 1 else 0.05):
            self._printed = now
            sys.stderr.write(_progress_line(state))
        return 0


def _progress_line(state: Dict[str, Any]) -> str:
    if state["stage"] == "fit":
        return (f"[blica] fit: start {state['start'] + 1}, iteration {state['iteration']}, "
                f"best objective {state['objective']:.10g}\n")
    done = f" {100 * state['fraction']:.0f} %" if state["fraction"] >= 0 else ""
    return f"[blica] {state['stage']}{done}\n"


def _threads(threads: Optional[int]) -> int:
    """0 is all cores; negative numbers count back from them, as joblib has it."""
    if threads is None:
        return 0
    if isinstance(threads, bool) or not hasattr(threads, "__index__"):
        raise TypeError(f"the number of threads is {threads!r}; give a whole number or None")
    threads = int(threads)
    if threads == 0:
        raise ValueError("the number of threads is 0; give 1 or more, -1 for all cores, or None")
    return threads if threads > 0 else max(1, (os.cpu_count() or 1) + 1 + threads)


def _remember(kind, value, trace) -> None:
    session = getattr(_current, "session", None)
    if session is not None and session.error is None:
        session.error = value if value is not None else kind()


@ffi.def_extern(error=1, onerror=_remember)
def blica_python_poll(progress, user):
    return ffi.from_handle(user).poll(progress)


@ffi.def_extern(onerror=_remember)
def blica_python_warn(message, user):
    ffi.from_handle(user)._warnings.append(message_text(message))
