"""Options come from the library's tables: names, defaults, ranges and help are stated there and nowhere else."""
from __future__ import annotations

import math
import numbers
import os
from typing import Any, Dict, List, NamedTuple, Optional

from ._library import ffi, lib
from ._session import Session, text


class Option(NamedTuple):
    """One row of a table of options."""

    name: str
    type: str
    default: Optional[str]
    choices: List[str]
    help: str
    needs: str


_TYPES = {lib.BLICA_OPT_INT: "int", lib.BLICA_OPT_REAL: "float", lib.BLICA_OPT_TEXT: "str", lib.BLICA_OPT_FLAG: "bool",
          lib.BLICA_OPT_SEED: "int", lib.BLICA_OPT_CHOICE: "str", lib.BLICA_OPT_RANGE: "str"}


def _rows(kind: str):
    count = ffi.new("int *")
    table = getattr(lib, f"blica_{kind}_option_table")(count)
    return [table + i for i in range(count[0])]


def option_table(kind: str) -> List[Option]:
    """The options of a verb, as the library states them.

    >>> [o.default for o in option_table("fit") if o.name == "starts"]
    ['3']
    """
    result = []
    for row in _rows(kind):
        words = [word.split("=")[0] for word in text(row.words).split("|") if word]
        default = text(row.initial) if row.initial else None
        result.append(Option(text(row.name), _TYPES[row.type], default, words, text(row.help), text(row.needs)))
    return result


def document(kind: str, skip=(), names: Optional[Dict[str, str]] = None) -> str:
    """The options as the Parameters part of a docstring; names has those that are called otherwise."""
    lines = []
    for o in option_table(kind):
        if o.name not in skip:
            default = f", default {o.default}" if o.default is not None else ""
            choices = f" or {{{', '.join(o.choices)}}}" if o.choices and o.type != "str" else ""
            kind_text = f"{{{', '.join(o.choices)}}}" if o.choices and o.type == "str" else o.type
            name = (names or {}).get(o.name, o.name)
            needs = f" Needs {o.needs.replace('=', ' ').replace('|', ' or ')}." if o.needs else ""
            lines += [f"    {name} : {kind_text}{choices}{default}", f"        {o.help}{needs}"]
    return "\n".join(lines)


def _spell(name: str, value: Any) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return ",".join(value)
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    raise TypeError(f"option {name}: {value!r} is a {type(value).__name__}; give a number or text")


def make(session: Session, kind: str, values: Dict[str, Any]):
    """The C struct of a verb's options, values set over the defaults; None leaves a default."""
    options = ffi.new(f"blica_{kind}_options *")
    getattr(lib, f"blica_{kind}_options_init")(options, ffi.sizeof(options[0]))
    rows = {text(row.name): row for row in _rows(kind)}
    for name, value in values.items():
        if name not in rows:
            raise TypeError(f"{name!r} is not an option of {kind}; there are {', '.join(rows)}")
        if value is not None:
            spelled = ffi.new("char[]", _spell(name, value).encode())
            session.kept.append(spelled)  # free text, such as the name of a file, is borrowed by the struct
            session.call(lib.blica_option_set, rows[name], options, spelled)
    return options
