import pathlib

from setuptools import setup

here = pathlib.Path(__file__).resolve().parent
version = (here.parent / "VERSION").read_text().strip()

setup(
    name="blica",
    version=version,
    description="Independent component analysis of binary data",
    long_description=(here / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="MIT",
    packages=["blica"],
    package_data={"blica": ["py.typed", "*.pyi"]},
    python_requires=">=3.9",
    install_requires=["numpy", "cffi"],
    extras_require={"sklearn": ["scikit-learn"], "plot": ["matplotlib"]},
    setup_requires=[],
    cffi_modules=["build_ffi.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
    zip_safe=False,
)
