"""Coverage of src/ from a build with --coverage that has run its tests: a table by file, the lines never reached on
request, and the shares of lines and branches by folder and of all. A header counts once, a line or branch as reached when
any file that includes it reached it. Usage: coverage.py BUILD [--lines] [--at-least PERCENT] [--table FILE.md]"""
import argparse
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile


def read(build, source):
    """{file: {line: hits}} of all files under src/, and {file: {(line, branch): hits}}, from gcov's intermediate format."""
    notes = [os.path.join(folder, f) for folder, _, files in os.walk(build) for f in files
             if f.endswith(".gcda") and (re.search(r"blica_(objects|generic|avx2|avx512|mpi)\.dir", folder))]
    if not notes:
        sys.exit(f"{build}: no .gcda files; build with the preset coverage and run its tests first")
    hits, branches = collections.defaultdict(dict), collections.defaultdict(dict)
    with tempfile.TemporaryDirectory() as work:
        for i, note in enumerate(notes):
            own = os.path.join(work, str(i))
            os.mkdir(own)
            subprocess.run(["gcov", "--json-format", "--branch-probabilities", os.path.abspath(note)], cwd=own, check=True, capture_output=True)
            for name in os.listdir(own):
                with gzip.open(os.path.join(own, name)) as f:
                    report = json.load(f)
                for file in report["files"]:
                    path = os.path.relpath(os.path.join(report["current_working_directory"], file["file"]), source)
                    if not path.startswith("src/"):
                        continue
                    for line in file["lines"]:
                        at = line["line_number"]
                        hits[path][at] = max(hits[path].get(at, 0), line["count"])
                        for b, branch in enumerate(line.get("branches", [])):
                            branches[path][at, b] = max(branches[path].get((at, b), 0), branch["count"])
    return hits, branches


def table(hits, branches):
    """Rows of folder, lines, share reached, branches, share taken; the last is of all."""
    folders = collections.defaultdict(lambda: [0, 0, 0, 0])
    for path in hits:
        for key in (os.path.dirname(path), "all"):
            for at, counts in ((0, hits[path]), (2, branches[path])):
                folders[key][at] += len(counts)
                folders[key][at + 1] += sum(map(bool, counts.values()))
    for key in sorted(folders, key=lambda k: (k == "all", k)):
        lines, reached, ways, taken = folders[key]
        yield key, lines, 100 * reached / max(lines, 1), ways, 100 * taken / max(ways, 1)


def ranges(lines):
    """1-3, 7 of [1, 2, 3, 7]."""
    out = []
    for line in sorted(lines):
        if out and line == out[-1][1] + 1:
            out[-1][1] = line
        else:
            out.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--lines", action="store_true", help="name the lines that no test reached")
    parser.add_argument("--at-least", type=float, default=0, help="fail below this percentage of lines")
    parser.add_argument("--table", help="write the table by folder to this Markdown file")
    options = parser.parse_args()
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    hits, branches = read(options.build, source)
    reached, lines = 0, 0
    for path in sorted(hits, key=lambda p: sum(map(bool, hits[p].values())) / len(hits[p])):
        own = sum(map(bool, hits[path].values()))
        missed = [line for line, count in hits[path].items() if not count]
        tail = "  " + ranges(missed) if options.lines and missed else ""
        print(f"{100 * own / len(hits[path]):6.1f} %  {own:5} of {len(hits[path]):5}  {path}{tail}")
        reached, lines = reached + own, lines + len(hits[path])
    share = 100 * reached / lines
    rows = ["| folder | lines | reached, % | branches | taken, % |", "|---|---|---|---|---|"]
    rows += [f"| {key} | {n} | {percent:.1f} | {ways} | {taken:.1f} |" for key, n, percent, ways, taken in table(hits, branches)]
    print("\n".join(rows))
    if options.table:
        with open(options.table, "w", encoding="utf-8") as file:
            file.write("# Coverage\n\nLines and branches of `src/` that the tests reach, written by `make coverage`.\n\n" + "\n".join(rows) + "\n")
    if share < options.at_least:
        sys.exit(f"coverage is below {options.at_least:g} %")


if __name__ == "__main__":
    main()
