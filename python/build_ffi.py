"""Builds blica._library: libblica compiled into an extension module.

The declarations are those of the headers in include/, read at build time, so that the package cannot drift from the library.
The library itself is either the static one named by the environment variable BLICA_LIBRARY (in the folder where CMake built
it), or it is built here by CMake with the flags of the release preset: the same doubles as the program's.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sysconfig

from cffi import FFI

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE / "libblica" if (HERE / "libblica").is_dir() else HERE.parent  # in an sdist, in a checkout


def declarations(header: str) -> str:
    """A header less what cffi cannot read: comments, preprocessor lines, inline functions, linkage."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    text = re.sub(r"^BLICA_OPTIONS\((\w+)\)$", r"const blica_option *blica_\1_option_table(int *count);\n"
                  r"void blica_\1_options_init(blica_\1_options *options, size_t size);", text, flags=re.M)
    text = re.sub(r"^#define (.*\\\n)*.*$", "", text, flags=re.M)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    text = re.sub(r"static inline [^{]*\{.*?\}", "", text, flags=re.S)
    return text.replace("BLICA_API ", "")


def run(*command: str) -> str:
    """Output of a command; a missing one ends the build with what to install."""
    if shutil.which(command[0]) is None:
        raise SystemExit(f"blica: there is no program {command[0]}, which is needed to build libblica; install a C compiler, cmake, "
                         "pkg-config, OpenBLAS and zlib (Debian: gcc cmake make pkg-config "
                         "libopenblas-dev zlib1g-dev)")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"blica: {shlex.join(command)} failed:\n{done.stdout}")
    return done.stdout


def library() -> pathlib.Path:
    """The static library, built if it has to be."""
    given = os.environ.get("BLICA_LIBRARY")
    if given:
        if not pathlib.Path(given).is_file():
            raise SystemExit(f"BLICA_LIBRARY is {given}, which is not a file; give the path of libblica.a")
        return pathlib.Path(given)
    if not (ROOT / "CMakeLists.txt").is_file():
        raise SystemExit(f"the sources of libblica are not in {ROOT}: install from a checkout (pip install ./python) or from an sdist, "
                         "or set BLICA_LIBRARY to libblica.a")
    build = HERE / "build" / "libblica"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run("cmake", *generator, "-S", str(ROOT), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O3", "-DBLICA_CLI=OFF",
        "-DBLICA_TESTS=OFF", "-DBLICA_MPI=OFF", "-Wno-dev")
    run("cmake", "--build", str(build), "--target", "blica_static", "--parallel", str(os.cpu_count() or 1))
    return build / "libblica.a"


def link_flags(archive: pathlib.Path) -> list:
    """What libblica.a needs, from the pkg-config file beside it."""
    fields = dict(line.split(": ", 1) for line in (archive.parent / "blica.pc").read_text().splitlines() if ": " in line)
    libraries = run("pkg-config", "--libs", *fields["Requires.private"].split())
    return shlex.split(libraries) + shlex.split(fields["Libs.private"])


CALLBACKS = """
extern "Python" int blica_python_poll(const blica_progress *progress, void *user);
extern "Python" void blica_python_warn(const char *text, void *user);
extern "Python" int blica_python_sum(double *x, size_t count, void *user);
extern "Python" int blica_python_gather(double *x, const size_t *count, const size_t *offset, void *user);
extern "Python" int blica_python_broadcast(void *bytes, size_t count, int root, void *user);
"""

archive = library()
ffi = FFI()
headers = "".join((ROOT / "include" / name).read_text() for name in ("blica.h", "blica_conclusions.h", "blica_options.h", "blica_ranks.h"))
ffi.cdef(declarations(headers) + CALLBACKS)
ffi.set_source(
    "blica._library",
    '#include "blica_ranks.h"',
    include_dirs=[str(ROOT / "include")],
    extra_objects=[str(archive)],
    extra_link_args=link_flags(archive),
    py_limited_api=not sysconfig.get_config_var("Py_DEBUG"),
)

if __name__ == "__main__":
    ffi.compile(verbose=True)
