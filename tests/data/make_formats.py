#!/usr/bin/env python3
"""Small snapshots and tables in formats other than HDF5, written by others' programs, and what others read of them.

    pip install numpy==2.4.6 pynbody==2.8.0
    python3 make_formats.py [tipsy]        # all, unless some are named

For each, a folder or file in snapshots/, and beside it NAME.expected.npz with the arrays that a reader must find, in the order of the
file.
"""

import pathlib
import shutil
import sys
import warnings

import numpy as np

HERE = pathlib.Path(__file__).parent / "snapshots"


def fresh(name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def expected(name, **arrays):
    np.savez_compressed(HERE / f"{name}.expected.npz", **arrays)


PARAM = """# a run in a box of 50 Mpc
achInFile       = ics.std
dKpcUnit        = 50000     # of the box
dMsolUnit       = 1.84793e16
bComove         = 1
bPeriodic       = 1
dHubble0        = 2.894405
dOmega0         = 0.24
dLambda         = 0.76
"""


def tipsy():
    """By pynbody: big-endian with ids, little-endian with positions of 64 bits, and without a parameter file."""
    import pynbody
    from pynbody.snapshot.tipsy import TipsySnap

    for name, swap, wide, param in [
        ("tipsy_standard", True, False, PARAM),
        ("tipsy_native", False, True, PARAM + "bDoublePos = 1\n"),
        ("tipsy_bare", True, False, None),
    ]:
        folder = fresh(name)
        rng = np.random.default_rng(17)
        made = pynbody.new(gas=40, dm=60, star=25)
        made._byteswap = swap
        made["pos"] = rng.random((125, 3)) - 0.5
        made["vel"] = rng.normal(size=(125, 3))
        made["mass"] = rng.random(125)
        made["eps"] = np.full(125, 0.01)
        made["phi"] = np.zeros(125)
        made["iord"] = rng.permutation(10_000)[:125].astype(np.int32)
        for key in ["rho", "temp", "metals"]:
            made.gas[key] = rng.random(40)
        for key in ["metals", "tform"]:
            made.star[key] = rng.random(25)
        path = folder / "run.00080"
        made.properties["a"] = 0.4
        if param:
            (folder / "run.param").write_text(param)
        # It writes more files than are needed: ids as text in one, as binary in the other.
        made.write(fmt=TipsySnap, filename=str(path), double_pos=wide, cosmological=True, binary_aux_arrays=wide)
        for extra in folder.glob("*.pynbody-meta"):
            extra.unlink()
        if param is None:
            (folder / "run.00080.iord").unlink()

        found = pynbody.load(str(path))
        arrays = {key: np.asarray(found[key]).copy() for key in ["pos", "vel", "mass"]}
        if param:
            arrays["iord"] = np.asarray(found["iord"]).astype("<u8")
            arrays["h"] = np.float64(found.properties["h"])
            arrays["box_kpc"] = np.float64(found.properties["boxsize"].in_units("kpc a", a=0.4))
            arrays["km_s"] = np.asarray(found["vel"].in_units("km s^-1"))
            arrays["a"] = np.float64(found.properties["a"])
        expected(name, **arrays)


MAKERS = {"tipsy": tipsy}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for wanted in sys.argv[1:] or MAKERS:
        MAKERS[wanted]()
