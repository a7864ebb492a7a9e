"""Calls of the library: other threads run meanwhile, Ctrl-C ends a call, forks and threads work, inputs are not copied."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ropewalk
from ropewalk import Bvh

#: The maximum time until a call ends after Ctrl-C. On an otherwise idle machine one second suffices.
MOST_SECONDS = float(os.environ.get("ROPEWALK_CANCEL_SECONDS", "3"))

#: Functions of points, a length and the number of threads. With this length, a point has about ten neighbours.
CALLS = {
    "dbscan": lambda X, eps, n_jobs: ropewalk.dbscan(X, eps, min_samples=5, n_jobs=n_jobs),
    "hdbscan": lambda X, eps, n_jobs: ropewalk.HDBSCAN(min_cluster_size=10, n_jobs=n_jobs).fit(X).labels_,
    "friends_of_friends": lambda X, eps, n_jobs: ropewalk.friends_of_friends(X, eps, n_jobs=n_jobs).labels,
    "hop": lambda X, eps, n_jobs: ropewalk.hop(X, 1.0, n_jobs=n_jobs).labels,
    "bvh": lambda X, eps, n_jobs: Bvh(X, n_jobs=n_jobs).query_count(X[:100], eps),
    "query": lambda X, eps, n_jobs: Bvh(X, n_jobs=n_jobs).query(X, eps),
    "query_count": lambda X, eps, n_jobs: Bvh(X, n_jobs=n_jobs).query_count(X, eps),
    "nearest": lambda X, eps, n_jobs: Bvh(X, n_jobs=n_jobs).nearest(X, 5),
    "nearest_neighbors": lambda X, eps, n_jobs: Bvh(X, n_jobs=n_jobs).nearest_neighbors(5),
    "pairs": lambda X, eps, n_jobs: Bvh(X, n_jobs=n_jobs).pairs(eps),
    "query_distances": lambda X, eps, n_jobs: Bvh(X, n_jobs=n_jobs).query_distances(None, eps),
    "minimum_spanning_tree": lambda X, eps, n_jobs: ropewalk.minimum_spanning_tree(X, n_jobs=n_jobs),
    "linkage": lambda X, eps, n_jobs: ropewalk.linkage(X, min_samples=3, n_jobs=n_jobs),
}


def points(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, 3), dtype=np.float32)


def call(name: str, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """Returns all numbers of a result as one array."""
    found = CALLS[name](X, (10 / (4.2 * len(X))) ** (1 / 3), n_jobs)
    arrays = found if isinstance(found, tuple) else (found,)
    return np.concatenate([np.ravel(array).astype(np.float64) for array in arrays])


def program(function: str, *arguments: str, timeout: float = 300.0) -> dict[str, float]:
    """Runs a function of this file in a separate process, and returns what it prints."""
    text = f"import sys, test_calls; test_calls.{function}(*sys.argv[1:])"
    environment = dict(os.environ, PYTHONPATH=os.path.dirname(__file__))
    command = [sys.executable, "-W", "ignore", "-c", text, *arguments]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    result: dict[str, float] = json.loads(done.stdout)
    return result


def interrupt(name: str, seconds: str) -> None:
    """Sends Ctrl-C some time after the start of a call that takes longer."""
    # Restores the default handler, since shells ignore the signal in background processes.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    few = points(2000)
    expected = call(name, few)
    n, after = 30_000, float(seconds)
    while True:
        X = points(n)
        ends = threading.Thread(target=subprocess.run, args=(["/bin/sh", "-c", f"sleep {after}; kill -INT {os.getpid()}"],))
        began = time.monotonic()
        ended = began
        try:
            ends.start()
            CALLS[name](X, (10 / (4.2 * len(X))) ** (1 / 3), None)
            ended = time.monotonic()
            ends.join()
            # If the call has ended earlier, the signal arrives here.
            time.sleep(1)
        except KeyboardInterrupt:
            now = time.monotonic()
        ends.join()
        if ended == began:
            break
        n *= 3
    again = call(name, few)
    print(json.dumps({"seconds": now - began - after, "same": float(np.array_equal(again, expected)), "n": n}))


@pytest.mark.skipif(sys.platform == "win32", reason="signals are other ones there")
@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_call(name):
    found = program("interrupt", name, "0.3")
    assert found["same"] == 1.0
    # The start of the sleep before the signal is not known exactly.
    assert -0.1 < found["seconds"] < MOST_SECONDS, found


@pytest.mark.parametrize("name", CALLS)
def test_any_number_of_threads(name):
    X = points(3000)
    expected = call(name, X, 1)
    for n_jobs in [None, 2, 5, -1, -2]:
        np.testing.assert_array_equal(call(name, X, n_jobs), expected)
    with pytest.raises(ValueError, match="n_jobs is 0; it must be"):
        call(name, X, 0)


def test_other_python_threads_run_meanwhile():
    """A thread that needs the GIL every millisecond gets it during a long call."""
    n, seconds = 20_000, 0.0
    while seconds < 0.5:
        X, turns, over = points(n), [], threading.Event()

        def count(turns: list[float], over: threading.Event) -> None:
            while not over.is_set():
                turns.append(time.monotonic())
                time.sleep(0.001)

        other = threading.Thread(target=count, args=(turns, over))
        other.start()
        began = time.monotonic()
        ropewalk.minimum_spanning_tree(X)
        seconds = time.monotonic() - began
        over.set()
        other.join()
        n *= 2
    meanwhile = [turn for turn in turns if began < turn < began + seconds]
    # With the GIL held, there would be at most two.
    assert len(meanwhile) > 20


def test_calls_from_many_threads_at_once():
    X = {n: points(n) for n in [200, 2000]}
    work = [(name, n, n_jobs) for n in X for name in CALLS for n_jobs in [None, 1, 2, 3]]
    expected = {(name, n): call(name, X[n], 1) for name in CALLS for n in X}
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda item: call(item[0], X[item[1]], item[2]), work, timeout=300))
    for (name, n, _), answer in zip(work, found):
        np.testing.assert_array_equal(answer, expected[name, n], err_msg=name)


def test_one_tree_from_many_threads():
    X = points(3000)
    bvh = Bvh(X)
    # A second tree of 64 bits is built at the first query of 64 bits.
    queries = X[:500].astype(np.float64) + 1e-12
    expected = Bvh(X.astype(np.float64), n_jobs=1).nearest(queries, 4)
    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(lambda _: bvh.nearest(queries, 4), range(16), timeout=300):
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])


def waited_for(child: int, seconds: float) -> int:
    """Returns the exit code of a child, which is killed if it takes longer."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1


def answers(X: np.ndarray) -> dict[str, list[float]]:
    return {name: call(name, X, n_jobs).tolist() for name, n_jobs in zip(CALLS, [None, 1, 2, 3] * len(CALLS))}


def forked() -> None:
    """Makes calls in children, and in their children, of a process whose thread pools are in use."""
    X = points(300)
    bvh = Bvh(X)
    expected = answers(X)
    codes = []
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            ropewalk.friends_of_friends(points(20_000), 0.01)

    other = threading.Thread(target=busy)
    for at in range(6):
        if at == 3:
            # From here on, another thread is in a call.
            other.start()
            time.sleep(0.05)
        child = os.fork()
        if child == 0:
            right = answers(X) == expected and bvh.count_neighbors(0.0).sum() == 300
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(0 if answers(X) == expected else 3)
            os._exit(0 if right and waited_for(grandchild, 60) == 0 else 2)
        codes.append(waited_for(child, 120))
    right = answers(X) == expected
    stop.set()
    other.join()
    print(json.dumps({"codes": codes, "parent": right}))


def pooled() -> None:
    """Makes calls in workers of a process pool that were started by fork."""
    import multiprocessing

    X = points(300)
    expected = answers(X)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = pool.map_async(answers, [X] * 6).get(timeout=120)
        counts = pool.map_async(Bvh(X).count_neighbors, [0.1, 0.2]).get(timeout=120)
    right = all(answer == expected for answer in found)
    print(json.dumps({"same": right and all((a == Bvh(X).count_neighbors(r)).all() for a, r in zip(counts, [0.1, 0.2]))}))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_forks_after_use():
    assert program("forked") == {"codes": [0] * 6, "parent": True}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_forked_workers():
    assert program("pooled") == {"same": True}


def test_set_threads():
    ropewalk.set_threads()
    everything = ropewalk.threads()
    assert everything >= 1
    try:
        for n_jobs, threads in [(1, 1), (3, 3), (-1, everything), (-everything - 5, 1), (None, everything)]:
            ropewalk.set_threads(n_jobs)
            assert ropewalk.threads() == threads
            assert call("pairs", points(100)).size > 0
        for wrong in (0, 4097, 2**70, -(2**70)):
            with pytest.raises(ValueError, match=f"n_jobs is {wrong}; it must be"):
                ropewalk.set_threads(wrong)
        for wrong in (1.5, "2"):
            with pytest.raises(TypeError):
                ropewalk.set_threads(wrong)
        assert ropewalk.threads() == everything
    finally:
        ropewalk.set_threads(None)


def read_only(X: np.ndarray) -> np.ndarray:
    X.flags.writeable = False
    return X


N = 50_000
#: An array, and the bytes per coordinate that are copied.
KINDS = {
    "float32": (lambda X: X, 0),
    "float64": (lambda X: X.astype(np.float64), 0),
    "read-only": (read_only, 0),
    "rows in one piece": (lambda X: np.concatenate([X, X])[N:], 0),
    "float16": (lambda X: X.astype(np.float16), 4),
    "integers": (lambda X: (X * 1000).astype(np.int32), 8),
    "longdouble": (lambda X: X.astype(np.longdouble), 8),
    "other byte order": (lambda X: X.astype(X.dtype.newbyteorder()), 4),
    "Fortran order": (lambda X: np.asfortranarray(X), 4),
    "each second row": (lambda X: np.repeat(X, 2, axis=0)[::2], 4),
    "backwards": (lambda X: X[::-1], 4),
    "some columns": (lambda X: np.concatenate([X, X], axis=1)[:, :3], 4),
    "not aligned": (lambda X: np.frombuffer(b"0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(X.shape), 4),
}
#: Calls that allocate little in NumPy in addition to a possible copy of the points.
SEARCHES = {
    "Bvh": lambda X: Bvh(X),
    "friends_of_friends": lambda X: ropewalk.friends_of_friends(X, 1e-9),
    "dbscan": lambda X: ropewalk.dbscan(X, 1e-9),
    "DBSCAN": lambda X: ropewalk.DBSCAN(1e-9, min_samples=10).fit(X),
    "NearestNeighbors": lambda X: ropewalk.NearestNeighbors().fit(X),
    "minimum_spanning_tree": lambda X: ropewalk.minimum_spanning_tree(X[:1000]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_copied_once_or_not_at_all(kind):
    """Measures NumPy's allocations with `tracemalloc`."""
    make, width = KINDS[kind]
    X = make(points(N))
    for name, search in SEARCHES.items():
        rows = min(N, 1000) if name == "minimum_spanning_tree" else N
        search(X[:10])
        tracemalloc.start()
        search(X)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        copy = rows * 3 * width
        # The rest is small: objects, and code of modules that are imported late.
        assert copy <= peak < copy + 200_000, (name, peak, copy)


def peak(order: str, dtype: str, dim: str) -> None:
    """Prints the memory peak of a call in addition to its input, in units of the input."""
    bytes_, width = 12 << 20, np.dtype(dtype).itemsize
    X = np.random.default_rng(0).random((bytes_ // width // int(dim), int(dim)))
    X = np.asarray(X, dtype, order=order)
    search = SEARCHES["friends_of_friends"]
    search(X[:1000])

    def status(name: str) -> int:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))

    with open("/proc/self/clear_refs", "w") as file:
        # Resets the peak.
        file.write("5")
    before = status("VmRSS")
    search(X)
    print(json.dumps({"copies": (status("VmHWM") - before) / X.nbytes}))


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="the system does not tell peaks of memory")
@pytest.mark.parametrize("dtype, dim", [("float32", 3), ("float64", 3), ("float64", 10)])
def test_peak_of_memory(dtype, dim):
    """Measures the whole process: an input that must be converted takes one copy more than a shared one."""
    shared, copied = (program("peak", order, dtype, str(dim))["copies"] for order in "CF")
    # Both calls have the same state and one tree.
    assert 0.7 < copied - shared < 1.3, (shared, copied)


def test_results_are_the_librarys_memory():
    X = points(1000)
    fitted = ropewalk.DBSCAN(0.1).fit(X)
    groups = ropewalk.friends_of_friends(X, 0.1)
    core, labels = ropewalk.dbscan(X, 0.1)
    for array in [fitted.labels_, core, labels, groups.labels, groups.offsets]:
        assert array.base is not None and not array.flags.owndata
        assert array.flags.writeable and array.flags.c_contiguous and array.flags.aligned


def test_a_cancelled_call_leaves_those_of_other_threads_alone() -> None:
    program = """
import os, signal, threading
import numpy as np
import ropewalk
ropewalk.set_threads(2)
signal.signal(signal.SIGINT, signal.default_int_handler)
x = np.random.default_rng(1).random((4000, 3))
expected = ropewalk.dbscan(x, 0.05)[1]
stop, wrong = threading.Event(), []
def work():
    while not stop.is_set():
        try:
            if not np.array_equal(ropewalk.dbscan(x, 0.05)[1], expected):
                wrong.append("another answer")
        except Exception as error:
            wrong.append(repr(error))
workers = [threading.Thread(target=work) for _ in range(3)]
for worker in workers:
    worker.start()
many = np.random.default_rng(2).random((300_000, 3))
interrupted = 0
for _ in range(5):
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        for _ in range(100):
            ropewalk.hop(many, 80.0)
    except KeyboardInterrupt:
        interrupted += 1
    timer.join()
stop.set()
for worker in workers:
    worker.join()
print(interrupted, wrong[:3])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert ran.stdout == "5 []\n", ran.stdout + ran.stderr


def written_to() -> None:
    """Calls functions with an array that a thread moves, rescales and fills with NaN all the time."""
    X = np.ascontiguousarray(points(150_000))
    original, ends = X.copy(), threading.Event()

    def write() -> None:
        random = np.random.default_rng(3)
        while not ends.is_set():
            change = random.integers(5)
            if change == 0:
                np.multiply(original, 0.5, out=X)
            elif change == 1:
                X[::1000] = np.nan
            elif change == 2:
                X[:] = original[::-1]
            elif change == 3:
                np.nextafter(original, 0, out=X)
            time.sleep(random.random() * 0.1)
            X[:] = original
            time.sleep(random.random() * 0.2)

    writer = threading.Thread(target=write)
    writer.start()
    answers = errors = 0
    start = time.monotonic()
    while time.monotonic() - start < 8:
        for name in ("nearest_neighbors", "dbscan", "friends_of_friends", "minimum_spanning_tree", "hop"):
            try:
                call(name, X, 2)
                answers += 1
            except (ValueError, RuntimeError):
                errors += 1
    ends.set()
    writer.join()
    print(json.dumps({"answers": answers, "errors": errors}))


def test_an_array_that_is_written_to() -> None:
    """Writing during a call is forbidden and makes results meaningless, but the process survives."""
    counted = program("written_to")
    assert counted["answers"] > 0
