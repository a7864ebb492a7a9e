"""Invalid arrays on a device. Run by `on_device.py`."""

from __future__ import annotations

import pickle

import numpy as np
import ropewalk
from on_device_support import check, cloud, refuses, same, step


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
