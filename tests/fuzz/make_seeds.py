#!/usr/bin/python3
"""Makes tests/fuzz/seeds: small valid inputs of every target, by the program itself where it writes the format.

    tests/fuzz/make_seeds.py build/release/blica

The first bytes of a table are its options (tests/fuzz/table_check.c): levels and header, then how segments are named."""
import gzip
import io
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

blica = os.path.abspath(sys.argv[1])
seeds = pathlib.Path(__file__).resolve().parent / "seeds"
work = pathlib.Path(tempfile.mkdtemp())


def run(*words):
    done = subprocess.run([blica, *map(str, words), "--quiet"], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 4):
        sys.exit("blica %s: %s" % (" ".join(map(str, words)), done.stderr.decode()))


def put(target, name, content):
    folder = seeds / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def zstd(content):
    return subprocess.run(["zstd", "-q", "-c"], input=content, stdout=subprocess.PIPE, check=True).stdout


# ---- what the program writes
run("simulate", "--variables", 3, "--sources", 2, "--segments", 3, "--samples", 8, "--out", "small")
run("simulate", "--variables", 3, "--sources", 2, "--segments", 3, "--samples", 8, "--exact", "--out", "exact")
data = (work / "small/data.csv").read_bytes()
for method in ["blica", "matched", "mle", "ivae", "fastica"]:
    run("fit", "small/data.csv", "--sources", 2, "--method", method, "--starts", 1, "--max-iterations", 5, "--out", method + ".json")
    put("model", method + ".json", (work / (method + ".json")).read_bytes())
put("model", "truth.json", (work / "small/model.json").read_bytes())

# ---- tables of text
plain, last, length, count, file = (b"\0\0", b"\0\1", b"\0\x14", b"\0\x0d", b"\0\6")
lines = data.decode().splitlines()
body = lines[1:]
tables = {
    "header": plain + data,
    "headerless": last + "\n".join(body).encode(),
    "tabs": plain + data.replace(b",", b"\t"),
    "semicolons": plain + data.replace(b",", b";"),
    "blanks": last + "\n".join(body).replace(",", "  ").encode(),
    "crlf": plain + data.replace(b"\n", b"\r\n"),
    "quoted": plain + b'"a b","c,d","e""f","segment"\n' + b'"1",0,"",x\n0,"1",NA,"y\nz"\n' * 3,
    "quoted-blanks": last + b'"1"  "0" "1"\t"a b"\n0 1 NaN "a b"\n',
    "row-names": b"\0\0" + b"a,b,segment\nr1,0,1,x\nr2,1,0,y\n",
    "unnamed": b"\0\0" + b",a,b,segment\nr1,0,1,x\nr2,1,0,y\n",
    "length": length + "\n".join(line.rsplit(",", 1)[0] for line in body).encode(),
    "count": count + "\n".join(line.rsplit(",", 1)[0] for line in body).encode(),
    "labels": file + b"0,1\n1,0\n1,1\n\fa\nb\n\"a\"\n",
    "levels": b"\1\3" + b"smoker,age,segment\nno,1,a\nyes,2,a\nno,,b\n",
    "floats": last + b"0.0,1.0,1e0,7\n1,-0,0x1,7\n",
    "mark": plain + b"\xef\xbb\xbf" + data,
    "wide": last + b",".join([b"0,1"] * 40) + b",s\n" + b",".join([b"1,1"] * 40) + b",s\n",
    "third-value": plain + b"a,b,segment\n0,2,1\n",
    "ragged": plain + b"a,b,segment\n0,1,1\n0,1\n",
}
for name, content in tables.items():
    put("csv", name, content)
for name in ["header", "quoted", "blanks", "levels"]:
    options, text = tables[name][:2], tables[name][2:]
    two = gzip.compress(text[:20], mtime=0) + gzip.compress(text[20:], mtime=0)
    put("gz", name + "-file", b"\0" + options + gzip.compress(text, mtime=0))
    put("gz", name + "-members", b"\0" + options + two)
    put("zst", name + "-file", b"\0" + options + zstd(text))
    put("zst", name + "-members", b"\0" + options + zstd(text[:20]) + zstd(text[20:]))
    for target in ["gz", "zst"]:
        put(target, name + "-text", b"\1" + options + text)
        put(target, name + "-damaged", b"\2" + options + b"\0\0\0\0\1\0\5\0" + text)

# ---- arrays
rows = numpy.array([[0, 1, 1, 5], [1, 0, 1, 5], [1, 1, 0, 6], [0, 0, 1, 6]])
for name, array in {
    "int8": rows.astype("i1"), "uint64": rows.astype("u8"), "float64": rows.astype("f8"), "float16": rows.astype("f2"),
    "fortran": numpy.asfortranarray(rows.astype("i4")), "bool": rows.astype(bool), "one-dimension": rows[0],
    "text": rows.astype("U2"), "missing": numpy.where(rows == 1, numpy.nan, rows)}.items():
    stream = io.BytesIO()
    numpy.save(stream, array)
    put("npy", name, last + stream.getvalue())
stream = io.BytesIO()
numpy.lib.format.write_array(stream, rows.astype("i1"), version=(2, 0))
put("npy", "version-2", length + stream.getvalue())
stream = io.BytesIO()
numpy.save(stream, rows.astype("i1"))
put("npy", "packed", last + gzip.compress(stream.getvalue(), mtime=0))

# ---- files of SPSS and Stata as R's haven writes them, then the same with lies: first byte 0 .sav, 1 .dta, 2 .por, 4 more for --ordinal
R = '''
library(haven)
item <- function(x) labelled_spss(x, c(No = 0, Yes = 1, Refused = 9), na_values = 9)
d <- data.frame(q1 = item(c(0, 1, 1, 9, 0, NA)), q2 = item(c(1, 0, 1, 0, 9, 1)))
d$q3 <- labelled(c(1, 2, 3, 1, 2, 3), c(Low = 1, High = 3, Unused = 7), label = "A label that is longer than the name of the variable")
d$segment <- labelled(c(1, 1, 1, 2, 2, 2), c(spring = 1))
write_sav(d, "plain.sav", compress = "none")
write_sav(d, "bytes.sav")
write_sav(d, "z.zsav", compress = "zsav")
other <- data.frame(q1 = c(0, 1, 1), text = c("short", strrep("long ", 60), ""), day = as.Date("2024-01-01") + 0:2, time = as.difftime(0:2, units = "secs"))
write_sav(other, "other.sav", compress = "none")
write_sav(d[0, ], "no-rows.sav", compress = "none")
for (i in seq_along(d)) d[[i]] <- labelled(as.integer(zap_missing(zap_labels(d[[i]]))), c(No = 0L, Yes = 1L))
for (version in c(8, 12, 14)) write_dta(d, paste0("stata-", version, ".dta"), version = version)
write_dta(other, "other.dta")
write_dta(d[0, ], "no-rows.dta")
'''
subprocess.run(["Rscript", "--vanilla", "-e", R], cwd=work, check=True)
day = re.compile(rb"\d\d [A-Z][a-z]{2} (\d{4} \d\d:\d\d|\d\d\d\d:\d\d:\d\d)")  # of the writing
named = {path.name: day.sub(lambda found: (b"01 Jan 2024 00:00" if found[1][4:5] == b" " else b"01 Jan 2400:00:00"), path.read_bytes())
         for path in sorted(work.iterdir()) if path.suffix in (".sav", ".zsav", ".dta")}
for name, content in named.items():
    kind = 1 if name.endswith("dta") else 0
    put("survey", name, bytes([kind, 0, 3]) + content)
    put("survey", "ordinal-" + name, bytes([kind | 4, 0, 3]) + content)
    for number, share in enumerate([.02, .1, .5, .9, .99]):
        put("survey", "cut-%d-%s" % (number, name), bytes([kind, 0, 3]) + content[:int(share * len(content))])


def lie(name, what, at, value, size=4):
    content = bytearray(named[name])
    content[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    put("survey", "lie-" + what + "-" + name, bytes([int(name.endswith("dta")), 0, 3]) + content)


for number, value in enumerate([0, -1, 1, 2**31 - 1]):
    lie("plain.sav", "width-%d" % number, 68, value)  # values of a row
    lie("plain.sav", "compression-%d" % number, 72, value + 2)
    lie("plain.sav", "rows-%d" % number, 80, value)
    plain = named["plain.sav"]
    first_variable, first_label = 176, plain.index(b"\2No")
    lie("plain.sav", "string-%d" % number, first_variable + 4, value)
    lie("plain.sav", "missing-%d" % number, first_variable + 12, value * 2)
    lie("plain.sav", "labels-%d" % number, first_label - 12, value)
    lie("plain.sav", "label-length-%d" % number, first_label, value, 1)
    information = plain.index(b"\7\0\0\0")
    lie("plain.sav", "record-size-%d" % number, information + 8, value)
    lie("plain.sav", "record-count-%d" % number, information + 12, value)
    lie("bytes.sav", "bias-%d" % number, 84 + 4, value)
    packed = named["z.zsav"]
    lie("z.zsav", "offset-%d" % number, len(packed) - 24, value, 8)
    old, new = named["stata-8.dta"], named["stata-14.dta"]
    lie("stata-8.dta", "columns-%d" % number, 4, value, 2)
    lie("stata-8.dta", "rows-%d" % number, 6, value)
    lie("stata-14.dta", "columns-%d" % number, new.index(b"<K>") + 3, value, 2)
    lie("stata-14.dta", "rows-%d" % number, new.index(b"<N>") + 3, value, 8)
    lie("stata-14.dta", "map-%d" % number, new.index(b"<map>") + 5 + 8 * 9, value, 8)
    lie("stata-14.dta", "table-%d" % number, new.index(b"<lbl>") + 5, value)
put("survey", "same-name", bytes([0, 0, 3]) + named["plain.sav"].replace(b"Q2      ", b"Q1      "))
put("survey", "no-name", bytes([0, 0, 3]) + named["plain.sav"].replace(b"Q2      ", b"        "))
put("survey", "not-one", bytes([0, 0, 3]) + b"a,b,segment\n0,1,x\n")

# ---- pair counts: the file, and its arrays one after the other (tests/fuzz/fuzz_counts_npz.c)
names = ["format", "version", "variables", "segments", "samples", "exact", "ones", "present", "n11", "n10", "n01", "n00"]
(work / "missing.csv").write_text("a,b,c,segment\n1,0,,x\n0,1,1,x\n1,NA,0,y\n1,1,1,y\n0,0,1,y\n")
for source in ["small/data.csv", "missing.csv"]:
    name = source.split("/")[0].split(".")[0]
    for ending in ["npz", "csv"]:
        run("count", source, "--out", name + "." + ending)
for name in ["small", "missing", "exact"]:
    path = work / ("exact/counts.npz" if name == "exact" else name + ".npz")
    put("counts_npz", name + "-file", b"\1" + path.read_bytes())
    arrays = b"\0"
    with numpy.load(path) as archive:
        for key in archive.files:
            stream = io.BytesIO()
            numpy.save(stream, archive[key])
            content = stream.getvalue()
            arrays += bytes([names.index(key)]) + len(content).to_bytes(2, "big") + content
    put("counts_npz", name + "-arrays", arrays)
for name in ["small", "missing"]:
    put("counts_csv", name, (work / (name + ".csv")).read_bytes())
put("counts_csv", "exact", b"# exact\n" + (work / "missing.csv").read_bytes())
put("counts_csv", "no-margins", b'segment,i,j,n11,n10,n01,n00\n"s,1",b,a,1.5,2,3e0,4\n')

# ---- matrices
put("matrix", "plain", b"1,2\n3,-4e5\n.5,6\n")
put("matrix", "named", b'"","a","b"\n"x",1,2\n"y",3,4\n')
put("matrix", "blanks", b"a b\nx 1 2\ny 3 4\n")
put("matrix", "tabs", b"a\tb\n1\t2\n3\t4\n")
put("matrix", "semicolons", b"1;2\n3;4\n")
put("matrix", "model", (work / "small/model.json").read_bytes())

# ---- command lines and options
lines = ["data.csv --sources 3 --out m.json", "data.csv --method=pairwise --condition none --max-seconds 1e-3",
         "--variables 5 --exact --seed 18446744073709551615", "-- -x --help", "--segment-colum last", "--threads all --quiet a b"]
for number, line in enumerate(lines):
    for command in [0, 1, 5, 6]:
        put("options", "line-%d-%d" % (command, number), bytes([command, 255]) + line.replace(" ", "\n").encode())
for number, text in enumerate(["1", "-1", "none", "inf", "nan", "1e400", "0x10", "default", "yes", "9223372036854775808", " 1", "blica"]):
    put("options", "value-%d" % number, bytes([5, number]) + text.encode())

# ---- reports: models whose names look like markup
for method in ["blica", "truth"]:
    text = (seeds / "model" / (method + ".json")).read_text()
    text = text.replace('"x1"', r'"<script>alert(1)</script>\" onload=\"x"').replace('"x2"', '"\']]>&amp;\\u2028"')
    put("report", method + "-data", b"\0" + text.encode())
    put("report", method, b"\1" + text.encode())

# ---- checkpoints: the file, and changes of what each method leaves (tests/fuzz/fuzz_checkpoint.c)
chance = random.Random(2)
run("fit", "small/data.csv", "--sources", 2, "--method", "ivae", "--starts", 1000, "--max-seconds", 0.1, "--checkpoint", "kept",
    "--out", "kept.json")
kept = (work / "kept").read_bytes()
put("checkpoint", "file", b"\1" + kept)
put("checkpoint", "cut", b"\3" + kept[:100])
for kind in range(8):
    for stop in [1, 3, 5, 7]:
        first = bytes([stop << 4 | kind << 1])
        put("checkpoint", "as-it-is-%d-%d" % (kind, stop), first)
        put("checkpoint", "changed-%d-%d" % (kind, stop), first + bytes(chance.randrange(240) for _ in range(10)))

# ---- numerical targets take any bytes
chance = random.Random(1)
for target in ["tetrachoric", "bvn", "mvn", "correlate", "regularise", "fit", "loglik", "compare", "identify"]:
    for number in range(6):
        put(target, "random-%d" % number, bytes(chance.randrange(256) for _ in range(40 + 40 * number)))

shutil.rmtree(work)
