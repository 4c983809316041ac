"""Builds blica._library: libblica compiled into an extension module.

The declarations are those of include/blica.h, read at build time, so that the package cannot drift from the library.
The library itself is either the static one named by the environment variable BLICA_LIBRARY, or it is built here by
CMake from the same checkout with the release preset: the same flags, hence the same doubles as the program's.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sysconfig

from cffi import FFI

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
LINKED = ["openblas", "lapacke", "jansson", "libzip"]


def declarations(header: str) -> str:
    """blica.h less what cffi cannot read: comments, preprocessor lines, inline functions, linkage."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    text = re.sub(r"static inline [^{]*\{.*?\}", "", text, flags=re.S)
    return text.replace("BLICA_API ", "")


def library() -> str:
    """The static library, built if it has to be."""
    given = os.environ.get("BLICA_LIBRARY")
    if given:
        if not pathlib.Path(given).is_file():
            raise SystemExit(f"BLICA_LIBRARY is {given}, which is not a file; give the path of libblica.a")
        return given
    if not (ROOT / "CMakeLists.txt").is_file():
        raise SystemExit(f"the sources of libblica are not in {ROOT}: install from a checkout (pip install ./python), "
                         "or set BLICA_LIBRARY to libblica.a")
    build = HERE / "build" / "libblica"
    subprocess.run(["cmake", "--preset", "release", "-B", str(build), "-DBLICA_TESTS=OFF", "-DBLICA_MPI=OFF", "-Wno-dev"],
                   cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", str(build), "--target", "blica_static"], check=True)
    return str(build / "libblica.a")


def pkg_config(what: str) -> list:
    return shlex.split(subprocess.run(["pkg-config", what, *LINKED], check=True, stdout=subprocess.PIPE, text=True).stdout)


CALLBACKS = """
extern "Python" int blica_python_poll(const blica_progress *progress, void *user);
extern "Python" void blica_python_warn(const char *text, void *user);
"""

ffi = FFI()
ffi.cdef(declarations((ROOT / "include" / "blica.h").read_text()) + CALLBACKS)
ffi.set_source(
    "blica._library",
    '#include "blica.h"',
    include_dirs=[str(ROOT / "include")],
    extra_objects=[library()],
    extra_link_args=[*pkg_config("--libs"), "-fopenmp", "-lm", "-lpthread"],
    py_limited_api=not sysconfig.get_config_var("Py_DEBUG"),
)

if __name__ == "__main__":
    ffi.compile(verbose=True)
