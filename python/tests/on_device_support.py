"""Checks, libraries of arrays on GPUs, and points, for `on_device.py`."""

from __future__ import annotations

import time
import traceback

import numpy as np
import ropewalk

passed: list[str] = []
failures: list[str] = []


def check(good: bool, what: str) -> None:
    passed.append(what) if good else failures.append(what)
    if not good:
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


def refuses(call, error, words: str, what: str) -> None:
    try:
        call()
    except error as found:
        check(words in str(found), f"{what}: {found}")
    except Exception as found:
        check(False, f"{what}: {type(found).__name__}: {found}")
    else:
        check(False, f"{what}: not refused")


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


def cloud(n: int, dim: int, dtype, seed: int = 1):
    """Returns points, half of them in clumps and half uniform in a box of side 1."""
    random = np.random.default_rng(seed)
    centers = random.random((max(n // 200, 1), dim))
    clumps = centers[random.integers(len(centers), size=n // 2)] + 0.003 * random.standard_normal((n // 2, dim))
    return (np.concatenate([clumps, random.random((n - n // 2, dim))]) % 1.0).astype(dtype)


def spacing(x) -> float:
    return float(len(x) ** (-1 / x.shape[1]))


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
