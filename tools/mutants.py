#!/usr/bin/env python3
"""Small bugs put in one at a time: do the tests notice?

    mutants.py [--check] [--only REGEX] [--write FILE]

Each mutant (mutants_table.py) is an exact replacement in one file, and the tests that should fail with it. A copy of
the tracked files is kept in build/mutants, so that a mutant compiles one file and links the tests named for it; those
are run, each process for at most CPU_SECONDS of processor time, however busy the machine is. A mutant whose tests all
pass has survived. --check only looks for the texts to be replaced; --only takes the mutants whose number, file or text
matches; --write puts the figures of a complete run into the row of a Markdown table. Exit 1 when fewer than 95 % are
killed, when a text is not found, or when a mutant does not compile."""
import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

from mutants_table import MUTANTS

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build/mutants"
BUILD = TREE / "build/release"
LEAST = 0.95
CPU_SECONDS, WALL_SECONDS = 120, 900
PATIENCE = 100  # seconds after which the tests take a process for hanging
LEVELS = {"correlate_levels.c", "item_scales.c", "coding.c", "level_tables.c", "level_scores.c", "pairwise_levels.c"}
ROW = "Do the tests notice defects?"


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    return [os.fsdecode(n) for n in filter(None, listed.split(b"\0")) if (ROOT / os.fsdecode(n)).is_file()]


def locate(files, name, text):
    """The file that has the text exactly once: the one named, else one of that name, else any."""
    sources = [f for f in files if f.endswith((".c", ".h"))]
    for group in ([name], [f for f in sources if os.path.basename(f) == os.path.basename(name)], sources):
        found = [f for f in group if f in files and (ROOT / f).read_text().count(text) == 1]
        if len(found) == 1:
            return found[0]
    return None


def resolve():
    """The mutants with the files where their texts are now, and how many are nowhere."""
    files, mutants, bad = set(tracked()), [], 0
    for i, (name, text, other, tests) in enumerate(MUTANTS, 1):
        where = locate(files, name, text)
        if not where:
            print(f"mutant {i}, {name}: the text is not there exactly once: {text!r}")
            bad += 1
        elif where != name:
            print(f"mutant {i}: {name} is now {where}")
        mutants.append((where, text, other, tests))
    return mutants, bad


def kind(name):
    folder, base = name.split("/")[-2:]
    return "levels" if base in LEVELS else folder if folder in ("inference", "segment") else "other"


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def run(command, limited=False):
    try:
        return subprocess.run(command, cwd=BUILD if BUILD.is_dir() else TREE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              env=dict(os.environ, BLICA_PATIENCE=str(PATIENCE)),
                              preexec_fn=limits if limited else None)
    except OSError as error:
        sys.exit(f"{command[0]}: {error}")


def sync():
    """Brings the copy to the state of the tree; unchanged files keep their times, and so their objects."""
    wanted = set(tracked())
    kept = TREE / ".files"
    for name in set(kept.read_text().splitlines() if kept.exists() else []) - wanted:
        (TREE / name).unlink(missing_ok=True)
    for name in wanted:
        to, text = TREE / name, (ROOT / name).read_bytes()
        if to.is_file() and to.read_bytes() == text:
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(text)
        shutil.copymode(ROOT / name, to)
    kept.write_text("\n".join(sorted(wanted)))


def targets(tests):
    """What the tests need: C tests by name, the program for those that run it."""
    names = re.findall(r"Test +#\d+: (\S+)", run(["ctest", "-N", "-R", tests]).stdout)
    if not names:
        sys.exit(f"no test matches {tests}")
    wanted = {n.split("/")[1] for n in names if "/test_" in n}
    if any(n.startswith(("cli/", "faults/")) for n in names):
        wanted |= {"blica_cli"} | ({"faults_shim"} if "faults/calls" in names else set())
    return sorted(wanted)


def run_tests(tests):
    return run(["ctest", "-R", tests, "-j", "2", "--output-on-failure", "--stop-on-failure", "--timeout",
                str(WALL_SECONDS)], limited=True)


def try_mutant(name, text, other, tests):
    """'killed', 'SURVIVED' or 'DOES NOT COMPILE'."""
    original = (TREE / name).read_text()
    (TREE / name).write_text(original.replace(text, other))
    try:
        if run(["ninja", *targets(tests)]).returncode:
            return "DOES NOT COMPILE"
        return "killed" if run_tests(tests).returncode else "SURVIVED"
    finally:
        (TREE / name).write_text(original)


def write_figures(path, text):
    page = path.read_text()
    new, count = re.subn(rf"(\| {re.escape(ROW)} \|[^|]*\|)[^|]*\|", rf"\1 {text} |", page)
    if count != 1:
        sys.exit(f"{path}: there is no row '{ROW}'")
    path.write_text(new)


def report(outcome, mutants, complete, write):
    groups = {}
    for i, said in outcome.items():
        for group in (kind(mutants[i - 1][0]), "all"):
            killed, count = groups.get(group, (0, 0))
            groups[group] = killed + (said == "killed"), count + 1
    for group, (killed, count) in sorted(groups.items()):
        print(f"{group:10} {killed:3} of {count:3} killed")
    killed, count = groups["all"]
    if complete and write:
        parts = ", ".join("{} {} of {}".format(g, *groups[g]) for g in ("inference", "segment", "levels"))
        write_figures(pathlib.Path(write), f"{killed} of {count} noticed ({parts})")
    broken = "DOES NOT COMPILE" in outcome.values()
    return 0 if killed >= LEAST * count and not broken else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", help="regular expression for numbers, files or texts")
    parser.add_argument("--write", help="file whose table gets the figures")
    options = parser.parse_args()
    mutants, bad = resolve()
    if bad or options.check:
        return min(bad, 1)
    chosen = [i for i, (name, text, _, _) in enumerate(mutants, 1)
              if not options.only or re.search(options.only, f"{i} {name} {text}")]
    os.nice(10)
    TREE.mkdir(parents=True, exist_ok=True)
    sync()
    made = run(["cmake", "--preset", "release", "-S", str(TREE)]) if not BUILD.is_dir() else run(["cmake", "."])
    everything = "|".join(sorted({mutants[i - 1][3] for i in chosen}))
    if made.returncode == 0:
        made = run(["ninja", *targets(everything)])
    if made.returncode == 0:
        made = run_tests(everything)
    if made.returncode:
        sys.exit("the tests do not pass without any mutant:\n" + made.stdout[-4000:])
    outcome = {}
    for i in chosen:
        begun = time.monotonic()
        outcome[i] = try_mutant(*mutants[i - 1])
        name, text = mutants[i - 1][:2]
        print(f"{i:3} {outcome[i]:9} {time.monotonic() - begun:4.0f} s  {name}: {text.strip().splitlines()[0][:70]}",
              flush=True)
    return report(outcome, mutants, len(chosen) == len(mutants), options.write)


if __name__ == "__main__":
    sys.exit(main())
