#!/usr/bin/env python3
"""Checks the architecture of src/ by its object files and includes, and prints what breaks it (exit 1).

    tests/architecture.py SOURCE BUILD

- no file of src/ calls, directly or by way of others, a file that calls it back;
- calls and includes between folders point one way, in the order of FOLDERS from the top down;
- private headers (PRIVATE) are included in the folders that they belong to only (tests may);
- counts, correlations, data, models and files know nothing of ranks: their folders neither include base/split.h nor call
  bl_comm; of src/files, only RANKS_READ may, where rank 0 reads a checkpoint for all;
- a file calls rivals/ only if it is there or is the table of methods, and names of methods are compared in that table only;
- BLAS and LAPACK are called by their Fortran names, through src/num/linear/blas.h: nothing needs CBLAS or LAPACKE;
- no folder of src/ has more than FOLDER_MOST files;
- the files that ARCHITECTURE.md walks through are there; its walks visit none twice, and what a walk visits in src/ is called
  from an earlier stop of it;
- what a file of src/ exports is used by another file of src/, or by the program; FOR_TESTS lists the exceptions.
"""
import collections
import os
import re
import subprocess
import sys

# rivals stands beside estimate: its methods are rows of the table in METHODS, and they use the drivers of estimate.
BESIDE = {"rivals": "estimate"}
METHODS = "src/estimate/method.c"
FOLDERS = ["segment", "inference", "estimate", "likelihood", "ranks", "model", "cor", "counts", "data", "num", "files", "base"]
WITHOUT_RANKS = {"model", "cor", "counts", "data", "files"}
RANKS_READ = "src/files/stage.c"
PRIVATE = {"base/ctx.h": ("base", "files"), "files/checkpoint.h": ("files",)}
LARGEST_CYCLE = 1
FOLDER_MOST = 24
USERS = ("src", "cli", "report", "experiments")
FOR_TESTS = {
    "bl_count_kernel_at": "every counting kernel that the machine can run is compared with a loop",
    "bl_identify": "both ways to the rank are compared at the same model",
    "bl_ivae_noise_set": "published losses belong to published noise",
}


def read_objects(source, build):
    """defines[symbol] = file of src/, needs[file] = {symbols}, for the C files of USERS that are still there."""
    defines, needs = {}, collections.defaultdict(set)
    for folder, _, names in os.walk(build):
        for name in names:
            found = re.search(r"\.dir/((?:%s)/.*\.c)\.o$" % "|".join(USERS), os.path.join(folder, name))
            if not found or not os.path.exists(os.path.join(source, found.group(1))):
                continue
            listing = subprocess.run(["nm", os.path.join(folder, name)], capture_output=True, text=True, check=True)
            for line in listing.stdout.splitlines():
                *_, kind, symbol = line.split()
                if kind in "TDRBV" and found.group(1).startswith("src/"):
                    defines[symbol] = found.group(1)
                elif kind == "U":
                    needs[found.group(1)].add(symbol)
    return defines, needs


def calls_of(defines, needs):
    """calls[file] = {file: [symbols]} between the C files of src/."""
    calls = {file: collections.defaultdict(list) for file in set(defines.values()) | set(needs) if file.startswith("src/")}
    for file, targets in calls.items():
        for symbol in sorted(needs[file]):
            if defines.get(symbol, file) != file:
                targets[defines[symbol]].append(symbol)
    return calls


def check_used(defines, needs):
    used = set().union(*needs.values())
    for symbol, file in sorted(defines.items()):
        if symbol.startswith("bl_") and symbol not in used and symbol not in FOR_TESTS:
            yield f"{file} exports {symbol}, which no other file uses: make it static, or delete it"
    for symbol in FOR_TESTS:
        if symbol not in defines or symbol in used:
            yield f"{symbol} need not be in FOR_TESTS"


# C interfaces, and single precision, which the BLAS that R brings has not.
NOT_IN_EVERY_BLAS = re.compile(r"cblas_|LAPACKE_|[sc](gemm|gemv|syrk|symv|axpy|dot|trsm)_$")


def check_blas(needs):
    for file, symbols in sorted(needs.items()):
        for symbol in sorted(s for s in symbols if NOT_IN_EVERY_BLAS.match(s)):
            yield f"{file} calls {symbol}: not every BLAS has it; take the function of that name in src/num/linear/blas.h"


def check_ranks(needs):
    for file, symbols in sorted(needs.items()):
        if file.startswith("src/") and folder_of(file) in WITHOUT_RANKS and file != RANKS_READ and "bl_comm" in symbols:
            yield f"{file} calls bl_comm: src/{folder_of(file)} knows nothing of ranks"


def components(graph):
    """Strongly connected components (Tarjan, Depth-first search and linear graph algorithms, 1972)."""
    index, low, stack, out = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            out.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for node in graph:
        if node not in index:
            visit(node)
    return out


def folder_of(path):
    return path.split("/")[1]


def against(user, used):
    user, used = BESIDE.get(user, user), BESIDE.get(used, used)
    return user in FOLDERS and used in FOLDERS and FOLDERS.index(used) < FOLDERS.index(user)


def check_calls(calls):
    for cycle in components(calls):
        if len(cycle) > LARGEST_CYCLE:
            yield f"a cycle of {len(cycle)} files: {' '.join(cycle)}"
    for file, targets in calls.items():
        for target, symbols in targets.items():
            if against(folder_of(file), folder_of(target)):
                yield f"{file} calls {', '.join(symbols)} of {target}, against the direction"
            if folder_of(target) == "rivals" and folder_of(file) != "rivals" and file != METHODS:
                yield f"{file} calls {', '.join(symbols)} of {target}, which only {METHODS} may"


def includes(source, top):
    for folder, _, names in os.walk(os.path.join(source, top)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as text:
                    for header in re.findall(r'^ *# *include "([^"]+)"', text.read(), re.M):
                        yield os.path.relpath(path, source), header


def check_includes(source):
    for file, header in includes(source, "src"):
        if folder_of(file) in WITHOUT_RANKS and file != RANKS_READ and header in ("base/split.h", "blica_ranks.h"):
            yield f"{file} includes {header}: src/{folder_of(file)} knows nothing of ranks"
        if "/" in header and against(folder_of(file), header.split("/")[0]):
            yield f"{file} includes {header}, against the direction"
    for top in ("src", "cli", "report", "experiments"):
        for file, header in includes(source, top):
            if header in PRIVATE and not (file.startswith("src/") and folder_of(file) in PRIVATE[header]):
                yield f"{file} includes {header}, which is private to {' and '.join(PRIVATE[header])}"


def check_method_names(source):
    """A method is a row of the table: what others must know of it is a column, and no name is compared elsewhere."""
    with open(os.path.join(source, METHODS), encoding="utf-8") as text:
        names = re.findall(r"^  ROW\((\w+),", text.read(), re.M)
    if len(names) < 2:
        yield f"{METHODS}: the rows of the table are not found"
    compared = re.compile(r'str(?:n|case|ncase)?cmp\([^;]*"(?:%s)"' % "|".join(names))
    for folder, _, files in os.walk(os.path.join(source, "src")):
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), source)
            if path == METHODS or not name.endswith((".c", ".h")):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as text:
                for line, content in enumerate(text, 1):
                    if compared.search(content):
                        yield f"{path}:{line} compares the name of a method: make it a column of the table in {METHODS}"


def check_sizes(source):
    """A folder of src/ holds at most FOLDER_MOST files, headers counted: what one can keep in the head."""
    for folder, _, files in os.walk(os.path.join(source, "src")):
        count = sum(name.endswith((".c", ".h")) for name in files)
        if count > FOLDER_MOST:
            yield f"{os.path.relpath(folder, source)} has {count} files, more than {FOLDER_MOST}"


def walks(source):
    """For each walk in ARCHITECTURE.md, its title and the files that it names, in order."""
    with open(os.path.join(source, "ARCHITECTURE.md"), encoding="utf-8") as text:
        section = text.read().split("## Three walks")[1].split("\n## ")[0]
    for walk in re.split(r"\n(?=\*\*)", section)[1:]:
        files, folder = [], ""
        for name in re.findall(r"`([\w./]+\.(?:c|py))`", walk):
            folder = os.path.dirname(name) or folder
            files.append(os.path.join(folder, os.path.basename(name)))
        yield walk.split("\n")[0], files


def check_walks(source, defines, needs):
    for title, files in walks(source):
        for at, file in enumerate(files):
            if not os.path.exists(os.path.join(source, file)):
                yield f"ARCHITECTURE.md, {title}: there is no {file}"
            if file in files[:at]:
                yield f"ARCHITECTURE.md, {title}: visits {file} twice"
            own = {symbol for symbol, where in defines.items() if where == file}
            callers = [caller for caller in files[:at] if not caller.endswith(".c") or needs[caller] & own]
            if file.startswith("src/") and at and not callers:
                yield f"ARCHITECTURE.md, {title}: no earlier stop calls {file}"


def main():
    source, build = sys.argv[1:]
    defines, needs = read_objects(source, build)
    calls = calls_of(defines, needs)
    if len(calls) < 50 or not any(calls.values()):
        sys.exit(f"{build} has the objects of {len(calls)} files of src/ only: build it first")
    unknown = {folder_of(file) for file in calls} - set(FOLDERS) - set(BESIDE)
    bad = [f"folder src/{name} has no place in the order" for name in sorted(unknown)]
    bad += list(check_calls(calls)) + list(check_includes(source)) + list(check_used(defines, needs)) + list(check_ranks(needs)) + list(check_blas(needs))
    bad += list(check_sizes(source)) + list(check_walks(source, defines, needs)) + list(check_method_names(source))
    print("\n".join(bad) if bad else f"{len(calls)} files in order")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
