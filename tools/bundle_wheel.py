#!/usr/bin/python3
"""Puts the shared libraries that a wheel needs into it: bundle_wheel.py WHEEL FOLDER writes a wheel for any Linux into FOLDER.

Every library that is not part of the system's C library is copied into blica.libs under a name of its own (with a digest of its
content, so that it cannot meet another of the same name in one process), and the extension module looks for it there. The name
of the new wheel tells the oldest glibc that has all symbols (PEP 600). Needs ldd, objdump and patchelf.
"""
import base64
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|gcc_s))\.so")


def output(*command) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def needed(file: pathlib.Path) -> dict:
    """Names and paths of the libraries that the loader finds for a file, and for those in turn."""
    lines = output("ldd", str(file))
    if "not found" in lines:
        raise SystemExit(f"a library of {file.name} is missing:\n{lines}")
    pairs = re.findall(r"^\s*(\S+) => (/\S+)", lines, flags=re.M)
    return {name: pathlib.Path(path).resolve() for name, path in pairs if not SYSTEM.match(name)}


def bundle(module: pathlib.Path, folder: pathlib.Path) -> list:
    libraries = needed(module)
    folder.mkdir()
    names = {}
    for name, path in libraries.items():
        stem, ending = name.split(".so", 1)
        names[name] = f"{stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.so{ending}"
        shutil.copy(path, folder / names[name])
    for file in [module, *(folder / name for name in names.values())]:
        direct = output("patchelf", "--print-needed", str(file)).split()
        for old in direct:
            if old in names:
                subprocess.run(["patchelf", "--replace-needed", old, names[old], str(file)], check=True)
        if file != module:
            subprocess.run(["patchelf", "--set-soname", file.name, str(file)], check=True)
        path = "$ORIGIN/../blica.libs" if file == module else "$ORIGIN"
        subprocess.run(["patchelf", "--set-rpath", path, str(file)], check=True)
    return [module, *(folder / name for name in names.values())]


def oldest_glibc(files) -> str:
    versions = {tuple(map(int, v.split("."))) for file in files for v in re.findall(r"GLIBC_(\d+\.\d+)", output("objdump", "-T", str(file)))}
    return "_".join(map(str, max(versions)[:2]))


def write_record(tree: pathlib.Path) -> None:
    info = next(tree.glob("*.dist-info"))
    lines = []
    for file in sorted(p for p in tree.rglob("*") if p.is_file() and p != info / "RECORD"):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
        lines.append(f"{file.relative_to(tree)},sha256={digest},{file.stat().st_size}")
    (info / "RECORD").write_text("\n".join([*lines, f"{info.name}/RECORD,,"]) + "\n")


def main(wheel: pathlib.Path, target: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tree)
        files = bundle(next(tree.glob("blica/_library*.so")), tree / "blica.libs")
        machine = re.search(r"-linux_(\w+)$", wheel.stem)
        if not machine:
            raise SystemExit(f"{wheel.name} is not a wheel for linux as pip makes it")
        tag = f"manylinux_{oldest_glibc(files)}_{machine.group(1)}"
        info = next(tree.glob("*.dist-info/WHEEL"))
        info.write_text(re.sub(r"-linux_\w+", "-" + tag, info.read_text()))
        write_record(tree)
        target.mkdir(parents=True, exist_ok=True)
        result = target / re.sub(r"-linux_\w+\.whl$", f"-{tag}.whl", wheel.name)
        with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(p for p in tree.rglob("*") if p.is_file()):
                archive.write(file, file.relative_to(tree))
        print(f"{result.name}: {result.stat().st_size / 1e6:.1f} MB, with {', '.join(sorted(f.name for f in files[1:]))}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: bundle_wheel.py WHEEL FOLDER")
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
