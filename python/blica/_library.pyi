"""The extension module that cffi makes from blica.h."""
from typing import Any

ffi: Any
lib: Any
