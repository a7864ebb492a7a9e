"""Points distributed over MPI ranks: each rank gets its part of the result of one process, and errors of one rank reach all
ranks."""

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

#: Longer than any program here takes. Ranks that wait for each other are ended after this time.
MOST_SECONDS = 60


def lattice(dim, n):
    """Returns integer points in random order, many of them exactly 1 apart."""
    return RANDOM.permutation(np.stack(np.meshgrid(*[np.arange(n)] * dim), axis=-1).reshape(-1, dim)).astype(float)


def blobs(dim, n):
    """Returns dense clumps and points between them in the unit box."""
    centers = RANDOM.uniform(0.0, 1.0, (12, dim))
    dense = centers[RANDOM.integers(0, 12, n)] + RANDOM.normal(0.0, 0.01, (n, dim))
    return np.vstack([dense, RANDOM.uniform(0.0, 1.0, (n // 4, dim))]) % 1.0


#: Points, a radius, a number of neighbours, and the side of the periodic box.
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

#: The distribution of points over ranks.
SHARES = {
    "even": lambda n, ranks: np.linspace(0, n, ranks + 1).astype(int),
    "the second of them has none": lambda n, ranks: np.insert(np.linspace(0, n, max(ranks, 2)).astype(int), 1, 0)[-ranks - 1 :],
    "the last one has all": lambda n, ranks: np.array([0] * ranks + [n]),
}


def mpirun(ranks, *words):
    """Runs a Python program on the given number of ranks, and returns its outcome."""
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
    """Returns the value of `found` on each rank at the end of a program, which can use `comm`, `rank` and `data`."""
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
    # Otherwise mpi4py uses another MPI library than mpirun, and each process is alone.
    assert [size for size, _ in results] == [ranks] * ranks
    return [found for _, found in results]


FITS = """
found = {}
for few in [False, True]:
    # Short messages to two ranks at a time: with four ranks there is a second round of passes.
    _mpi._limits = _mpi.Limits(piece=100, gathered=100, partners=2) if few else None
    for name, (X, radius, least, side) in data[0].items():
        for share, cuts in data[1][name].items():
            own = X[cuts[rank] : cuts[rank + 1]]
            dbscan = DBSCAN(eps=radius, min_samples=least, box_size=side, n_jobs=1).fit(own, comm=comm)
            fof = FriendsOfFriends(radius, min_members=least + 1, box_size=side, n_jobs=1).fit(own, comm=comm)
            groups = fof.groups_
            assert groups.labels is fof.labels_ and dbscan.n_features_in_ == fof.n_features_in_ == X.shape[1]
            members = [(number, own.tolist()) for number, own in zip(groups.numbers.tolist(), groups)]
            for number, own in members:
                assert groups.members(number).tolist() == groups[number].tolist() == own
            for number in set(range(groups.n_all)) - set(groups.numbers.tolist()):
                try:
                    groups.members(number)
                    raise AssertionError(f"{number} is not of {groups.numbers}")
                except IndexError:
                    pass
            found[few, name, share] = (
                dbscan.labels_, dbscan.core_sample_indices_, fof.labels_, members, groups.n_all
            )
"""


@pytest.fixture(scope="module", params=[1, 2, 3, 4])
def fitted(request, tmp_path_factory):
    """Returns the number of ranks, and the results of each rank."""
    ranks = request.param
    cuts = {name: {share: of(len(cloud[0]), ranks) for share, of in SHARES.items()} for name, cloud in CLOUDS.items()}
    return ranks, start(tmp_path_factory.mktemp("ranks"), ranks, FITS, CLOUDS, cuts)


@pytest.mark.parametrize("name", CLOUDS)
def test_ranks_and_one_process(fitted, name):
    ranks, found = fitted
    X, radius, least, side = CLOUDS[name]
    dbscan = DBSCAN(eps=radius, min_samples=least, box_size=side).fit(X)
    fof = FriendsOfFriends(radius, min_members=least + 1, box_size=side).fit(X)
    for few in [False, True]:
        for share, of in SHARES.items():
            labels, core, groups, members, n_all = zip(*[own[few, name, share] for own in found], strict=True)
            cuts = of(len(X), ranks)
            assert [len(own) for own in labels] == np.diff(cuts).tolist()
            for own in labels + groups:
                assert own.dtype == np.int32
            np.testing.assert_array_equal(np.concatenate(labels), dbscan.labels_)
            shifted = np.concatenate([own + first for own, first in zip(core, cuts, strict=False)])
            np.testing.assert_array_equal(shifted, dbscan.core_sample_indices_)
            np.testing.assert_array_equal(np.concatenate(groups), fof.labels_)
            # Each group is owned by one rank with all its members, and a rank's groups are in order.
            assert all(own == sorted(own) for own in members)
            assert sorted(sum(members, [])) == [(at, own.tolist()) for at, own in enumerate(fof.groups_)]
            assert n_all == (len(fof.groups_),) * ranks


@pytest.mark.parametrize("name", [name for name, cloud in CLOUDS.items() if cloud[1] > 0 and cloud[3] is None])
def test_ranks_and_scikit_learn(fitted, name):
    cluster = pytest.importorskip("sklearn.cluster")
    X, radius, least, _ = CLOUDS[name]
    theirs = cluster.DBSCAN(eps=radius, min_samples=least).fit(X)
    labels = np.concatenate([own[False, name, "even"][0] for own in fitted[1]])
    np.testing.assert_array_equal(labels, theirs.labels_)


REFUSALS = """
import pandas
X = np.arange(12.0).reshape(4, 3)
bad = X.copy()
bad[3, 1] = np.nan
def either(of_some, of_others):
    return of_some if rank in data[0] else of_others
def dbscan(X=X, weights=None, **options):
    return DBSCAN(**options).fit(X, sample_weight=weights, comm=comm)
def fof(X=X, length=1.0, **options):
    return FriendsOfFriends(length, **options).fit(X, comm=comm)
class Raises:
    def __init__(self, error):
        self.error = error
    def __array__(self, *_, **__):
        raise self.error
class Mute(ValueError):
    def __str__(self):
        raise OSError("there is no sentence")
calls = {
    "eps": lambda: dbscan(eps=either(2.0, 1.0)),
    "eps is negative": lambda: dbscan(eps=either(-1.0, 1.0)),
    "min_samples": lambda: dbscan(min_samples=either(3, 4)),
    "linking_length": lambda: fof(length=either(1.0, 2.0)),
    "min_members": lambda: fof(min_members=either(3, 2)),
    "box_size": lambda: fof(box_size=either(None, 50.0)),
    "one side": lambda: dbscan(box_size=either([50.0, 50.0, 60.0], 50.0)),
    "dimension": lambda: dbscan(either(X[:, :2], X)),
    "dimension of a box": lambda: dbscan(either(X[:, :2], X), box_size=50.0),
    "type": lambda: fof(either(X.astype(np.float32), X)),
    "functions": lambda: either(dbscan, fof)(),
    "eps is no number": lambda: dbscan(eps=either("1", 1.0)),
    "min_samples is none": lambda: dbscan(min_samples=either(0, 4)),
    "box_size has two sides": lambda: dbscan(box_size=either([50.0, 50.0], 50.0)),
    "metric": lambda: dbscan(metric=either("cosine", "euclidean")),
    "n_jobs": lambda: fof(n_jobs=either(0, 1)),
    "NaN": lambda: dbscan(either(bad, X)),
    "NaN in groups": lambda: fof(either(bad, X)),
    "no rows": lambda: fof(either(X[0], X)),
    "eleven coordinates": lambda: fof(either(np.zeros((2, 11)), X)),
    "weights": lambda: dbscan(weights=either([1.0] * 4, None)),
    "device": lambda: dbscan(device=either("cuda", None)),
    "order of columns": lambda: fof(pandas.DataFrame(X, columns=either(["x", "z", "y"], ["x", "y", "z"]))),
    "no names": lambda: dbscan(either(X, pandas.DataFrame(X, columns=["x", "y", "z"]))),
    "no sentence": lambda: fof(either(Raises(Mute()), X)),
    "an empty sentence": lambda: fof(either(Raises(ValueError()), X)),
    "half a letter": lambda: fof(either(Raises(ValueError("file \\udc80 is gone")), X)),
}
# Each rank's points fit the box; those of all ranks do not, or those of some by themselves.
slab = X / 100 + rank
calls |= {
    "narrow box": lambda: dbscan(slab, eps=0.01, box_size=1.5),
    "narrow box in groups": lambda: fof(slab.astype(np.float32), length=0.01, box_size=[200.0, 200.0, 1.5]),
    "points that are wide": lambda: fof(either(100 * X, X), length=0.01, box_size=50.0),
}
found = {}
for name, call in calls.items():
    try:
        call()
        found[name] = None
    except Exception as error:
        found[name] = (type(error).__name__, _mpi._sentence(error))
# Nothing is left over that disturbs those who call rightly.
assert fof(X + 100 * rank).labels_.tolist() == [-1] * 4
assert fof(pandas.DataFrame(X, columns=["x", "y", "z"])).feature_names_in_.tolist() == ["x", "y", "z"]
"""

#: The parameter that differs, its value on the deviating ranks, and its value on the others.
DIFFERENCES = {
    "eps": ("eps", 2, 1),
    "eps is negative": ("eps", -1, 1),
    "min_samples": ("min_samples", 3, 4),
    "linking_length": ("linking_length", 1, 2),
    "min_members": ("min_members", 3, 2),
    "box_size": ("box_size (0 for none)", 0, 50),
    "one side": ("box_size (0 for none)", 60, 50),
    "dimension": ("coordinates per point", 2, 3),
    "dimension of a box": ("coordinates per point", 2, 3),
    "type": ("bits per coordinate (float32 or float64)", 32, 64),
}

#: Part of the message on all ranks, if one rank rejects its own arguments or if the message has no values.
SENTENCES = {
    "functions": "and rank 0 call different functions",
    "eps is no number": "eps is '1'; it must be a number",
    "min_samples is none": "min_samples is 0; it must be at least 1",
    "box_size has two sides": "box_size has 2 sides; the points have 3 coordinates",
    "metric": "metric is 'cosine'",
    "n_jobs": "n_jobs is 0",
    "NaN": "point 3: coordinate 1 is NaN; coordinates must be finite",
    "NaN in groups": "point 3: coordinate 1 is NaN; coordinates must be finite",
    "no rows": "Expected a 2-dimensional array X",
    "eleven coordinates": "unsupported dimension 11",
    "weights": "sample_weight is not supported with comm",
    "device": "device is 'cuda'; with comm it must be",
    "order of columns": "the digest of feature names (0 for none) is ",
    "no names": "the digest of feature names (0 for none) is ",
    "no sentence": "Mute",
    "an empty sentence": "ValueError",
    "half a letter": "file \\udc80 is gone",
    "narrow box": "the periodic box is 1.5, but along axis 0 the points run from 0 to 2.09",
    "narrow box in groups": "the periodic box is 1.5, but along axis 2 the points run from 0.02",
    "points that are wide": "the periodic box is 50, but along axis 0 the points run from 0 to 900",
}


@pytest.mark.parametrize("refusing", [[2], [0], [0, 1], [1, 2]])
def test_what_ranks_refuse_is_an_error_on_all(tmp_path, refusing):
    pytest.importorskip("pandas")
    found = start(tmp_path, 3, REFUSALS, refusing)
    sentences = dict(SENTENCES)
    for name, (what, of_some, of_others) in DIFFERENCES.items():
        asked = [of_some if rank in refusing else of_others for rank in range(3)]
        first = next(rank for rank in range(3) if asked[rank] != asked[0])
        sentences[name] = f"{what} is {asked[first]} on rank {first} and {asked[0]} on rank 0"
    assert all(set(own) == set(sentences) for own in found)
    for name, sentence in sentences.items():
        for rank, own in enumerate(found):
            assert own[name] is not None, f"{name}: rank {rank} has no error"
            kind, text = own[name]
            assert kind in ("ValueError", "TypeError", "Mute"), (name, rank, own[name])
            assert sentence in text, (name, rank, text)
        # All ranks have the same message, apart from the number of the rank that the error comes from.
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
        assert own[16:20] == [("RuntimeError", "the communicator failed: the cable is cut")] * 4
        assert own[20:] == [("KeyboardInterrupt", "Ctrl-C")] * 4


WITHOUT_MEMORY = """
empty = np.empty
def fails(*_, **__):
    raise MemoryError("there is no memory for an array")
X = np.random.default_rng(rank).uniform(0.0, 1.0, (500, 3))
found = []
for estimator in [DBSCAN(eps=0.1), FriendsOfFriends(0.1)]:
    np.empty = fails
    try:
        estimator.fit(X, comm=comm)
    except MemoryError as error:
        found.append(str(error))
    np.empty = empty
    estimator.fit(X, comm=comm)
"""


def test_no_memory_for_messages(tmp_path):
    assert start(tmp_path, 2, WITHOUT_MEMORY) == [["there is no memory for an array"] * 2] * 2


BROKEN_OFF = """
import gc
class Broken(MPI.Intracomm):
    "A communicator that fails when it has something under way."
    def Isend(self, *words):
        raise OSError("the cable is cut")
X = np.random.default_rng(rank).uniform(0.0, 1.0, (500, 3))
found = []
for _ in range(3):
    try:
        FriendsOfFriends(0.1).fit(X, comm=Broken(comm))
    except RuntimeError as error:
        found.append(str(error))
gc.collect()
labels = FriendsOfFriends(0.1).fit(X, comm=comm).labels_
"""


def test_messages_that_are_broken_off(tmp_path):
    for own in start(tmp_path, 3, BROKEN_OFF):
        assert own == ["the communicator failed: the cable is cut"] * 3


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
        # In each pair the higher rank comes first.
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
import os, signal, sys, threading
import numpy as np
from mpi4py import MPI
from ropewalk import DBSCAN, FriendsOfFriends
comm = MPI.COMM_WORLD
if comm.Get_rank() == 1:
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
"""

#: The work of ranks until the signal: many short calls, in which ranks mostly wait for each other, or a call of several minutes.
MEANWHILE = {
    "short calls": """
X = np.random.default_rng(comm.Get_rank()).uniform(0.0, 1.0, (20000, 3))
while True:
    FriendsOfFriends(0.02).fit(X, comm=comm)
""",
    "one long call": """
X = np.random.default_rng(comm.Get_rank()).uniform(0.0, 1.0, (200000, 3))
DBSCAN(eps=0.3, min_samples=10**9, n_jobs=1).fit(X, comm=comm)
print("it was faster")
""",
}


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_control_c_on_one_rank_that_works_ends_all(meanwhile):
    started = time.monotonic()
    ended = mpirun(3, "-c", INTERRUPTED + MEANWHILE[meanwhile])
    assert ended.returncode != 0
    assert "KeyboardInterrupt" in ended.stderr, ended.stderr
    assert "it was faster" not in ended.stdout
    assert time.monotonic() - started < MOST_SECONDS
