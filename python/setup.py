"""Builds the package: metadata stand in pyproject.toml, the extension module in build_ffi.py."""
import pathlib
import shutil
import sys

import cffi  # noqa: F401  without it setuptools would leave the extension out and say nothing
from setuptools import setup
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
CARRIED = HERE / "libblica"  # the sources of the library, in an sdist
TOP = CARRIED if CARRIED.is_dir() else HERE.parent
SOURCES = ["CMakeLists.txt", "VERSION", "LICENSE", "cmake", "include", "src"]


class SourceDistribution(sdist):
    """An sdist that carries the sources of libblica, so that it builds without the checkout."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        target = pathlib.Path(base_dir)
        (target / "libblica").mkdir(exist_ok=True)
        for name in SOURCES:
            copy = shutil.copytree if (TOP / name).is_dir() else shutil.copy
            copy(TOP / name, target / "libblica" / name)
        for name in ("build_ffi.py", "README.md"):
            shutil.copy(HERE / name, target / name)


BUILDS = not {"sdist", "egg_info", "dist_info"} & set(sys.argv)  # those need no library yet

setup(
    version=(TOP / "VERSION").read_text().strip(),
    cffi_modules=["build_ffi.py:ffi"] if BUILDS else [],
    cmdclass={"sdist": SourceDistribution},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
