"""Streams, threads, and memory of a device, and the bytes that are copied. Run by `on_device.py`."""

from __future__ import annotations

import ctypes
import os
import threading
import time

import numpy as np
import ropewalk
from on_device_support import calls, check, cloud, same, spacing, step

#: The environment variable with the path of the library that counts copies.
COUNTER = "ROPEWALK_TRANSFERS"

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


counter = ctypes.CDLL(os.environ[COUNTER]) if COUNTER in os.environ else None


def transfers():
    counts = (ctypes.c_uint64 * 6)()
    counter.transfers_take(counts)
    return list(counts)


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
