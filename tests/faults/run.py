#!/usr/bin/env python3
"""Makes calls of the program fail, one at a time, and looks at what it does.

    run.py --blica PROGRAM --shim SHIM [--quick] [--most N] [--most-memory N] [--most-ranks N] [--only NAME;...] [--kinds KIND,...]

For every command, every open, read, write, fsync, rename, close, mkdir and link fails once, and every allocation (at
most N of them, evenly spaced; the table says how many of how many). After each fault:
  - the program ends by itself, with the exit code of success or with 1 or 3 (never by a signal);
  - after success all output is that of a run without faults;
  - after failure there is a message that names the file, or says that memory is out, and the files that were there
    before are the same bytes; a command with several files leaves each of them old or new, never in between;
  - no other file is left behind;
  - a fit with a checkpoint that fails leaves one (or none, or the old one) from which --resume ends in the same model.
Commands "on 2 ranks" run as two processes of mpirun, of which one has the fault, first the one, then the other; the job
must end by itself within a minute, with the code and the message of the process that failed.
When the program was built with AddressSanitizer, leaks and bad accesses count as failures too.
With --under WORDS nothing fails: every command runs once behind these words (a checker such as valgrind, which is to exit
with 99 when it finds something).
Exits 77 where the shim cannot work."""
import argparse
import concurrent.futures
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

PATIENCE = int(os.environ.get("BLICA_PATIENCE", "300"))  # seconds after which a process counts as hanging

OLD = b"what was there before\n"
KINDS = {"open": ["EMFILE"], "read": ["EIO"], "write": ["ENOSPC", "SHORT"], "fsync": ["EIO"], "rename": ["EIO"],
         "close": ["EIO"], "mkdir": ["ENOSPC"], "link": ["EIO"], "malloc": ["ENOMEM"]}
SANITIZER = 99  # exit code of the sanitizers
TABLE = "data.csv --segment-column segment".split()


CHECKPOINT = "fit.ckpt"


class Case:
    """A command: its arguments, the files it writes, and whether they come together or one by one. One with a checkpoint
    may leave that too when it fails; `resumes` begins from one. `rank` is the one of two processes that has the fault."""

    def __init__(self, name, args, files=(), together=True, old=True, resumes=False, rank=None, most=1000):
        self.name, self.args, self.files = name, args.split(), list(files)
        self.together, self.old, self.resumes, self.rank, self.most = together, old, resumes, rank, most
        self.checkpoint = "--checkpoint" in self.args


def fit(method, extra=""):
    return Case("fit " + method, f"fit data.csv --sources 2 --starts 2 --method {method} --out OUT/model.json {extra}", ["model.json"])


def kept(method, resumes, iterations):
    """A fit with a checkpoint after every iteration, few enough that each call of each write can fail."""
    return Case(f"fit {method} --{'resume' if resumes else 'checkpoint'}",
                f"fit data.csv --sources 2 --starts 2 --method {method} --max-iterations {iterations} --out OUT/model.json "
                f"--checkpoint OUT/{CHECKPOINT} --checkpoint-seconds 0" + " --resume" * resumes, ["model.json"], resumes=resumes,
                most=40 if method == "mle" else 1000)  # mle keeps the fits that it starts from as well: a thousand writes


def on_ranks(rank):
    """Commands that processes share."""
    def case(name, args, *files):
        return Case(f"{name}, rank {rank} of 2", args, files, rank=rank)
    more = f"--checkpoint OUT/{CHECKPOINT} --checkpoint-seconds 0"
    fit = "fit data.csv --sources 2 --starts 2 --max-iterations 3 --out OUT/model.json"
    return [
        case("fit --checkpoint", f"{fit} --method blica {more}", "model.json"),
        case("count", "count data.csv --out OUT/counts.npz", "counts.npz"),
        case("count quoted", "count quoted.csv --out OUT/counts.csv", "counts.csv"),
        case("correlate", "correlate data.csv --out OUT/cor.npz", "cor.npz"),
        case("count shared", "count wide/data.csv --out OUT/counts.npz", "counts.npz"),
        case("correlate shared", "correlate wide/data.csv --condition 10 --out OUT/cor.csv", "cor.csv"),
        case("fit mle", f"{fit} --method mle", "model.json"),
        case("sources", "sources model.json data.csv --out OUT/sources.csv", "sources.csv"),
        case("loglik --json", "loglik model.json data.csv --json"),
    ]


QUICK_RANKS = ("fit --checkpoint, rank 1 of 2", "count, rank 0 of 2")
CASES = [
    Case("simulate", "simulate --variables 4 --sources 2 --segments 3 --samples 40 --out OUT", ["data.csv", "model.json"]),
    Case("simulate --exact", "simulate --variables 4 --sources 2 --segments 3 --exact --out OUT", ["counts.npz", "model.json"]),
    Case("simulate, new folder", "simulate --variables 4 --sources 2 --segments 3 --samples 40 --out OUT/new",
         ["new/data.csv", "new/model.json"], old=False),
    Case("check", "check data.csv"),
    Case("check --json", "check data.csv.gz --json"),
    Case("count", "count data.csv --out OUT/counts.npz", ["counts.npz"]),
    Case("count .csv", "count data.csv.zst --out OUT/counts.csv", ["counts.csv"]),
    Case("count .npy", "count data.npy --segment-count 3 --out OUT/counts.csv", ["counts.csv"]),
    Case("merge", "merge one.npz two.csv --out OUT/counts.npz", ["counts.npz"]),
    Case("correlate", "correlate one.npz --out OUT/cor.npz", ["cor.npz"]),
    Case("correlate .csv", "correlate quoted.csv --out OUT/cor.csv", ["cor.csv"]),
    fit("auto", "--json"), fit("blica"), fit("matched"), fit("pairwise"), fit("mle"), fit("ivae"), fit("fastica"),
    Case("sources", "sources model.json data.csv --out OUT/sources.csv", ["sources.csv"]),
    Case("loglik", "loglik model.json data.csv"),
    Case("loglik --json", "loglik model.json data.csv --json"),
    Case("compare", "compare model.json other.csv"),
    Case("compare --json", "compare model.json other.csv --json"),
    Case("identify", "identify model.json"),
    Case("identify --json", "identify --variables 4 --sources 2 --segments 3 --json"),
    Case("report", "report model.json data.csv --out OUT/report.html", ["report.html"]),
    Case("report --figures", "report model.json data.csv --out OUT/report.html --figures OUT",
         ["report.html"] + [f"{f}.svg" for f in ("mixing", "variances", "means", "agreement", "segments",
                                             "residuals")], together=False),
    Case("assess", "assess fit.json data.csv --bootstrap 20 --out OUT/assessed.json", ["assessed.json"]),
    Case("assess --json", "assess fit.json data.csv --bootstrap none --json"),
    Case("select", "select data.csv --sources 1:2 --json"),
    Case("segment", "segment series.csv --sources 1 --states 2 --starts 1 --out OUT/segments.csv", ["segments.csv"]),
    Case("experiment table1", "experiment table1 --quick --variables 2:3 --segments 2:3 --datasets 1 --out OUT",
         ["table1.csv", "table1.svg"], together=False),
    Case("experiment identifiability",
         "experiment identifiability --quick --variables 3:3 --segments 4:4 --datasets 1 --starts 1 --out OUT",
         ["identifiability." + e for e in ("csv", "svg")],
         together=False, old=False),
    Case("self-doc", "self-doc options OUT", ["options.md"]),
    Case("help", "fit --help"),
    kept("blica", False, 6), kept("matched", False, 3), kept("mle", False, 3), kept("fastica", False, 3),
    kept("blica", True, 6), kept("matched", True, 3), kept("mle", True, 3),
] + on_ranks(0) + on_ranks(1)


def normal(data):
    """Without what differs from run to run: times and dates."""
    data = re.sub(rb'"seconds[a-z_]*": *[-+.e0-9]+', b'"seconds":0', data)
    data = re.sub(rb"/out[0-9]+/", b"/out/", data)
    return re.sub(rb"[-+.0-9e]+ (s|seconds)\b", b"0 s", data)


def normal_file(name, data):
    if name.startswith("identifiability") and name.endswith(".csv"):  # columns of seconds
        return b"\n".join(b",".join(line.split(b",")[:13]) for line in data.split(b"\n"))
    return data if name.endswith(".npz") else normal(data)


class Driver:
    def __init__(self, options):
        self.options = options
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # files are synced thousands of times
        self.work = tempfile.mkdtemp(prefix="blica-faults-", dir=memory)
        self.input = os.path.join(self.work, "input")
        self.bad, self.spared = [], 0
        # the shim's backtrace loads a library
        with open(os.path.join(self.work, "lsan.supp"), "w") as f:
            f.write(open(options.suppressions).read() + "\nleak:dl_open_worker\n")
        options.suppressions = f.name
        self.make_input()

    def blica(self, *args, **more):
        return subprocess.run([self.options.blica, *args], cwd=self.input, check=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=self.environment(), **more)

    def environment(self, fault=None, log=None):
        env = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
        env["ASAN_OPTIONS"] = f"fast_unwind_on_malloc=0:exitcode={SANITIZER}:verify_asan_link_order=0:allocator_may_return_null=1"
        env["UBSAN_OPTIONS"] = f"exitcode={SANITIZER}"
        # ranks that share a machine, as they should on one that has other work
        env.update(OMPI_MCA_btl="self,vader,tcp", OMPI_MCA_btl_tcp_if_include="lo", OMPI_MCA_oob_tcp_if_include="lo",
                   OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                   OMPI_MCA_hwloc_base_binding_policy="none", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        env["LSAN_OPTIONS"] = f"suppressions={self.options.suppressions}:print_suppressions=0:exitcode={SANITIZER}"
        if fault:
            env.update(LD_PRELOAD=self.options.shim, BLICA_FAULT=fault, BLICA_FAULT_LOG=log)
        return env

    def make_input(self):
        os.mkdir(self.input)
        self.blica("simulate", "--variables", "4", "--sources", "2", "--segments", "3", "--samples", "60", "--out", ".")
        self.blica("simulate", "--variables", "104", "--sources", "2", "--segments", "3", "--samples", "20", "--out", "wide")  # so wide that ranks share the tables
        text = open(os.path.join(self.input, "data.csv")).read()
        subprocess.run(["gzip", "-k", "data.csv"], cwd=self.input, check=True)
        subprocess.run(["zstd", "-q", "-k", "data.csv"], cwd=self.input, check=True)
        rows = [line.split(",") for line in text.split("\n")[1:-1]]
        with open(os.path.join(self.input, "quoted.csv"), "w") as f:
            f.write('"a, b","say ""so""",c,d,segment\n')
            for r, row in enumerate(rows):
                f.write(",".join(["" if r % 9 == i else f'"{x}"' for i, x in enumerate(row[:4])]) + f',"part {row[4]}"\n')
        header = b"{'descr': '|i1', 'fortran_order': False, 'shape': (%d, 4), }" % len(rows)
        header += b" " * (118 - len(header) - 1) + b"\n"
        with open(os.path.join(self.input, "data.npy"), "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(int(x) for row in rows for x in row[:4]))
        with open(os.path.join(self.input, "series.csv"), "w") as f:  # the rows in order, their segments not given
            f.write("x1,x2,x3,x4\n" + "".join(",".join(row[:4]) + "\n" for row in rows))
        self.blica("fit", "data.csv", "--sources", "2", "--out", "fit.json")
        self.blica("count", "data.csv", "--out", "one.npz")
        self.blica("count", "data.csv", "--out", "two.csv")
        with open(os.path.join(self.input, "other.csv"), "w") as f:
            f.write("1,2\n3,4\n0.5,-1\n2,0\n")
        wanted = {case.name.split()[1] for case in CASES if case.resumes}
        for case in CASES:
            if case.checkpoint and not case.resumes and case.rank is None and case.name.split()[1] in wanted:
                self.make_checkpoint(case)

    def make_checkpoint(self, case):
        """One of a fit that ended in its middle: for want of memory, always at the same place."""
        _, _, calls, _ = self.run(case, 0, "malloc:-1:ENOMEM")
        for part in range(48, -1, -1):
            _, found, _, _ = self.run(case, 0, f"malloc:{calls * part // 64}:ENOMEM")
            if CHECKPOINT in found:
                with open(os.path.join(self.work, case.args[case.args.index("--method") + 1] + ".ckpt"), "wb") as f:
                    f.write(found[CHECKPOINT])
                return
        sys.exit(f"{case.name}: a fit that runs out of memory leaves no checkpoint")

    def command(self, case, args, fault, log):
        """The words of a run, and its environment: of two processes one has the fault."""
        if case.rank is None:
            under = [] if fault else self.options.under.split()
            return [*under, self.options.blica, *args, "--threads", "1"], self.environment(fault, log)
        plain = [self.options.blica + "-mpi", *args, "--threads", "1"]
        both = [plain, plain]
        if fault:
            both[case.rank] = ["env", "LD_PRELOAD=" + self.options.shim, "BLICA_FAULT=" + fault, "BLICA_FAULT_LOG=" + log] + plain
        env = self.environment()
        # Two mpirun that share a session folder, as they do by default, fail when the first to end removes it.
        env["OMPI_MCA_orte_tmpdir_base"] = tempfile.mkdtemp(prefix="mpi-", dir=self.work)
        env["ASAN_OPTIONS"] += ":detect_leaks=0"  # Open MPI leaks memory of its own; test_faults_ranks looks for leaks of ours
        return ["timeout", str(PATIENCE), "mpirun", "--quiet", "-n", "1", *both[0], ":", "-n", "1", *both[1]], env

    def run(self, case, slot, fault=None):
        """One run. Gives the result, and the calls and whether the fault came."""
        out = os.path.join(self.work, f"out{slot}")
        log = os.path.join(self.work, f"log{slot}")
        shutil.rmtree(out, ignore_errors=True)
        os.mkdir(out)
        for name in case.files if case.old else ():
            with open(os.path.join(out, name), "wb") as f:
                f.write(OLD)
        if case.resumes:
            shutil.copy(os.path.join(self.work, case.args[case.args.index("--method") + 1] + ".ckpt"), os.path.join(out, CHECKPOINT))
        return self.run_in(out, case, case.args, fault, log)

    def run_in(self, out, case, args, fault=None, log=None):
        """One run in a folder that is as it should be."""
        if fault and os.path.exists(log):
            os.remove(log)
        words, env = self.command(case, [a.replace("OUT", out) for a in args], fault, log)
        for attempt in range(3):  # 125: libc lies across a border of 4 GiB
            done = subprocess.run(words, cwd=self.input, stdin=subprocess.DEVNULL, capture_output=True, timeout=2 * PATIENCE, env=env)
            if done.returncode != 125:
                break
        calls = fired = 0
        if fault and os.path.exists(log) and os.path.getsize(log) == 16:
            calls, fired = struct.unpack("<qq", open(log, "rb").read())
        found = {}
        for folder, _, names in os.walk(out):
            for name in names:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, out)] = open(path, "rb").read()
        return done, found, calls, fired

    def whole(self, case, name, data, reference):
        """A file is the old one, or all of the new one. The rows of runs are added one by one."""
        if case.old and data == OLD:
            return True
        new = normal_file(name, reference[name])
        if name == "identifiability.csv":
            return new.startswith(normal_file(name, data)) and (data == b"" or data.endswith(b"\n"))
        return normal_file(name, data) == new

    def judge(self, case, kind, reference, result, fired):
        """What is wrong, or None."""
        good, files = reference
        done, found, _, _ = result
        text = done.stderr.decode(errors="replace")
        if done.returncode < 0:
            return f"ended by signal {-done.returncode}"
        if done.returncode == SANITIZER:
            return "sanitizer: " + next((l for l in text.split("\n") if "ERROR" in l or "runtime error" in l), text[:200])
        if done.returncode == 124:
            return "hangs"
        may_stay = {CHECKPOINT} if case.checkpoint and done.returncode != good.returncode else set()
        strange = sorted(set(found) - set(case.files) - may_stay)
        if strange:
            return f"leaves {strange[0]} behind"
        if done.returncode == good.returncode:
            if sorted(found) != sorted(files):
                return "says ok, and files are missing"
            for name in files:
                if normal_file(name, found[name]) != normal_file(name, files[name]):
                    return f"says ok, and {name} is not whole"
            return None if normal(done.stdout) == normal(good.stdout) else "says ok, and its output is not whole"
        if done.returncode not in (1, 3):
            return f"exit code {done.returncode}"
        if kind == "malloc":
            if not re.search("memory|malloc", text, re.I):
                return "does not say that memory is out"
        elif not re.search("standard output|standard input|/out[0-9]|" + "|".join(re.escape(f) for f in os.listdir(self.input)), text):
            return "names no file"
        for name in case.files:
            if name not in found:
                if case.old:
                    return f"the old {name} is gone"
            elif case.together and "standard output" not in text and (not case.old or found[name] != OLD):
                return f"fails, and {name} is not as before"
            elif not self.whole(case, name, found[name], files):
                return f"{name} is half written"
        return None

    def take_up(self, case, slot, reference):
        """After a failure: what the same command with --resume makes of what was left. What is wrong, or None."""
        good, files = reference
        out = os.path.join(self.work, f"out{slot}")
        done, found, _, _ = self.run_in(out, case, case.args + ["--resume"] * (not case.resumes))
        if done.returncode != good.returncode:
            return f"cannot be resumed: exit {done.returncode}, {done.stderr.decode(errors='replace')[-160:]}"
        if sorted(found) != sorted(files):
            return f"resumed, leaves {sorted(found)}"
        same = all(normal_file(name, found[name]) == normal_file(name, files[name]) for name in files)
        return None if same else "resumed, the model differs"

    def walk(self, case, kind, error, reference):
        """All faults of one kind. Gives (tried, calls, wrong)."""
        _, _, calls, _ = self.run(case, 0, f"{kind}:-1:{error}")
        most = self.options.most_memory if kind == "malloc" else self.options.most
        most = min(most, case.most)
        if case.rank is not None:
            most = min(most, self.options.most_ranks)
        indices = range(calls) if calls <= most else sorted({i * (calls - 1) // max(most - 1, 1) for i in range(most)})  # the first and the last among them

        def one(job):
            number, index = job
            fault, slot = f"{kind}:{index}:{error}", 1 + number % 64
            result = self.run(case, slot, fault)
            wrong = self.judge(case, kind, reference, result, result[3])
            if not wrong and case.checkpoint and result[0].returncode != reference[0].returncode:
                wrong = self.take_up(case, slot, reference)
            self.spared += result[3] == 2
            if wrong:
                text = result[0].stderr.decode(errors="replace").strip().split("\n")[-1]
                return f"{case.name}, {fault}: {wrong} (exit {result[0].returncode}; {text[:160]})"
            return None

        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            wrong = [w for w in pool.map(one, enumerate(indices)) if w]
        self.bad += wrong
        return len(indices), calls, len(wrong)

    def once(self):
        """Every command behind the checker's words."""
        done = 0
        for case in self.chosen():
            result, files, _, _ = self.run(case, 0)
            done += 1
            if result.returncode not in (0, 4) or sorted(files) != sorted(case.files):
                self.bad.append(f"{case.name}: exit {result.returncode}: {result.stderr.decode(errors='replace')[:2000]}")
        print(f"{done} commands, {len(self.bad)} with findings")
        for line in self.bad:
            print("WRONG:", line)
        shutil.rmtree(self.work)
        return 1 if self.bad else 0

    def chosen(self):
        only = self.options.only.split(";") if self.options.only else [""]
        cases = [c for c in CASES if any(c.name.startswith(o) for o in only) and (c.rank is None or self.options.ranks)]
        return [c for c in cases if not self.options.quick or c.rank is None or c.name in QUICK_RANKS]

    def go(self):
        kinds = [(k, e) for k in KINDS for e in KINDS[k] if not self.options.kinds or k in self.options.kinds.split(",")]
        totals = {}
        heads = [k if e != "SHORT" else "short" for k, e in kinds]
        print(f"{'command':32}" + "".join(f"{h:>10}" for h in heads) + "   wrong", flush=True)
        for case in self.chosen():
            good, files, _, _ = self.run(case, 0)
            if good.returncode not in (0, 4) or sorted(files) != sorted(case.files):
                print(case.name, good.returncode, sorted(files), good.stderr.decode())
                sys.exit("a case does not work without faults")
            cells, wrong = [], 0
            for (kind, error), head in zip(kinds, heads):
                if self.options.quick and case.rank is not None and kind not in ("open", "malloc"):
                    cells.append("-")
                    continue
                tried, calls, bad = self.walk(case, kind, error, (good, files))
                wrong += bad
                cells.append(f"{tried}/{calls}" if tried < calls else str(tried))
                totals[head] = totals.get(head, 0) + tried
            print(f"{case.name:32}" + "".join(f"{c:>10}" for c in cells) + f"{wrong:8}", flush=True)
        print(f"{'in all':32}" + "".join(f"{totals.get(h, 0):>10}" for h in heads) + f"{len(self.bad):8}")
        print(f"{sum(totals.values()) - self.spared} faults, {len(self.bad)} wrong; {self.spared} allocations inside fontconfig "
              "and pixman were spared")
        for line in self.bad[:200]:
            print("WRONG:", line)
        shutil.rmtree(self.work)
        return 1 if self.bad else 0


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser()
    parser.add_argument("--blica", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--most", type=int, default=1000, help="faults of one kind of I/O call")
    parser.add_argument("--most-memory", type=int, default=120, help="allocations that fail, per command")
    parser.add_argument("--most-ranks", type=int, default=25, help="faults of one kind in a job of two processes")
    parser.add_argument("--only", help="beginnings of names of commands, with ; between them")
    parser.add_argument("--kinds")
    parser.add_argument("--under", default="", help="run every command once, without faults, behind these words")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--suppressions", default=os.path.join(here, "..", "..", "tools", "lsan.supp"))
    options = parser.parse_args()
    if options.quick:
        options.most, options.most_memory, options.most_ranks = 3, 4, 2
    options.blica, options.shim = os.path.abspath(options.blica), os.path.abspath(options.shim)
    probe = subprocess.run([options.blica, "--version"], capture_output=True,
                           env=dict(os.environ, LD_PRELOAD=options.shim, BLICA_FAULT="write:-1:EIO"))
    if probe.returncode == 125 or not os.path.exists(options.shim):
        print("skipped: no seccomp filter can be set here")
        return 77
    options.ranks = os.path.exists(options.blica + "-mpi") and shutil.which("mpirun") is not None
    if not options.ranks:
        print("skipped: commands on 2 ranks, there is no blica-mpi or no mpirun")
    if options.under:
        options.ranks = False  # what MPI does inside would be checked too
        return Driver(options).once()
    return Driver(options).go()


if __name__ == "__main__":
    sys.exit(main())
