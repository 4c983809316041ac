"""Sources of rows that come in pieces or lie in a file, with the memory of one piece, and rows that cannot be scored."""
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import blica


@pytest.fixture(scope="module")
def drawn():
    return blica.simulate(variables=6, sources=2, segments=4, samples=150, seed=3)


@pytest.fixture(scope="module")
def ica(drawn):
    return blica.BinaryICA(2, random_state=5).fit(drawn.X, segments=drawn.segments)


@pytest.mark.parametrize("size", [1, 77, 600])
def test_pieces_give_the_doubles_of_the_whole(ica, drawn, size):
    whole = ica.transform(drawn.X, segments=drawn.segments, return_std=True, draws=3)
    cuts = range(0, 600, size)
    parts = ica.transform(((drawn.X[a:a + size], drawn.segments[a:a + size]) for a in cuts), return_std=True, draws=3)
    for got, expected in zip(map(np.concatenate, zip(*parts)), whole):
        assert (got == expected).all()
    frame = pd.DataFrame(drawn.X, columns=list("abcdef")).assign(wave=drawn.segments)
    model = blica.fit(frame, "wave", sources=2)
    found = list(blica.sources(model, (frame[a:a + size] for a in cuts), "wave", draws=2))
    expected = blica.sources(model, frame, "wave", draws=2)
    assert (np.concatenate([one.mean for one in found]) == expected.mean).all()
    assert (np.concatenate([one.draws for one in found]) == expected.draws).all()
    unknown = np.concatenate(list(ica.transform(drawn.X[a:a + size] for a in cuts)))
    assert (unknown == ica.transform(drawn.X)).all()


def test_a_piece_is_read_when_its_result_is_asked_for(ica, drawn):
    taken = []

    def pieces():
        for a in range(0, 600, 200):
            taken.append(a)
            yield drawn.X[a:a + 200], drawn.segments[a:a + 200]

    results = ica.transform(pieces())
    assert taken == []
    assert next(results).shape == (200, 2) and taken == [0]
    assert [len(part) for part in results] == [200, 200] and taken == [0, 200, 400]


def test_pieces_that_cannot_be_scored(ica, drawn):
    with pytest.raises(TypeError, match="bring their segments along"):
        next(ica.transform(iter([drawn.X]), segments=drawn.segments))
    with pytest.raises(TypeError, match="give pairs"):
        next(ica.transform(iter([(drawn.X, drawn.segments, 1)])))
    good = ica.transform(iter([drawn.X[:5], drawn.X[:5, :4]]))
    assert len(next(good)) == 5
    with pytest.raises(ValueError, match="4 features, but BinaryICA is expecting 6"):
        next(good)


LIMITED = """
import resource, sys
import numpy as np
import blica
path, rows = sys.argv[1], int(sys.argv[2])
model = blica.simulate(variables=10, sources=2, segments=4, samples=10, seed=2).model
x = np.memmap(path, dtype=np.int8, mode="w+", shape=(rows, 10))
rng = np.random.default_rng(1)
for start in range(0, rows, 100000):
    x[start:start + 100000] = rng.random((min(100000, rows - start), 10)) < 0.5
x.flush()
del x
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
seen = []
if sys.argv[3] == "map":
    x = np.memmap(path, dtype=np.int8, mode="r", shape=(rows, 10))
    z = blica.sources(model, x, threads=1, verbose=lambda state: seen.append(state["fraction"])).mean
    assert seen == sorted(seen) and 0 <= seen[0] < 0.2 and 0.8 < seen[-1] <= 1, (seen[0], seen[-1])
    assert z.shape == (rows, 2)
else:
    total = 0
    for part in blica.sources(model, (np.fromfile(path, np.int8, 500000, offset=10 * a).reshape(-1, 10) for a in range(0, rows, 50000)), threads=1):
        total += len(part.mean)
    assert total == rows
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("way, most", [("map", 150), ("pieces", 30)])
def test_memory_is_that_of_a_piece(tmp_path, way, most):
    """Two million rows of 10 items: as doubles they would take 160 MB; the result of the whole takes 64 MB, that of a piece 1.6 MB."""
    run = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path / "rows"), "2000000", way], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < most


def test_rows_that_cannot_be_scored(drawn):
    frame = pd.DataFrame(drawn.X, columns=list("abcdef")).assign(wave=drawn.segments)
    model = blica.fit(frame, "wave", sources=2)
    with pytest.raises(ValueError, match="there are no rows"):
        blica.sources(model, frame[:0], "wave")
    with pytest.raises(ValueError, match="5 variables, the model has 6"):
        blica.sources(model, frame.drop(columns="c"), "wave")
    with pytest.raises(ValueError, match="the model's variable 'c' is not in the data"):
        blica.sources(model, frame.rename(columns={"c": "other"}), "wave")
    with pytest.raises(ValueError, match="value 2 is neither 0 nor 1"):
        blica.sources(model, frame.assign(a=2), "wave")
    with pytest.raises(ValueError, match="segment '9'"):
        blica.sources(model, frame.assign(wave="9"), "wave")
    with pytest.raises(ValueError, match="draws"):
        blica.sources(model, frame, "wave", draws=-1)
