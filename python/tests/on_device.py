"""Tests that need an NVIDIA GPU, with CuPy, PyTorch and JAX, or some of them.

    PYTHONPATH=<an unpacked wheel built with the feature cuda> python3 on_device.py [--points p.npy] [--linking-length 0.01]
        [--program ropewalk]

Compares every function on the device with the processor, array for array; passes invalid arrays; runs other streams while arrays
are exchanged; counts the bytes copied between host and device; measures times. The exit code is 1 if any check fails.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

COUNTER = "ROPEWALK_TRANSFERS"

if __name__ == "__main__" and COUNTER not in os.environ:
    # The counter must be loaded before all other libraries.
    library = Path(tempfile.mkdtemp()) / "transfers.so"
    source = Path(__file__).with_name("transfers.c")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    os.environ[COUNTER] = os.environ["LD_PRELOAD"] = str(library)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.execv(sys.executable, [sys.executable, *sys.argv])

import numpy as np
import ropewalk
from ropewalk import _device

failures: list[str] = []
passed = 0


def check(good: bool, what: str) -> None:
    global passed
    passed += bool(good)
    if not good:
        failures.append(what)
        print("FAILED:", what, flush=True)


def step(function):
    """Runs a part. An exception counts as a failure, and the other parts still run."""

    def run(*arguments):
        begin = time.perf_counter()
        try:
            function(*arguments)
        except Exception:
            failures.append(f"{function.__name__}{arguments}: raised")
            traceback.print_exc()
        print(f"{function.__name__} {[str(a) for a in arguments]}: {time.perf_counter() - begin:.1f} s", flush=True)

    return run


def same(ours, theirs, what: str) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    check(ours.shape == theirs.shape and bool((ours == theirs).all()), what)


# Libraries -----------------------------------------------------------------------------------------------------------------------------


class CuPy:
    def __init__(self):
        import cupy

        self.cupy = cupy

    def put(self, x):
        return self.cupy.asarray(x)

    def take(self, array):
        return self.cupy.asnumpy(self.cupy.from_dlpack(array))


class CuPyByInterface(CuPy):
    """CuPy with only the CUDA array interface, in both directions."""

    def put(self, x):
        array = self.cupy.asarray(x)

        class Interface:
            shape = array.shape
            __cuda_array_interface__ = array.__cuda_array_interface__
            owner = array

            def __len__(self):
                return len(array)

        return Interface()

    def take(self, array):
        class Interface:
            __cuda_array_interface__ = array.__cuda_array_interface__

        return self.cupy.asnumpy(self.cupy.asarray(Interface()))


class Torch:
    def __init__(self):
        import torch

        torch.zeros(1, device="cuda")
        self.torch = torch

    def put(self, x):
        return self.torch.from_numpy(np.array(x)).to("cuda")

    def take(self, array):
        return self.torch.from_dlpack(array).cpu().numpy()


class Jax:
    def __init__(self):
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax = jax
        self.device = jax.devices("cuda")[0]

    def put(self, x):
        return self.jax.device_put(x, self.device)

    def take(self, array):
        return np.asarray(self.jax.dlpack.from_dlpack(array))


def libraries():
    found = {}
    for kind in [CuPy, CuPyByInterface, Torch, Jax]:
        try:
            found[kind.__name__] = kind()
        except Exception as error:
            print(f"SKIPPED {kind.__name__}: {error!r}")
    check(bool(found), "no library of arrays on GPUs is here")
    return found


# Answers -------------------------------------------------------------------------------------------------------------------------------


def cloud(n: int, dim: int, dtype, seed: int = 1):
    """Returns points, half of them in clumps and half uniform in a box of side 1."""
    random = np.random.default_rng(seed)
    centers = random.random((max(n // 200, 1), dim))
    clumps = centers[random.integers(len(centers), size=n // 2)] + 0.003 * random.standard_normal((n // 2, dim))
    return (np.concatenate([clumps, random.random((n - n // 2, dim))]) % 1.0).astype(dtype)


def spacing(x) -> float:
    return float(len(x) ** (-1 / x.shape[1]))


def narrow_boxes(cupy) -> None:
    """Tests points that span more than their box, in device and NumPy arrays, with all types and numbers of coordinates."""
    calls = {
        "dbscan": lambda x, side: ropewalk.dbscan(x, 0.01, box_size=side, device="cuda"),
        "friends_of_friends": lambda x, side: ropewalk.friends_of_friends(x, 0.01, box_size=side, device="cuda"),
        "hop": lambda x, side: ropewalk.hop(x, 80.0, n_density=8, n_hop=8, box_size=side, device="cuda"),
        "HDBSCAN": lambda x, side: ropewalk.HDBSCAN(min_cluster_size=5, ties="together", box_size=side, device="cuda").fit(x),
        "minimum_spanning_tree": lambda x, side: ropewalk.minimum_spanning_tree(x, box_size=side, device="cuda"),
        "DeviceBvh": lambda x, side: ropewalk.DeviceBvh(x, side, device="cuda"),
    }
    for dtype in [np.float32, np.float64]:
        for dim in [1, 2, 3, 4, 6, 7, 10]:
            x = np.random.default_rng(dim).random((500, dim)).astype(dtype)
            x[0, -1], x[1, -1] = 0.0, 1.0
            for name, call in calls.items():
                if name == "hop" and dim not in (2, 3):
                    continue
                what = f"{name}: {dim} coordinates of {np.dtype(dtype)}"
                for own in [x, cupy.asarray(x)]:
                    call(own - own.dtype.type(0.5), 1.0)
                    sides = [1.0] * (dim - 1) + [0.5]
                    for side in [0.5, sides]:
                        words = "the periodic box is 0.5, but along axis"
                        refuses(lambda call=call, own=own, side=side: call(own, side), ValueError, words, what)


@step
def answers(name: str, library, n: int, dim: int, dtype, box) -> None:
    what = f"{name}, {n} points of {dim} {np.dtype(dtype)}, box {box}: "
    x = cloud(n, dim, dtype)
    there, eps = library.put(x), 0.3 * spacing(x)
    for samples in [1, 2, 5]:
        core, labels = ropewalk.dbscan(there, eps, min_samples=samples, box_size=box)
        own_core, own_labels = ropewalk.dbscan(x, eps, min_samples=samples, box_size=box)
        check(isinstance(labels, _device.DeviceArray) and labels.device == "cuda:0", what + "dbscan stays there")
        same(library.take(labels), own_labels, what + f"dbscan {samples} labels")
        same(library.take(core), own_core, what + f"dbscan {samples} core")
        same(labels.get(), own_labels, what + "get")
    groups = ropewalk.friends_of_friends(there, eps, min_members=5, box_size=box)
    own = ropewalk.friends_of_friends(x, eps, min_members=5, box_size=box)
    for field in ["labels", "offsets", "indices"]:
        same(library.take(getattr(groups, field)), getattr(own, field), what + f"friends_of_friends {field}")
    if dim in (2, 3):
        options = {"n_density": 24, "n_hop": 16, "box_size": box}
        groups, own = ropewalk.hop(there, 20.0, **options), ropewalk.hop(x, 20.0, **options)
        for field in ["labels", "offsets", "indices", "density"]:
            same(library.take(getattr(groups, field)), getattr(own, field), what + f"hop {field}")
        masses = np.linspace(1.0, 2.0, n)
        groups, own = ropewalk.hop(there, 20.0, masses=masses, **options), ropewalk.hop(x, 20.0, masses=masses, **options)
        same(library.take(groups.density), own.density, what + "hop density of masses")
    options = {"min_cluster_size": 20, "box_size": box}
    found, own = ropewalk.HDBSCAN(**options).fit(there), ropewalk.HDBSCAN(**options, ties="together").fit(x)
    same(library.take(found.labels_), own.labels_, what + "HDBSCAN labels")
    same(library.take(found.probabilities_), own.probabilities_, what + "HDBSCAN probabilities")
    tree, own = ropewalk.minimum_spanning_tree(there, box_size=box), ropewalk.minimum_spanning_tree(x, box_size=box)
    same(library.take(tree.edges), own.edges, what + "edges")
    same(library.take(tree.weights), own.weights, what + "weights")
    neighbours(library, x, there, eps, box, what)


def neighbours(library, x, there, eps, box, what) -> None:
    tree, own = ropewalk.DeviceBvh(there, box), ropewalk.Bvh(x, box)
    same(library.take(tree.count_neighbors(eps)), own.count_neighbors(eps), what + "count_neighbors")
    check(tree.count_pairs(eps) == len(own.pairs(eps).indices), what + "count_pairs")
    (starts, indices), lists = (library.take(array) for array in tree.neighbors(eps)), own.neighbors(eps)
    same(starts, lists.offsets, what + "neighbors offsets")
    # Lists are in tree order on the device, and ascending on the processor.
    rows = np.repeat(np.arange(len(x)), np.diff(starts))
    same(indices[np.lexsort((indices, rows))], lists.indices, what + "neighbors indices")
    for k, include_self in [(4, False), (5, True)]:
        ours, theirs = (bvh.nearest_neighbors(k, include_self=include_self) for bvh in (tree, own))
        same(library.take(ours[0]), theirs[0], what + "distances of the nearest")
        same(library.take(ours[1]), theirs[1], what + "the nearest")
    check([array.shape for array in tree.nearest_neighbors(0)] == [(len(x), 0)] * 2, what + "shape of no neighbours")


@step
def from_numpy() -> None:
    x = cloud(3000, 3, np.float32)
    for device in ["cuda", "cuda:0"]:
        labels = ropewalk.dbscan(x, 0.01, device=device)[1]
        same(labels.get(), ropewalk.dbscan(x, 0.01)[1], f"NumPy's array with device={device!r}")
    same(ropewalk.dbscan(x.tolist(), 0.01, device="cuda")[1].get(), ropewalk.dbscan(x.tolist(), 0.01)[1], "a list")


@step
def small(library) -> None:
    for n in [0, 1, 2]:
        x = cloud(n, 2, np.float64) if n > 0 else np.zeros((0, 2))
        core, labels = ropewalk.dbscan(library.put(x), 0.5, min_samples=1)
        same(library.take(labels), np.zeros(n) if n < 2 else ropewalk.dbscan(x, 0.5, min_samples=1)[1], f"{n} points")
        check(len(core) == n, f"{n} points, core")
        groups = ropewalk.friends_of_friends(library.put(x), 0.5)
        same(library.take(groups.labels), ropewalk.friends_of_friends(x, 0.5).labels, f"{n} points, groups")
    x = np.zeros((5000, 3), np.float32)
    same(library.take(ropewalk.dbscan(library.put(x), 0.5)[1]), np.zeros(5000), "copies of one point")


# Refusals ------------------------------------------------------------------------------------------------------------------------------


def refuses(call, error, words: str, what: str) -> None:
    try:
        call()
    except error as found:
        check(words in str(found), f"{what}: {found}")
    except Exception as found:
        check(False, f"{what}: {type(found).__name__}: {found}")
    else:
        check(False, f"{what}: not refused")


@step
def wrong_input(library) -> None:
    cupy = library.cupy
    x = cupy.asarray(cloud(1000, 3, np.float32))

    def run(points, **options):
        return lambda: ropewalk.dbscan(points, 0.01, **options)

    refuses(run(x[::2]), ValueError, "C order", "every second row")
    refuses(run(x[:, :2]), ValueError, "C order", "two of three columns")
    refuses(run(cupy.asfortranarray(x)), ValueError, "C order", "Fortran order")
    refuses(run(x[::-1]), ValueError, "C order", "backwards")
    refuses(run(x[:, 0]), ValueError, "", "one dimension")
    refuses(run(x.astype(cupy.int32)), TypeError, "float32 or float64", "whole numbers")
    refuses(run(x.astype(cupy.float16)), TypeError, "float32 or float64", "float16")
    refuses(lambda: ropewalk.hop(cupy.zeros((90, 4)), 20.0), ValueError, "HOP requires 2 or 3", "HOP of four coordinates")
    refuses(run(cupy.zeros((10, 11))), ValueError, "1 to 10", "eleven coordinates")
    refuses(run(x, device="cuda:99"), ValueError, "cuda:99", "another device than the array's")
    refuses(run(x.get(), device="cuda:99"), RuntimeError, "no CUDA device 99", "no such device")
    found, groups = ropewalk.DBSCAN(eps=0.1).fit(x), ropewalk.friends_of_friends(x, 0.1)
    for what in [found, groups, ropewalk.DeviceBvh(x)]:
        refuses(lambda what=what: pickle.dumps(what), TypeError, "cannot be pickled", f"a pickle of {type(what).__name__}")
    refuses(lambda: groups.sizes, RuntimeError, "groups.offsets.get()", "sizes on the device")
    refuses(run(x, sample_weight=np.ones(1000)), ValueError, "weights", "weights")
    refuses(lambda: ropewalk.dbscan(x, float("nan")), ValueError, "eps", "eps NaN")
    refuses(lambda: ropewalk.dbscan(x, 0.7, box_size=1.0), ValueError, "box", "a box that is too small")
    narrow_boxes(cupy)
    tree = ropewalk.DeviceBvh(x)
    for search in [tree.neighbors, tree.count_neighbors, tree.count_pairs]:
        for radius, word in [(np.inf, "inf"), (np.nan, "NaN"), (-1.0, "-1")]:
            words = f"radius is {word}; it must be finite and not negative"
            refuses(lambda search=search, radius=radius: search(radius), ValueError, words, f"{search.__name__} with {radius}")
    for value, words in [(np.nan, "NaN"), (np.inf, "inf")]:
        bad = x.copy()
        bad[777, 1] = value
        refuses(run(bad), ValueError, "point 777: coordinate 1 is " + words, f"a coordinate that is {value}")
    same(library.take(ropewalk.dbscan(x[5:], 0.01)[1]), ropewalk.dbscan(x.get()[5:], 0.01)[1], "a view from row 5 on")

    def lie(**changes):
        class Liar:
            shape = changes.get("shape", x.shape)
            __cuda_array_interface__ = {**x.__cuda_array_interface__, **changes}

        return lambda: ropewalk.dbscan(Liar(), 0.01)

    host = np.zeros((1000, 3), np.float32)
    refuses(lie(data=(host.ctypes.data, False)), ValueError, "memory", "an address of the host")
    refuses(lie(data=(4096, False)), ValueError, "memory", "an address of nothing")
    refuses(lie(data=(2**64 - 64, False)), ValueError, "", "the last address")
    refuses(lie(shape=(2**30, 3)), ValueError, "memory", "more points than memory")
    refuses(lie(shape=(2**40, 3)), (ValueError, MemoryError), "", "more points than a device has")
    same(library.take(ropewalk.dbscan(x, 0.01)[1]), ropewalk.dbscan(x.get(), 0.01)[1], "right again after all that")
    labels = ropewalk.dbscan(x, 0.01)[1]
    refuses(lambda: np.asarray(labels), TypeError, "get()", "NumPy unasked")
    refuses(lambda: np.from_dlpack(labels), Exception, "", "NumPy by DLPack")
    refuses(lambda: labels.__dlpack__(copy=True), BufferError, "", "a copy by DLPack")
    refuses(lambda: labels.__dlpack__(stream=0), ValueError, "0", "stream 0")
    for stream in [None, -1, 1, 2]:
        labels.__dlpack__(stream=stream)
        labels.__dlpack__(stream=stream, max_version=(1, 0), dl_device=(2, 0), copy=False)


@step
def wrong_input_of_torch(library) -> None:
    torch = library.torch
    on_host = torch.from_numpy(cloud(1000, 3, np.float32))
    same(np.asarray(ropewalk.dbscan(on_host, 0.01)[1]), ropewalk.dbscan(on_host.numpy(), 0.01)[1], "a tensor of the host")
    same(ropewalk.dbscan(on_host, 0.01, device="cuda")[1].get(), ropewalk.dbscan(on_host.numpy(), 0.01)[1], "the same, copied")
    refuses(lambda: ropewalk.dbscan(on_host.cuda().T.contiguous().T, 0.01), ValueError, "C order", "transposed")
    refuses(lambda: ropewalk.dbscan(on_host.cuda().requires_grad_(), 0.01), Exception, "grad", "a tensor with a gradient")
    current, before = torch.cuda.current_device(), torch.ones(3, device="cuda")
    ropewalk.dbscan(before.new_zeros((10, 2)), 0.01)
    check(torch.cuda.current_device() == current and float((before + 1).sum()) == 6.0, "torch's device is what it was")


# Streams, threads, memory --------------------------------------------------------------------------------------------------------------

SLOW_COPY = r"""extern "C" __global__ void slow_copy(const int* from, int* to, int n, long long ticks) {
    long long begin = clock64();
    while (clock64() - begin < ticks) { }
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = from[i];
}"""


@step
def order_of_streams(library) -> None:
    """Tests a producer and a consumer on streams that do not wait for others."""
    cupy = library.cupy
    slow_copy = cupy.RawKernel(SLOW_COPY, "slow_copy")
    x = cloud(100_000, 2, np.float32)
    expected, n = ropewalk.dbscan(x, 0.002)[1], 2 * len(x)
    right, stream = cupy.asarray(x), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    for turn in range(20):
        with stream:
            late = cupy.full(x.shape, 0.5, cupy.float32)
            slow_copy((32,), (256,), (right, late, np.int32(n), np.int64(20_000_000)))
            labels = ropewalk.dbscan(late, 0.002)[1]
            # The consumer is slow, too, and all arrays that it reads are dropped while it waits.
            seen, copy = cupy.from_dlpack(labels), cupy.full(len(x), -7, cupy.int32)
            slow_copy((32,), (256,), (seen, copy, np.int32(len(x)), np.int64(20_000_000)))
            del labels, seen
        for seed in range(3):
            ropewalk.dbscan(cupy.asarray(cloud(100_000, 2, np.float32, seed + 5)), 0.002)
        stream.synchronize()
        same(copy.get(), expected, f"streams, turn {turn}")


@step
def threads(library) -> None:
    x = [cloud(20_000, 3, np.float32, seed) for seed in range(4)]
    expected = [ropewalk.dbscan(points, 0.01)[1] for points in x]
    found: list = [None] * 4

    def work(i):
        there = library.put(x[i])
        for _ in range(20):
            found[i] = library.take(ropewalk.dbscan(there, 0.01)[1])

    all_threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [thread.start() for thread in all_threads]
    [thread.join() for thread in all_threads]
    for i in range(4):
        same(found[i], expected[i], f"thread {i}")


@step
def memory(library) -> None:
    cupy = library.cupy
    x = cupy.asarray(cloud(1_000_000, 3, np.float32))

    def use(times):
        for _ in range(times):
            kept = cupy.from_dlpack(ropewalk.dbscan(x, 0.002)[1])
        del kept
        cupy.cuda.Device().synchronize()
        time.sleep(0.2)
        return cupy.cuda.runtime.memGetInfo()[0]

    first, last = use(10), use(100)
    print(f"free memory after 10 calls {first / 2**20:.0f} MiB, after 110 {last / 2**20:.0f} MiB")
    check(first - last < 64 * 2**20, "a hundred calls hold no more memory than ten")


# Bytes and times -----------------------------------------------------------------------------------------------------------------------

counter = ctypes.CDLL(os.environ[COUNTER]) if COUNTER in os.environ else None


def transfers():
    counts = (ctypes.c_uint64 * 6)()
    counter.transfers_take(counts)
    return list(counts)


def calls(eps):
    return {
        "dbscan": lambda x: ropewalk.dbscan(x, eps),
        "friends_of_friends": lambda x: ropewalk.friends_of_friends(x, eps),
        "neighbors": lambda x: ropewalk.DeviceBvh(x).neighbors(eps),
        "nearest_neighbors": lambda x: ropewalk.DeviceBvh(x).nearest_neighbors(4),
        "minimum_spanning_tree": lambda x: ropewalk.minimum_spanning_tree(x),
        "hop": lambda x: ropewalk.hop(x, 80.0, n_density=24, n_hop=16),
        "hdbscan": lambda x: ropewalk.HDBSCAN(min_cluster_size=50, ties="together").fit(x),
    }


@step
def bytes_moved(library) -> None:
    print(f"{'':24}{'points':>10}{'input':>12}{'to device':>12}{'from device':>12}{'within':>12}{'copies':>8}")
    for n in [100_000, 1_000_000]:
        x = cloud(n, 3, np.float32)
        there, eps = library.put(x), 0.2 * spacing(x)
        for name, call in calls(eps).items():
            call(there)  # the first call compiles kernels and tests rounding
            transfers()
            result = call(there)
            up, down, within, ups, downs, planes = transfers()
            del result
            print(f"{name:24}{n:>10}{x.nbytes:>12}{up:>12}{down:>12}{within:>12}{ups + downs:>8}")
            check(within == x.nbytes and planes == 0, f"{name}, {n} points: {within} bytes within, {planes} planes")
            # HDBSCAN's table of clusters goes to the host and back. Otherwise only counts are copied: less than a byte per point.
            most = x.nbytes / 4 if name == "hdbscan" else n
            check(up + down < most, f"{name}, {n} points: {up + down} bytes between host and device")
    transfers()
    ropewalk.dbscan(x, eps, device="cuda")
    up = transfers()[0]
    check(up >= x.nbytes, f"an upload is counted: {up} bytes of {x.nbytes}")


def best(call, times: int = 7) -> float:
    """Returns the shortest of several times, in milliseconds."""
    call()
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return 1e3 * min(taken)


def of_program(program, x, eps) -> dict[str, float]:
    """Returns the Rust program's times for points on the device, in milliseconds: the shortest of seven."""
    with tempfile.TemporaryDirectory() as folder:
        points, out = Path(folder) / "points.npy", Path(folder) / "times.json"
        np.save(points, x)
        command = [program, "bench", points, "--eps", repr(float(eps)), "--min-pts", "5", "--device", "cuda", "--reps", "7"]
        command += ["--ops", ",".join(NAMES.values()), "--json", out]
        quiet = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        subprocess.run([str(part) for part in command], env=quiet, check=True, stdout=subprocess.DEVNULL)
        return {row["op"]: 1e3 * row["min_s"] for row in json.loads(out.read_text())}


#: The Rust program's names of Python functions.
NAMES = {"friends_of_friends": "fof", "dbscan": "dbscan_densebox", "minimum_spanning_tree": "emst"}


@step
def times(library, path, length, program) -> None:
    sets = {"a million": (cloud(1_000_000, 3, np.float32), None)}
    if path is not None:
        points = np.ascontiguousarray(np.load(path))
        sets[Path(path).name] = (points, length)
    print(f"{'':24}{'points':>12}{'on the device':>16}{'program':>14}{'ratio':>14}{'from NumPy':>14}{'processor':>14}   (ms)")
    for name, (x, length) in sets.items():
        there, eps = library.put(x), length or 0.2 * spacing(x)
        theirs = of_program(program, x, eps) if program else {}
        for what, call in calls(eps).items():
            if what in NAMES:
                row = [best(lambda: call(there))]
                rust = theirs.get(NAMES[what], float("nan"))
                row += [rust, row[0] / rust]
                if what != "minimum_spanning_tree":
                    function = getattr(ropewalk, what)
                    row += [best(lambda: function(x, eps, device="cuda"), 3), best(lambda: function(x, eps), 1)]
                print(f"{what:24}{len(x):>12}" + "".join(f"{t:>15.2f}" for t in row) + f"   {name}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", help="a .npy file to take times on")
    parser.add_argument("--linking-length", type=float)
    parser.add_argument("--program", help="the program ropewalk, built with the feature cuda, for its times")
    arguments = parser.parse_args()
    found = libraries()
    for name, library in found.items():
        for dtype in [np.float32, np.float64]:
            for dim in [2, 3]:
                for box in [None, 1.0]:
                    answers(name, library, 4000, dim, dtype, box)
            # One dimension with its own f64 kernels, and some that are padded to a larger one.
            for dim, box in [(1, 1.0), (5, None), (6, 1.0), (9, None)]:
                answers(name, library, 4000, dim, dtype, box)
        small(library)
        threads(library)
    from_numpy()
    if "CuPy" in found:
        library = found["CuPy"]
        answers("CuPy", library, 200_000, 3, np.float32, 1.0)
        wrong_input(library)
        order_of_streams(library)
        memory(library)
        bytes_moved(library)
        times(library, arguments.points, arguments.linking_length, arguments.program)
    if "Torch" in found:
        wrong_input_of_torch(found["Torch"])
    print(f"{passed} checks passed, {len(failures)} failed")
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
