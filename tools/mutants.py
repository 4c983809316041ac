#!/usr/bin/env python3
"""Small bugs put in one at a time: do the tests notice?

    mutants.py [--check] [--only N,N...]

Each mutant is an exact replacement in one file and the tests that should fail with it. It is built in a copy of the tree
(tracked files only) and those tests are run; a mutant whose tests all pass has survived. --check only looks whether every
text to be replaced is there exactly once. Exit 1 when fewer than 95 % are killed."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAST = 0.95

# file, text, replacement, test regular expression of ctest; C tests are built by their names, the program for cli/
MUTANTS = [
    ("src/base/text.c", "first >= 0xc2 && first <= 0xdf", "first >= 0xc0 && first <= 0xdf", "unit/test_text"),
    ("src/base/text.c", "length > 1 && have < length ? have : 0", "0", "unit/test_text"),
    ("src/base/text.c", "first < 0x20 || first == 0x7f", "first == 0x7f", "unit/test_text"),
    ("src/base/text.c", "(first == 0xed && second > 0x9f)", "false", "unit/test_text"),
    ("src/base/ctx.c", "  va_end(args);\n  bl_text_clean(text);", "  va_end(args);", "unit/test_text"),
    ("src/base/number.c", "  uselocale(p.before);\n", "", "unit/test_locale"),
    ("src/base/number.c", "digits <= 17", "digits <= 16", "unit/test_(locale|model_io|counts_io)"),
    ("src/base/number.c", "if (p.made) p.before = uselocale(p.made);", "", "unit/test_locale"),
    ("src/base/intern.c", "names->key = bl_hash_key_draw(names)", "(void)0", "unit/test_text"),
    ("src/base/intern.c", "if (!bl_is_utf8(copy)) {", "if (0) {", "unit/test_text"),
    ("src/base/mem.c", "__builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product", "(product = a * b)", "unit/test_sizes"),
    ("src/base/mem.c", "bytes > SIZE_MAX / 2 ? SIZE_MAX : ", "", "unit/test_sizes"),
    ("src/base/outfile.c", "if (!file->special && fsync(fileno(file->stream)) != 0) return fail(file, errno);", "", "unit/test_outfile"),
    ("src/base/outfile.c", "(void)fsync(folder);", "", "unit/test_outfile"),
    ("src/base/outfile.c", "info.st_mode & 0777) == 0;", "0666) == 0;", "unit/test_outfile"),
    ("src/base/outfile.c", "if (file->temp) unlink(file->temp);", "", "cli/(fit|count)$|faults/calls"),
    ("src/base/pool.c", "return wanted < MOST ? wanted : MOST;", "return wanted;", "unit/test_options"),
    ("src/base/option.c", "!parse_real(text, &value) || value < option->low || ", "!parse_real(text, &value) || ", "unit/test_options"),
    ("src/base/csv.c", "if (byte == 0)", "if (byte == 256)", "cli/hostile"),
    ("src/base/csv.c", "    skip_mark(csv->stream);\n", "", "cli/hostile"),
    ("src/counts/counts.c", "part->exact && (first || (*sum)->exact)", "part->exact || (!first && (*sum)->exact)", "unit/test_sizes"),
    ("src/likelihood/sources.c", "t->log_prior = log(model->samples[s]);", "t->log_prior = 0;", "unit/test_posterior"),
    ("src/likelihood/sources.c", " + before * share * change * change", "", "unit/test_posterior"),
    ("src/likelihood/sources.c", "for (int j = 0; j < k; j++) two[j] *= scale;", "", "unit/test_posterior"),
    ("src/estimate/sgauss.c", "d->weight[s] = options->weight * cor->samples[s];", "d->weight[s] = options->weight * cor->samples[0];", "identity/test_unequal"),
    ("src/estimate/fit.c", "  settle_stop(&model->fit);\n", "", "identity/test_unequal"),
    ("src/estimate/fit.c", "  if (valid != BLICA_OK) return valid;\n", "", "unit/test_options"),
    ("src/estimate/fit.c", "  TRY(bl_fit_same(ctx, input, options));\n", "", "unit/test_ranks_same"),
    ("src/estimate/record.c", "if (strcmp(setting->value, before) == 0) continue;", "if (strcmp(setting->value, before) != 0) continue;", "cli/report$"),
    ("src/ranks/facts.c", "bl_facts_add(f, \"SIMD level\"", "bl_facts_add(f, \"SIMD\"", "unit/test_ranks_same"),
    ("src/model/solve_means.c", "z->k == z->n ? 1 : density", "1 || z->k == z->n ? 1 : density", "recovery/test_cuts"),
    ("src/model/solve_means.c", "sqrt(fmax(m->samples[s], 1.0))", "1.0", "recovery/test_cuts"),
    ("src/model/model_io.c", "if (field->type == BL_FIELD_SECONDS) continue;", "", "cli/fit$|unit/test_model_io"),
    ("report/html.c", "return \"&#39;\";", "return \"'\";", "cli/report$"),
    ("report/axes.c", "if (count > 1) return count;\n    count = 0; /* within", "return count;\n    count = 0; /* within", "cli/report$"),
    ("cli/table_rows.c", "while (end > p && end[-1] == '\\r') end--;", "if (end > p && end[-1] == '\\r') end--;", "cli/hostile"),
    ("cli/table_columns.c", "count - (segment >= 0) < 3", "count < 3", "cli/hostile"),
    ("cli/table_columns.c", "if (t->text.field_count == 1)", "if (t->text.field_count == 0)", "cli/hostile"),
    ("cli/records.c", "if (r->capacity >= RECORDS_LONGEST) {", "if (0) {", "cli/hostile"),
    ("cli/byte_source.c", "if (interrupted()) return fail(", "if (0) return fail(", "cli/hostile"),
    ("cli/records.c", "if (!length || !memchr(text, 0, length)) return BLICA_OK;", "return BLICA_OK;", "cli/hostile"),
    ("cli/output.c", "S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino", "false", "cli/files"),
    ("cli/output.c", "const char *other = also && same_file(path, also) ? also : NULL;", "const char *other = NULL;", "cli/files"),
]


def check():
    bad = 0
    for i, (name, text, _, _) in enumerate(MUTANTS, 1):
        count = (ROOT / name).read_text().count(text)
        if count != 1:
            print(f"mutant {i}, {name}: the text is there {count} times: {text!r}")
            bad += 1
    return bad


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def copy_tree(to):
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.split(b"\0")
    for name in filter(None, map(os.fsdecode, files)):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def targets(build, tests):
    """What the tests need: C tests by name, the program for those that run it."""
    listed = run(["ctest", "-N", "-R", tests], build).stdout
    names = [line.split(": ", 1)[1].strip() for line in listed.splitlines() if "Test " in line and ": " in line]
    wanted = {n.split("/")[1] for n in names if "/test_" in n}
    if any(n.startswith(("cli/", "faults/")) for n in names):
        wanted |= {"blica_cli"} | ({"faults_shim"} if "faults/calls" in names else set())
    return sorted(wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", help="numbers of mutants, from 1")
    options = parser.parse_args()
    if check():
        return 1
    if options.check:
        return 0
    chosen = [int(n) for n in options.only.split(",")] if options.only else range(1, len(MUTANTS) + 1)
    tree = pathlib.Path(tempfile.mkdtemp(prefix="blica-mutants-"))
    copy_tree(tree)
    build = tree / "build/release"
    made = run(["cmake", "--preset", "release"], tree)
    if made.returncode:
        sys.exit(made.stdout)
    everything = "|".join(sorted({MUTANTS[i - 1][3] for i in chosen}))
    run(["ninja", *targets(build, everything)], build)
    sound = run(["ctest", "-R", everything, "--timeout", "600", "--no-tests=error"], build)
    if sound.returncode:
        sys.exit("tests fail without any mutant:\n" + sound.stdout)
    survived = []
    for i in chosen:
        name, text, other, tests = MUTANTS[i - 1]
        original = (tree / name).read_text()
        (tree / name).write_text(original.replace(text, other))
        built = run(["ninja", *targets(build, tests)], build)
        tested = run(["ctest", "-R", tests, "--timeout", "600", "--no-tests=error"], build) if built.returncode == 0 else None
        killed = tested is not None and tested.returncode != 0
        said = "does not compile" if tested is None else "killed" if killed else "SURVIVED"
        print(f"{i:3} {said:9} {name}: {text.strip().splitlines()[0][:70]}", flush=True)
        if not killed:
            survived.append(i)
        (tree / name).write_text(original)
    shutil.rmtree(tree)
    rate = 1 - len(survived) / len(chosen)
    print(f"{len(chosen)} mutants, {len(survived)} survived: {100 * rate:.0f} % killed")
    return 0 if rate >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
