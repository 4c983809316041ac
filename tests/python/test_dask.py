"""Dask frames and arrays: the doubles of one machine, on processes that may die, and what is refused."""
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import blica

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    dask.config.set({"distributed.worker.daemon": True, "distributed.scheduler.work-stealing": False})
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
                                  dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@pytest.fixture(scope="module")
def drawn():
    return blica.simulate(variables=6, sources=2, segments=8, samples=200, seed=3)


@pytest.fixture(scope="module")
def frame(drawn):
    """Rows of segments in no order, with missing values in two forms."""
    made = pd.DataFrame(drawn.X.astype(float), columns=list("abcdef")).assign(wave=[int(s) for s in drawn.segments])
    made.loc[::2, "a"] = np.nan
    made.loc[1::2, "f"] = np.nan
    return made.sample(frac=1, random_state=1).reset_index(drop=True)


def same(a, b):
    for part in ("mixing", "variances", "means", "cuts", "samples"):
        assert (getattr(a, part) == getattr(b, part)).all(), part
    assert a.segments == b.segments and a.variables == b.variables and a.levels == b.levels


def same_counts(a, b):
    assert a.segments == b.segments and a.variables == b.variables
    assert (a.samples == b.samples).all() and (a.ones == b.ones).all() and (a.present == b.present).all()
    n = len(a.variables)
    for s in range(len(a.segments)):
        assert all((a.table(s, i, j) == b.table(s, i, j)).all() for j in range(n) for i in range(j))


@pytest.mark.parametrize("partitions", [1, 3, 20])
def test_frames_give_the_doubles_of_one_machine(client, frame, partitions):
    ddf = dd.from_pandas(frame, npartitions=partitions, sort=False)
    same_counts(blica.count(ddf, "wave"), blica.count(frame, "wave"))
    same(blica.fit(ddf, "wave", sources=2), blica.fit(frame, "wave", sources=2))
    lazy, near = (blica.BinaryICA(2, segment_column="wave").fit(x) for x in (ddf, frame))
    same(lazy.model_, near.model_)
    assert (lazy.correlations_ == near.correlations_).all() and lazy.levels_ == near.levels_
    assert (lazy.feature_names_in_ == near.feature_names_in_).all() and lazy.n_features_in_ == 7
    assert (lazy.transform(frame) == near.transform(frame)).all()


def test_arrays_and_labels(client, drawn):
    x = da.from_array(drawn.X, chunks=(700, 2))
    near = blica.count(drawn.X, drawn.segments)
    same_counts(blica.count(x, drawn.segments), near)
    same_counts(blica.count(x, da.from_array(np.array(drawn.segments), chunks=700)), near)
    same(blica.BinaryICA(2).fit(x, segments=drawn.segments).model_, blica.BinaryICA(2).fit(drawn.X, segments=drawn.segments).model_)
    with pytest.raises(ValueError, match="segments has 16 partitions, X has 3"):
        blica.count(x, da.from_array(np.array(drawn.segments), chunks=100))
    with pytest.raises(ValueError, match="segments has 5 labels, X has 1600 rows"):
        blica.count(x, drawn.segments[:5])


def test_levels_are_those_of_all_partitions(client):
    drawn = blica.simulate(variables=5, sources=2, segments=6, samples=100, levels=4, seed=4)
    frame = pd.DataFrame(drawn.X + 3, columns=list("abcde")).sort_values("a")  # a partition lacks levels
    frame["d"] = pd.Categorical.from_codes(frame["d"] - 3, list("wxyz"), ordered=True)
    frame["wave"] = pd.Categorical(np.array(drawn.segments)[frame.index], categories=["6", "5", "4", "3", "2", "1"])
    ddf = dd.from_pandas(frame, npartitions=7, sort=False)
    near = blica.fit(frame, "wave", sources=2, ordinal=True, missing=6)
    assert near.segments == ["6", "5", "4", "3", "2", "1"] and near.levels[0] == ["3", "4", "5"]
    same(blica.fit(ddf, "wave", sources=2, ordinal=True, missing=6), near)
    given = {"levels": {name: [6, 5, 4, 3] for name in "abce"}}
    same(blica.fit(ddf, "wave", sources=2, **given), blica.fit(frame, "wave", sources=2, **given))
    words = frame.assign(a=np.where(frame["a"] > 4, "yes", "no"))
    for name in "bce":
        words[name] = np.where(words[name] > 4, "B", "A")
    same(blica.fit(dd.from_pandas(words, npartitions=4, sort=False), "wave", sources=2), blica.fit(words, "wave", sources=2))
    numbers = frame[list("abce") + ["wave"]]
    same(blica.fit(dd.from_pandas(numbers, npartitions=4, sort=False), "wave", sources=2, binarize=4),
         blica.fit(numbers, "wave", sources=2, binarize=4))


def test_what_is_no_item_is_refused_with_its_partition(client, frame):
    def spoiled(**cells):
        made = frame.copy()
        for name, value in cells.items():
            made.loc[1000, name] = value
        return dd.from_pandas(made, npartitions=4, sort=False)

    with pytest.raises(ValueError, match="column 0 \\('a'\\) has 3 different values"):
        blica.count(spoiled(a=2), "wave")
    with pytest.raises(ValueError, match="partition 2: row 200, column 0 \\('a'\\): value 2 is not one of its levels 0<1"):
        blica.count(spoiled(a=2), "wave", levels=[0, 1])
    with pytest.raises(ValueError, match="partition 2: row 200 has no segment"):
        blica.count(spoiled(wave=np.nan), "wave")
    with pytest.raises(ValueError, match="segments is 'term', which is not a column"):
        blica.count(spoiled(), "term")
    with pytest.raises(ValueError, match="one segment"):
        blica.fit(spoiled()[list("abcdef")], sources=2)
    with pytest.raises(ValueError, match="there are no rows"):
        blica.count(spoiled().query("wave > 99"), "wave")
    with pytest.raises(ValueError, match="mle.*rows"):
        blica.fit(spoiled(), "wave", sources=2, method="mle")
    with pytest.raises(TypeError, match="map_partitions"):
        blica.select(spoiled(), "wave", sources=2)
    with pytest.raises(ValueError, match="needs the rows in one place"):
        blica.BinaryICA(2, segments="auto").fit(spoiled())


def test_a_partition_with_another_column(client, frame):
    parts = [dask.delayed(lambda: frame.iloc[:800])(), dask.delayed(lambda: frame.iloc[800:].rename(columns={"c": "other"}))()]
    with pytest.raises(ValueError, match="partition 1 has the columns a, b, other, d, e, f, wave; those of the frame are a, b, c"):
        blica.count(dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False), "wave")


def die_once(part, mark, victim):
    """Ends this worker's process in the middle of the work, the first time."""
    if os.path.exists(mark) or not (part.index == victim).any():
        return part
    open(mark, "w").close()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed(client, frame, tmp_path):
    before = set(client.scheduler_info()["workers"])
    ddf = dd.from_pandas(frame, npartitions=12, sort=False).map_partitions(die_once, str(tmp_path / "mark"), 900, meta=frame.iloc[:0])
    same_counts(blica.count(ddf, "wave"), blica.count(frame, "wave"))
    assert (tmp_path / "mark").exists() and set(client.scheduler_info()["workers"]) != before


def test_draws_and_folds_by_the_workers_are_the_doubles_of_one_machine(client, drawn, frame):
    near, far = (blica.fit(frame, "wave", sources=2) for _ in range(2))
    one = blica.assess(near, frame, "wave", bootstrap=30)
    many = blica.assess(far, frame, "wave", bootstrap=30, client=client)
    assert many.draws == 30 and far.assessment is many and many.model is far
    for part in ("mixing_se", "mixing_se_bootstrap", "log_variance_se_bootstrap", "angle", "m2", "change_p"):
        assert (np.asarray(getattr(one, part)) == np.asarray(getattr(many, part))).all(), part
    with pytest.warns(blica.BlicaWarning, match="at most 6 sources are compared"):
        shared = blica.select(drawn.X, drawn.segments, sources="1:9", references=20, client=client)
    with pytest.warns(blica.BlicaWarning, match="at most 6 sources are compared"):
        alone = blica.select(drawn.X, drawn.segments, sources="1:9", references=20)
    assert (shared.heldout == alone.heldout).all() and (shared.reference == alone.reference).all() and shared.reason == alone.reason


class Deadly(int):
    """A number whose use ends the process of a worker, the first time."""

    def __new__(cls, number, mark, home):
        made = super().__new__(cls, number)
        made.mark, made.home = mark, home
        return made

    def __reduce__(self):
        return Deadly, (super().__int__(), self.mark, self.home)

    def __int__(self):
        if os.getpid() != self.home and not os.path.exists(self.mark):
            open(self.mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__int__()


def test_a_worker_that_is_killed_while_the_others_wait_for_it(client, frame, tmp_path):
    client.wait_for_workers(2)
    near, far = (blica.fit(frame, "wave", sources=2) for _ in range(2))
    one = blica.assess(near, frame, "wave", bootstrap=20, seed=7)
    many = blica.assess(far, frame, "wave", bootstrap=20, seed=Deadly(7, str(tmp_path / "mark"), os.getpid()), client=client)
    assert (tmp_path / "mark").exists()
    assert (one.mixing_se_bootstrap == many.mixing_se_bootstrap).all()


def test_what_workers_cannot_share_is_refused(client, drawn):
    with pytest.raises(TypeError, match="client is 3; give a distributed.Client"):
        blica.select(drawn.X, drawn.segments, client=3)
    with pytest.raises(ValueError, match="verbose has no effect"):
        blica.select(drawn.X, drawn.segments, client=client, verbose=1)
    with pytest.raises(ValueError, match="'2:x' is not allowed"):
        blica.select(drawn.X, drawn.segments, sources="2:x", client=client)
    with pytest.raises(ValueError, match="X is not given"):
        blica.assess(drawn.model, client=client)


def test_without_a_client_and_without_dask(frame):
    with dask.config.set(scheduler="synchronous"):
        same_counts(blica.count(dd.from_pandas(frame, npartitions=3, sort=False), "wave"), blica.count(frame, "wave"))
    subprocess.run([sys.executable, "-c", "import blica, sys; blica.count([[0, 1], [1, 0]]); assert 'dask' not in sys.modules"], check=True)
