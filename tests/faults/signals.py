#!/usr/bin/env python3
"""Signals at random moments.

    signals.py --blica PROGRAM [--times N] [--kills N] [--quick] [--seed S]

Every command gets SIGINT and SIGTERM, N times in all, at moments drawn over its running time (from a seed), then SIGINT
twice in a row; and SIGKILL is shared out over the commands. Afterwards:
  - SIGINT or SIGTERM: exit code 130 (or that of success, when the work was done; or death by the signal while the program
    was still being loaded), each output file is whole, or old, or absent; no temporary file is left; a fit that had
    begun has written the best so far;
  - a second signal ends the program at once;
  - SIGKILL: each output file is whole, or old, or absent.
Whole means: it parses and has everything that belongs in it."""
import argparse
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

PATIENCE = float(os.environ.get("BLICA_PATIENCE", "600"))  # seconds after which a process counts as hanging
OLD = b"what was there before\n"


class Case:
    def __init__(self, name, args, files, fit=False):
        self.name, self.args, self.files, self.fit = name, args.split(), files, fit


def fit(method, data="data.csv", sources=4, starts=10):
    return Case("fit " + method, f"fit {data} --sources {sources} --starts {starts} --method {method} --out OUT/model.json",
                ["model.json"], fit=True)


CASES = [
    Case("simulate", "simulate --variables 20 --sources 5 --segments 20 --samples 3000 --out OUT", ["data.csv", "model.json"]),
    Case("count", "count wide.csv --out OUT/counts.npz", ["counts.npz"]),
    Case("correlate", "correlate wide.npz --out OUT/cor.npz", ["cor.npz"]),
    fit("blica", starts=40), fit("matched", starts=3), fit("pairwise", "small.csv", 2, 4), fit("mle", "small.csv", 2, 1), fit("ivae", "small.csv", 2, 1),
    fit("fastica", "wide.csv", 4, 4),
    Case("sources", "sources model.json data.csv --segment unknown --out OUT/sources.csv", ["sources.csv"]),
    Case("loglik", "loglik model.json data.csv --engine lattice --error 20", []),
    Case("report", "report model.json data.csv --out OUT/report.html --figures OUT",
         ["report.html"] + [f"{f}.svg" for f in ("mixing", "variances", "means", "agreement", "segments",
                                             "residuals")]),
    Case("experiment", "experiment identifiability --quick --variables 3:5 --segments 4:5 --datasets 4 --out OUT",
         ["identifiability." + e for e in ("csv", "svg")]),
]


def whole(path):
    """Why the file is not whole, or None."""
    data = open(path, "rb").read()
    name = os.path.basename(path)
    if data == OLD:
        return None
    if name.endswith(".json"):
        model = json.loads(data)
        rows = model["mixing"]
        numbers = [x for row in rows for x in row] + [x for row in model["variances"] for x in row]
        if len(rows) != len(model["variables"]) or len(model["variances"]) != len(model["segments"]) or \
                not all(isinstance(x, (int, float)) and math.isfinite(x) for x in numbers):
            return "numbers are missing or not finite"
        return None
    if name.endswith(".npz"):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            return archive.testzip() or (None if {"variables.npy", "segments.npy", "samples.npy"} <= set(names) else "arrays are missing")
    if name.endswith(".csv"):
        lines = data.split(b"\n")
        width = lines[0].count(b",")
        if lines[-1] != b"" or any(line.count(b",") != width for line in lines[:-1]):
            return "a line is cut off"
        wanted = {"data.csv": 60001, "sources.csv": 6001}.get(name)
        return None if wanted in (None, len(lines) - 1) else f"{len(lines) - 1} lines"
    end = {".html": b"</html>\n", ".svg": b"</svg>\n"}[os.path.splitext(name)[1]]
    return None if data.endswith(end) else "its end is missing"


class Driver:
    def __init__(self, options):
        self.options, self.random, self.bad = options, random.Random(options.seed), []
        self.took = 0.0  # seconds of the case at hand, the least so far
        self.work = tempfile.mkdtemp(prefix="blica-signals-")
        self.input, self.out = os.path.join(self.work, "input"), os.path.join(self.work, "out")
        os.mkdir(self.input)

        def make(name, *sizes):
            folder = os.path.join(self.work, "made")
            args = ["--" + key for key in ("variables", "sources", "segments", "samples")]
            pairs = [word for pair in zip(args, map(str, sizes)) for word in pair]
            subprocess.run([options.blica, "simulate", *pairs, "--out", folder, "--quiet"], check=True)
            os.rename(os.path.join(folder, "data.csv"), os.path.join(self.input, name + ".csv"))
            os.replace(os.path.join(folder, "model.json"), os.path.join(self.input, "model.json"))

        make("small", 4, 2, 4, 100)
        make("wide", 80, 10, 10, 800)
        make("data", 8, 4, 10, 600)
        subprocess.run([options.blica, "count", "wide.csv", "--out", "wide.npz", "--quiet"], cwd=self.input, check=True)

    def start(self, case):
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)
        if case.name != "experiment":  # it goes on from what is there
            for name in case.files:
                with open(os.path.join(self.out, name), "wb") as f:
                    f.write(OLD)
        args = [a.replace("OUT", self.out) for a in case.args]
        return subprocess.Popen([self.options.blica, *args, "--threads", "2"], cwd=self.input, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def seconds(self, case):
        begun = time.monotonic()
        process = self.start(case)
        process.communicate(timeout=PATIENCE)
        if process.returncode not in (0, 4):
            sys.exit(f"{case.name} does not work without signals: exit {process.returncode}")
        return time.monotonic() - begun

    def look(self, case, what, strict):
        """Complains about files. Gives how many outputs are new."""
        new = 0
        for folder, _, names in os.walk(self.out):
            for name in names:
                path = os.path.join(folder, name)
                if name not in case.files:
                    if strict:
                        self.bad.append(f"{case.name}, {what}: leaves {name} behind")
                    continue
                try:
                    wrong = whole(path)
                except Exception as error:  # whatever a parser says
                    wrong = repr(error)
                if wrong:
                    self.bad.append(f"{case.name}, {what}: {name}: {wrong}")
                new += open(path, "rb").read() != OLD
        return new

    def strike(self, case, delay, numbers):
        """Sends the signals after the delay. Gives the exit code, the seconds until the end, and stderr."""
        begun = time.monotonic()
        process = self.start(case)
        try:
            process.wait(delay)
            self.took = min(self.took, time.monotonic() - begun)  # the machine may be less busy than before
        except subprocess.TimeoutExpired:
            pass
        begun = time.monotonic()
        process.send_signal(numbers[0])
        while len(numbers) > 1 and process.poll() is None and time.monotonic() < begun + PATIENCE:
            time.sleep(0.1)  # until it has been seen, lest two become one
            process.send_signal(numbers[1])
        try:
            _, text = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, PATIENCE, ""
        return process.returncode, time.monotonic() - begun, text.decode(errors="replace")

    def soft(self, case, times):
        counts, longest = dict(early=0, best=0, none=0, done=0), 0.0
        for i in range(times):
            number, delay = (signal.SIGINT, signal.SIGTERM)[i % 2], self.random.uniform(0, 1.05 * self.took)
            code, wait, text = self.strike(case, delay, [number])
            what = f"{signal.Signals(number).name} after {delay:.3f} s"
            new = self.look(case, what, strict=code is None or code >= 0)
            longest = max(longest, wait if code == 130 else 0)
            if code == -number:
                counts["early"] += 1
                if new or text:
                    self.bad.append(f"{case.name}, {what}: ended by the signal after it had begun")
            elif code == 130:
                counts["best" if new and case.fit else "none"] += 1
                if not text.strip():
                    self.bad.append(f"{case.name}, {what}: exit 130 without a word")
            elif code in (0, 4):
                counts["done"] += 1
                if new != len(case.files):
                    self.bad.append(f"{case.name}, {what}: says ok, and files are missing")
            else:
                self.bad.append(f"{case.name}, {what}: exit {code} ({text[-200:]})")
        return counts, longest

    def twice(self, case):
        delay = self.random.uniform(0.2, 0.8) * self.took
        code, _, _ = self.strike(case, delay, [signal.SIGINT, signal.SIGINT])
        self.look(case, "SIGINT twice", strict=False)
        if code not in (-signal.SIGINT, 130, 0, 4):
            self.bad.append(f"{case.name}: two signals, exit {code}")

    def kill(self, case, times):
        """Gives how many runs were killed before they ended, and how many of them had written something new."""
        killed = written = 0
        for _ in range(times):
            delay = self.random.uniform(0, 1.05 * self.took)
            code, _, _ = self.strike(case, delay, [signal.SIGKILL])
            new = self.look(case, f"SIGKILL after {delay:.3f} s", strict=False)
            killed += code == -signal.SIGKILL
            written += code == -signal.SIGKILL and new > 0
        return killed, written

    def go(self):
        cases = CASES if not self.options.quick else [c for c in CASES if c.name in ("simulate", "count", "fit blica", "experiment")]
        cases = [c for c in cases if not self.options.only or c.name in self.options.only.split(",")]
        print(f"{'command':16}{'seconds':>9}{'INT+TERM':>10}{'loading':>9}{'best':>6}{'130':>6}{'done':>6}{'longest s':>11}{'KILL':>6}{'killed':>8}", flush=True)
        total = [0, 0]
        for i, case in enumerate(cases):
            seconds = self.took = self.seconds(case)
            counts, longest = self.soft(case, self.options.times)
            self.twice(case)
            kills = self.options.kills // len(cases) + (i < self.options.kills % len(cases))
            killed, _ = self.kill(case, kills)
            total[0] += self.options.times
            total[1] += kills
            print(f"{case.name:16}{seconds:9.2f}{self.options.times:10}{counts['early']:9}{counts['best']:6}{counts['none']:6}{counts['done']:6}"
                  f"{longest:11.2f}{kills:6}{killed:8}", flush=True)
        print(f"{total[0]} SIGINT and SIGTERM, {len(cases)} double, {total[1]} SIGKILL: {len(self.bad)} wrong")
        for line in self.bad[:100]:
            print("WRONG:", line)
        shutil.rmtree(self.work)
        return 1 if self.bad else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--blica", required=True)
    parser.add_argument("--times", type=int, default=20, help="SIGINT and SIGTERM per command")
    parser.add_argument("--kills", type=int, default=200, help="SIGKILL in all")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.blica = os.path.abspath(options.blica)
    if options.quick:
        options.times, options.kills = 4, 8
    return Driver(options).go()


if __name__ == "__main__":
    sys.exit(main())
