"""Points that processes of MPI share: each rank gets its part of what one process finds, and all ranks know of what one refuses."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ropewalk import DBSCAN, FriendsOfFriends

pytest.importorskip("mpi4py", reason="mpi4py is not installed")
if shutil.which("mpirun") is None:
    pytest.skip("there is no mpirun", allow_module_level=True)

RANDOM = np.random.default_rng(20261124)

#: Longer than any program here takes: ranks that wait for each other are ended then.
MOST_SECONDS = 60


def lattice(dim, n):
    """Whole numbers, so that many points are exactly 1 apart, in no order."""
    return RANDOM.permutation(np.stack(np.meshgrid(*[np.arange(n)] * dim), axis=-1).reshape(-1, dim)).astype(float)


def blobs(dim, n):
    """Dense places and points between them, in the unit box."""
    centers = RANDOM.uniform(0.0, 1.0, (12, dim))
    dense = centers[RANDOM.integers(0, 12, n)] + RANDOM.normal(0.0, 0.01, (n, dim))
    return np.vstack([dense, RANDOM.uniform(0.0, 1.0, (n // 4, dim))]) % 1.0


#: Points, a radius, a number of neighbours, and the side of a periodic box.
CLOUDS = {
    "uniform": (RANDOM.uniform(0.0, 1.0, (800, 3)), 0.06, 4, None),
    "uniform, periodic": (RANDOM.uniform(0.0, 1.0, (800, 3)), 0.06, 4, 1.0),
    "blobs": (blobs(2, 1000), 0.008, 6, None),
    "blobs, periodic, float32": (blobs(3, 1000).astype(np.float32), 0.02, 5, 1.0),
    "float32": (blobs(2, 600).astype(np.float32), 0.01, 5, None),
    "four coordinates": (blobs(4, 300), 0.03, 4, None),
    "one coordinate, float32": (RANDOM.uniform(0.0, 1.0, (200, 1)).astype(np.float32), 0.004, 3, None),
    "ties": (lattice(2, 25), 1.0, 5, None),
    "ties, some points left out": (lattice(3, 9)[:450], 1.0, 4, None),
    "ties, periodic": (lattice(3, 8)[:200], 1.0, 4, 8.0),
    "all in one place": (np.full((100, 3), 0.25), 0.0, 3, None),
    "fewer points than ranks": (np.array([[0.0, 0.0], [0.5, 0.0]]), 0.5, 2, None),
    "one point": (np.array([[1.0, 2.0, 3.0]], np.float32), 0.5, 1, None),
    "integers": (lattice(2, 12).astype(np.int32)[:100], 1.0, 4, None),
}

#: Which points each rank has.
SHARES = {
    "even": lambda n, ranks: np.linspace(0, n, ranks + 1).astype(int),
    "the second of them has none": lambda n, ranks: np.insert(np.linspace(0, n, max(ranks, 2)).astype(int), 1, 0)[-ranks - 1 :],
    "the last one has all": lambda n, ranks: np.array([0] * ranks + [n]),
}


def mpirun(ranks, *words):
    """How a program of Python ends that so many ranks run."""
    known = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    options = ["--oversubscribe", "--timeout", str(MOST_SECONDS)] if "Open MPI" in known else []
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    }
    command = ["mpirun", *options, "-n", str(ranks), sys.executable, "-m", "mpi4py", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * MOST_SECONDS)


def start(folder, ranks, program, *data):
    """What each rank gives for `found`, at the end of a program that has `comm`, `rank` and `data`."""
    (folder / "data").write_bytes(pickle.dumps(data))
    text = f"""
import pickle
import numpy as np
from mpi4py import MPI
from ropewalk import DBSCAN, FriendsOfFriends, _mpi
comm = MPI.COMM_WORLD
rank = comm.Get_rank()
with open({str(folder / "data")!r}, "rb") as file:
    data = pickle.load(file)
{program}
with open({str(folder)!r} + f"/{{rank}}", "wb") as file:
    pickle.dump((comm.Get_size(), found), file)
"""
    ended = mpirun(ranks, "-c", text)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    results = [pickle.loads((folder / str(rank)).read_bytes()) for rank in range(ranks)]
    # Otherwise each process is alone, of another library of MPI than mpirun is.
    assert [size for size, _ in results] == [ranks] * ranks
    return [found for _, found in results]


FITS = """
found = {}
for message_bytes in [None, 100]:
    _mpi._message_bytes = message_bytes
    for name, (X, radius, least, side) in data[0].items():
        for share, cuts in data[1][name].items():
            own = X[cuts[rank] : cuts[rank + 1]]
            dbscan = DBSCAN(eps=radius, min_samples=least, box_size=side, n_jobs=1).fit(own, comm=comm)
            fof = FriendsOfFriends(radius, min_members=least + 1, box_size=side, n_jobs=1).fit(own, comm=comm)
            groups = fof.groups_
            assert groups.labels is fof.labels_ and dbscan.n_features_in_ == fof.n_features_in_ == X.shape[1]
            members = [(number, own.tolist()) for number, own in zip(groups.numbers.tolist(), groups)]
            found[message_bytes, name, share] = (
                dbscan.labels_, dbscan.core_sample_indices_, fof.labels_, members, groups.n_all
            )
"""


@pytest.fixture(scope="module", params=[1, 2, 3, 4])
def fitted(request, tmp_path_factory):
    """The number of ranks, and what each of them has found."""
    ranks = request.param
    cuts = {name: {share: of(len(cloud[0]), ranks) for share, of in SHARES.items()} for name, cloud in CLOUDS.items()}
    return ranks, start(tmp_path_factory.mktemp("ranks"), ranks, FITS, CLOUDS, cuts)


@pytest.mark.parametrize("name", CLOUDS)
def test_ranks_and_one_process(fitted, name):
    ranks, found = fitted
    X, radius, least, side = CLOUDS[name]
    dbscan = DBSCAN(eps=radius, min_samples=least, box_size=side).fit(X)
    fof = FriendsOfFriends(radius, min_members=least + 1, box_size=side).fit(X)
    for message_bytes in [None, 100]:
        for share, of in SHARES.items():
            labels, core, groups, members, n_all = zip(*[own[message_bytes, name, share] for own in found], strict=True)
            cuts = of(len(X), ranks)
            assert [len(own) for own in labels] == np.diff(cuts).tolist()
            for own in labels + groups:
                assert own.dtype == np.int32
            np.testing.assert_array_equal(np.concatenate(labels), dbscan.labels_)
            shifted = np.concatenate([own + first for own, first in zip(core, cuts, strict=False)])
            np.testing.assert_array_equal(shifted, dbscan.core_sample_indices_)
            np.testing.assert_array_equal(np.concatenate(groups), fof.labels_)
            # Each group is owned once, whole, and a rank's own are in order.
            assert all(own == sorted(own) for own in members)
            assert sorted(sum(members, [])) == [(at, own.tolist()) for at, own in enumerate(fof.groups_)]
            assert n_all == (len(fof.groups_),) * ranks


@pytest.mark.parametrize("name", [name for name, cloud in CLOUDS.items() if cloud[1] > 0 and cloud[3] is None])
def test_ranks_and_scikit_learn(fitted, name):
    cluster = pytest.importorskip("sklearn.cluster")
    X, radius, least, _ = CLOUDS[name]
    theirs = cluster.DBSCAN(eps=radius, min_samples=least).fit(X)
    labels = np.concatenate([own[None, name, "even"][0] for own in fitted[1]])
    np.testing.assert_array_equal(labels, theirs.labels_)


REFUSALS = """
last = comm.Get_size() - 1
X = np.arange(12.0).reshape(4, 3)
bad = X.copy()
bad[3, 1] = np.nan
def either(of_last, of_others):
    return of_last if rank == last else of_others
def dbscan(X=X, weights=None, **options):
    return DBSCAN(**options).fit(X, sample_weight=weights, comm=comm)
def fof(X=X, length=1.0, **options):
    return FriendsOfFriends(length, **options).fit(X, comm=comm)
calls = {
    "eps": lambda: dbscan(eps=either(2.0, 1.0)),
    "eps is no number": lambda: dbscan(eps=either("1", 1.0)),
    "eps is negative": lambda: dbscan(eps=either(-1.0, 1.0)),
    "min_samples": lambda: dbscan(min_samples=either(3, 4)),
    "min_samples is none": lambda: dbscan(min_samples=either(0, 4)),
    "linking_length": lambda: fof(length=either(1.0, 2.0)),
    "min_members": lambda: fof(min_members=either(3, 2)),
    "box_size": lambda: fof(box_size=either(None, 50.0)),
    "box_size has two sides": lambda: dbscan(box_size=either([50.0, 50.0], 50.0)),
    "metric": lambda: dbscan(metric=either("cosine", "euclidean")),
    "n_jobs": lambda: fof(n_jobs=either(0, 1)),
    "NaN": lambda: dbscan(either(bad, X)),
    "NaN in groups": lambda: fof(either(bad, X)),
    "no rows": lambda: fof(either(X[0], X)),
    "eleven coordinates": lambda: fof(either(np.zeros((2, 11)), X)),
    "dimension": lambda: dbscan(either(X[:, :2], X)),
    "type": lambda: fof(either(X.astype(np.float32), X)),
    "weights": lambda: dbscan(weights=either([1.0] * 4, None)),
    "device": lambda: dbscan(device=either("cuda", None)),
    "functions": lambda: either(dbscan, fof)(),
}
found = {}
for name, call in calls.items():
    try:
        call()
        found[name] = None
    except Exception as error:
        found[name] = (type(error).__name__, str(error))
# Nothing is left over that disturbs those who call rightly.
assert fof(X + 100 * rank).labels_.tolist() == [-1] * 4
"""

#: What the sentence on all ranks holds.
SENTENCES = {
    "eps": "eps is 1; it must be the same on all ranks",
    "eps is no number": "eps is '1'; it must be a number",
    "eps is negative": "eps is -1",
    "min_samples": "min_pts is 4; it must be the same on all ranks",
    "min_samples is none": "min_samples is 0; it must be at least 1",
    "linking_length": "linking_length is 2; it must be the same on all ranks",
    "min_members": "min_members is 2; it must be the same on all ranks",
    "box_size": "periodic is 50; it must be the same on all ranks",
    "box_size has two sides": "box_size has 2 sides; the points have 3 coordinates",
    "metric": "metric is 'cosine'",
    "n_jobs": "n_jobs is 0",
    "NaN": "point 3: coordinate 1 is NaN; coordinates must be finite",
    "NaN in groups": "point 3: coordinate 1 is NaN; coordinates must be finite",
    "no rows": "Expected a 2-dimensional array X",
    "eleven coordinates": "11 dimensions: points may have 1 to 10",
    "dimension": "coordinates per point is 2 on rank 2 and 3 on rank 0",
    "type": "bits per coordinate (float32 or float64) is 32 on rank 2 and 64 on rank 0",
    "weights": "sample_weight is given with comm",
    "device": "device is 'cuda' with comm",
    "functions": "rank 2 calls another function than rank 0",
}


def test_what_one_rank_refuses_is_an_error_on_all(tmp_path):
    found = start(tmp_path, 3, REFUSALS)
    assert all(list(own) == list(SENTENCES) for own in found)
    for name, sentence in SENTENCES.items():
        for rank, own in enumerate(found):
            assert own[name] is not None, f"{name}: rank {rank} has no error"
            kind, text = own[name]
            assert kind in ("ValueError", "TypeError"), (name, rank, own[name])
            assert sentence in text, (name, rank)
        # One sentence, and the rank that it is of for those that it is not.
        own = {text.split(": ", 1)[1] if text.startswith("rank ") and text[6] == ":" else text for _, text in (own[name] for own in found)}
        assert len(own) == 1, own


NO_COMMUNICATORS = """
class Broken(MPI.Intracomm):
    "A communicator whose copies raise."
    def Dup(self, info=None):
        raise self.error
def broken(error):
    comm = Broken(MPI.COMM_WORLD)
    comm.error = error
    return comm
found = []
for other in [5, "world", MPI.COMM_NULL, MPI.COMM_WORLD.Get_group(), broken(OSError("the cable is cut")), broken(KeyboardInterrupt("Ctrl-C"))]:
    for estimator in [DBSCAN(), FriendsOfFriends(1.0)]:
        for X in [np.zeros((2, 3)), np.zeros(3)]:
            try:
                estimator.fit(X, comm=other)
            except BaseException as error:
                found.append((type(error).__name__, str(error)))
"""


def test_what_is_no_communicator(tmp_path):
    for own in start(tmp_path, 2, NO_COMMUNICATORS):
        assert len(own) == 24
        assert all(kind == "TypeError" and "it must be an intracommunicator of mpi4py" in text for kind, text in own[:16])
        assert own[16:20] == [("RuntimeError", "the communicator fails: the cable is cut")] * 4
        assert own[20:] == [("KeyboardInterrupt", "Ctrl-C")] * 4


PARTS = """
X = np.array([[0.0], [1.0], [2.0], [9.0]]) + rank
pairs = comm.Split(rank % 2, -rank)
dbscan = DBSCAN(eps=1.0, min_samples=3)
found = [dbscan.fit(X, comm=MPI.COMM_SELF).labels_.tolist(), dbscan.fit(X, comm=pairs).labels_.tolist()]
assert not hasattr(dbscan, "components_")
try:
    dbscan.predict(X)
except RuntimeError as error:
    found.append(str(error))
# In one process as before, and copies of communicators are given back: there are some 65 thousand.
found.append(dbscan.fit(X).predict([[0.5 + rank]]).tolist())
for _ in range(300):
    FriendsOfFriends(1.0).fit(X, comm=MPI.COMM_SELF)
found.append(repr(FriendsOfFriends(1.0).fit(X, comm=MPI.COMM_SELF).groups_))
"""


def test_parts_of_all_ranks(tmp_path):
    for rank, (alone, of_pair, refused, new, text) in enumerate(start(tmp_path, 4, PARTS)):
        assert alone == [0, 0, 0, -1]
        X = np.array([0.0, 1.0, 2.0, 9.0])
        # Of a pair the higher rank comes first.
        pair = [rank % 2 + 2, rank % 2]
        labels = DBSCAN(eps=1.0, min_samples=3).fit(np.concatenate([X + own for own in pair])[:, None]).labels_
        assert of_pair == labels.reshape(2, 4)[pair.index(rank)].tolist()
        assert "across ranks" in refused
        assert new == [0]
        assert text == "<OwnedGroups: 1 of 1 groups, with 3 points>"


def test_the_program_of_the_page(tmp_path):
    page = (Path(__file__).parent.parent / "docs" / "across_ranks.md").read_text()
    (tmp_path / "clusters.py").write_text(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1])
    ended = mpirun(4, str(tmp_path / "clusters.py"))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]


INTERRUPTED = """
import os, signal, threading
import numpy as np
from mpi4py import MPI
from ropewalk import FriendsOfFriends
X = np.random.default_rng(MPI.COMM_WORLD.Get_rank()).uniform(0.0, 1.0, (20000, 3))
if MPI.COMM_WORLD.Get_rank() == 1:
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
while True:
    FriendsOfFriends(0.02).fit(X, comm=MPI.COMM_WORLD)
"""


def test_control_c_on_one_rank_ends_all():
    started = time.monotonic()
    ended = mpirun(3, "-c", INTERRUPTED)
    assert ended.returncode != 0
    assert "KeyboardInterrupt" in ended.stderr, ended.stderr
    assert time.monotonic() - started < MOST_SECONDS
