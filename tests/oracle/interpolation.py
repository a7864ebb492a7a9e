#!/usr/bin/env python3
"""Compares `ropewalk interpolate` with scipy's least squares and, on request, with Compadre.

    python3 tests/oracle/interpolation.py target/release/ropewalk [--compadre]

Points are random, on lattices, and in planes, in 1 to 4 dimensions, with 32 and 64 bits, in open space and in periodic boxes.
Neighbours are found from all distances. For moving least squares, the polynomial of each target is fitted by scipy.linalg.lstsq, in
other coordinates than the program's. A solution of P^T a = e tests whether the neighbours determine the value of a polynomial at the
target; if not, the next lower degree is used. The number of such targets must equal that in the report.

Compadre (generalized moving least squares) has one weight in common with the program. Smoothing and inverse distances are computed
as sums by their definition, and scattered quantities must add up. Needs numpy and scipy, and for Compadre pycompadre, which is
compiled during installation.
"""

import itertools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.linalg

WEIGHTS = {
    "wendland0": lambda x: (1 - x) ** 2,
    "wendland2": lambda x: (1 - x) ** 4 * (4 * x + 1),
    "wendland4": lambda x: (1 - x) ** 6 * (35 * x**2 + 18 * x + 3),
    "wendland6": lambda x: (1 - x) ** 8 * (32 * x**3 + 25 * x**2 + 8 * x + 1),
    "wu2": lambda x: (1 - x) ** 4 * (3 * x**3 + 12 * x**2 + 16 * x + 4),
    "wu4": lambda x: (1 - x) ** 6 * (5 * x**5 + 30 * x**4 + 72 * x**3 + 82 * x**2 + 36 * x + 6),
    "buhmann2": lambda x: 2 * x**4 * np.log(np.maximum(x, 1e-300)) - 3.5 * x**4 + 16 / 3 * x**3 - 2 * x**2 + 1 / 6,
    "buhmann3": lambda x: x**8 - 84 / 5 * x**6 + 1024 / 5 * (x**4.5 + x**3.5) - 378 * x**4 - 84 / 5 * x**2 + 1,
    "buhmann4": lambda x: 99 / 35 * x**8 - 132 * x**6 + 9216 / 35 * x**5.5 - 11264 / 35 * x**4.5 + 198 * x**4 - 396 / 35 * x**2 + 1,
    "gaussian": lambda x: np.exp(-9 * x**2),
}
KERNELS = {
    "cubic-spline": lambda x: np.maximum(1 - x, 0) ** 3 * 2 - np.maximum(1 - 2 * x, 0) ** 3,
    "wendland-c2": WEIGHTS["wendland2"],
    "wendland-c4": WEIGHTS["wendland4"],
    "wendland-c6": WEIGHTS["wendland6"],
}


class Case:
    """Points in files, and the program's results for them."""

    def __init__(self, program, folder, sources, targets, values, side=None):
        self.program, self.folder, self.side = program, Path(folder), side
        self.sources, self.targets, self.values = sources.astype(float), targets.astype(float), values
        for name, array in (("sources", sources), ("values", values), ("targets", targets)):
            np.save(self.folder / f"{name}.npy", array)

    def run(self, *options):
        files = [self.folder / name for name in ("sources.npy", "values.npy", "targets.npy")]
        out = ["--out", self.folder / "out.npy", "--json", self.folder / "report.json"]
        side = [] if self.side is None else ["--periodic", self.side]
        command = [self.program, "interpolate", *files, *out, *side, *options]
        subprocess.run([str(argument) for argument in command], check=True, capture_output=True)
        return np.load(self.folder / "out.npy"), json.loads((self.folder / "report.json").read_text())

    def offsets(self, target):
        """Returns the vector from a target to the nearest image of each source, and its length."""
        offsets = self.sources - target
        if self.side is not None:
            offsets -= self.side * np.round(offsets / self.side)
        return offsets, np.sqrt(np.sum(offsets**2, axis=1))

    def near(self, target, k, radius):
        """Returns neighbours, their offsets and distances, and the radius of the weights."""
        offsets, distances = self.offsets(target)
        if radius is None:
            near = np.argsort(distances, kind="stable")[:k]
            radius = 1.1 * distances[near[-1]]
        else:
            near = np.flatnonzero(distances <= radius)
        return near, offsets[near], distances[near], radius


def monomials(x, degree):
    """Returns all products of at most `degree` coordinates."""
    columns = [np.prod(x[:, list(axes)], axis=1) for d in range(degree + 1) for axes in itertools.combinations_with_replacement(range(x.shape[1]), d)]
    return np.stack(columns, axis=1)


def fitted(case, target, degree, weight, k, radius):
    """Returns the value of the polynomial at the target, and its degree."""
    near, offsets, distances, radius = case.near(target, k, radius)
    weights = WEIGHTS[weight](np.minimum(distances / radius, 1.0)) * (distances < radius)
    near, offsets, weights = near[weights > 0], offsets[weights > 0], weights[weights > 0]
    # Relative to a corner of the neighbours instead of the target, in units of their extent.
    corner, extent = offsets.min(axis=0), np.ptp(offsets, axis=0).max() or 1.0
    x, here = (offsets - corner) / extent, -corner[None] / extent
    for degree in range(degree, -1, -1):
        basis, at = monomials(x, degree), monomials(here, degree)[0]
        a = scipy.linalg.lstsq(basis.T, at, cond=1e-11)[0]
        if np.linalg.norm(basis.T @ a - at) < 1e-7:
            break
    root = np.sqrt(weights)[:, None]
    solution = scipy.linalg.lstsq(root * basis, root * case.values[near], cond=1e-11)[0]
    return at @ solution, degree


def check_fits(case, degree, weight, k=None, radius=None):
    limit = ["--radius", radius] if k is None else ["--k", k]
    ours, report = case.run("--degree", degree, "--weight", weight, *limit)
    theirs = [fitted(case, target, degree, weight, k, radius) for target in case.targets]
    apart = np.max(np.abs(ours - np.array([value for value, _ in theirs])))
    lower = sum(own < degree for _, own in theirs)
    assert report["lower_degree"] == lower, (report["lower_degree"], lower)
    # Near the radius Buhmann's functions are differences of large terms in both programs. A neighbour there may determine a fit
    # with few others.
    close = 1e-5 if radius is not None and weight.startswith("buhmann") else 1e-7
    assert apart < close * np.max(np.abs(case.values)), (case.sources.shape, degree, weight, k, radius, apart)
    return apart, lower


def field(x):
    return np.stack([np.sin(3 * x).sum(axis=1), np.cos(x @ np.arange(1, x.shape[1] + 1))], axis=1)


def least_squares(program, folder):
    rng = np.random.default_rng(1)
    worst, total, lowered = 0.0, 0, 0
    for dim, dtype, side in itertools.product((1, 2, 3, 4), ("f4", "f8"), (None, 1.0)):
        sources, targets = rng.random((600, dim)).astype(dtype), rng.random((40, dim)).astype(dtype)
        case = Case(program, folder, sources, targets, field(sources.astype(float)), side)
        for degree, weight in zip((0, 1, 2, 2, 2), rng.choice(list(WEIGHTS), 5)):
            basis = math.comb(dim + degree, degree)
            far = 0.45 if dim > 2 else 0.1
            for limit in ({"k": basis}, {"k": 2 * basis}, {"k": 50}, {"radius": far}):
                if limit.get("k") == basis and degree > 0:
                    # Fits through all points amplify rounding errors without a limit.
                    continue
                apart, lower = check_fits(case, degree, weight, **limit)
                worst, total, lowered = max(worst, apart), total + len(targets), lowered + lower
    print(f"least squares: {total} targets within {worst:.1e} of scipy, {lowered} of a lower degree", file=sys.stderr)
    # All weights, and the case of the issue: degree 2 with 20 neighbours in three dimensions.
    sources, targets = rng.random((2000, 3)), rng.random((200, 3))
    case = Case(program, folder, sources, targets, field(sources))
    worst = max(check_fits(case, 2, weight, k=20)[0] for weight in WEIGHTS)
    print(f"all weights: within {worst:.1e}", file=sys.stderr)
    # Lattices, planes with and without the targets, lines, copies, and few points.
    lattice = np.stack(np.meshgrid(*[np.arange(8.0)] * 3), axis=-1).reshape(-1, 3)
    plane = np.column_stack([rng.random((300, 2)), np.zeros(300)])
    tilted = rng.random((300, 1)) * [1.0, 2.0, -1.0] + rng.random((300, 1)) * [0.0, 1.0, 3.0]
    line = rng.random((60, 1)) * [1.0, 2.0, 4.0]
    beside = np.array([[0.5, 0.5, 0.25], [0.1, 0.2, 1.0]])
    copies = np.repeat(rng.random((12, 3)), 6, axis=0)
    for sources, targets in [
        (lattice, rng.random((40, 3)) * 7),
        (lattice, lattice[::9]),
        (plane, np.vstack([plane[:20], beside, [[0.5, 0.5, 0.0]]])),
        (tilted, np.vstack([0.5 * (tilted[:20] + tilted[1:21]), beside])),
        (line, np.vstack([0.5 * (line[:20] + line[1:21]), beside])),
        (copies, rng.random((20, 3))),
        (rng.random((3, 3)), rng.random((5, 3))),
    ]:
        case = Case(program, folder, sources, targets, field(sources))
        for degree in (0, 1, 2):
            _, lower = check_fits(case, degree, "wendland2", k=20)
            print(f"{len(sources)} points, degree {degree}: {lower} of {len(targets)} lower", file=sys.stderr)


def compadre(pycompadre, program, folder):
    rng = np.random.default_rng(2)
    for dim, degree in itertools.product((2, 3), (1, 2)):
        sources, targets = rng.random((3000, dim)), 0.1 + 0.8 * rng.random((300, dim))
        case = Case(program, folder, sources, targets, field(sources))
        k = 2 * math.comb(dim + degree, degree)
        ours, _ = case.run("--degree", degree, "--weight", "wendland0", "--k", k)
        gmls = pycompadre.GMLS(degree, dim, "QR", "STANDARD", "NO_CONSTRAINT")
        gmls.setWeightingType("Power")
        # (1 - x^n)^p
        gmls.setWeightingParameter(2, 0)
        gmls.setWeightingParameter(1, 1)
        gmls.addTargets(pycompadre.TargetOperation.ScalarPointEvaluation)
        helper = pycompadre.ParticleHelper(gmls)
        helper.generateKDTree(sources)
        helper.setTargetSites(targets)
        near = [case.near(target, k, None) for target in targets]
        helper.setNeighbors(np.array([[k, *own[0]] for own in near], dtype="i4"))
        helper.setWindowSizes(np.array([own[3] for own in near]))
        gmls.generateAlphas(1, False)
        for column in range(2):
            theirs = helper.applyStencil(np.ascontiguousarray(case.values[:, column]), pycompadre.TargetOperation.ScalarPointEvaluation)
            apart = np.max(np.abs(ours[:, column] - np.ravel(theirs)))
            assert apart < 1e-9, (dim, degree, apart)
        print(f"Compadre, {dim} dimensions, degree {degree}: within {apart:.1e}", file=sys.stderr)


def sums(program, folder):
    rng = np.random.default_rng(3)
    for dim, side in itertools.product((1, 2, 3), (None, 1.0)):
        sources, targets = rng.random((500, dim)), rng.random((60, dim))
        targets[:5] = sources[:5]
        case = Case(program, folder, sources, targets, field(sources), side)
        for kernel, limit in itertools.product(KERNELS, ({"k": 32, "radius": None}, {"k": None, "radius": 0.3})):
            options = ["--k", limit["k"]] if limit["k"] else ["--radius", limit["radius"]]
            ours, _ = case.run("--method", "sph", "--kernel", kernel, *options)
            for target, own in zip(targets, ours):
                near, _, distances, radius = case.near(target, **limit)
                weights = KERNELS[kernel](distances / radius)
                assert np.allclose(own, weights @ case.values[near] / weights.sum(), rtol=1e-12, atol=1e-14), (kernel, limit)
            # Values are distributed over targets.
            ours, report = case.run("--method", "scatter", "--kernel", kernel, *options)
            assert np.allclose(ours.sum(axis=0), case.values.sum(axis=0), rtol=1e-12, atol=1e-11)
            theirs, alone = np.zeros_like(ours), 0
            back = Case(program, folder, targets, sources, case.values[:60], side)
            for source, value in zip(sources, case.values):
                near, _, distances, radius = back.near(source, **limit)
                weights = KERNELS[kernel](distances / radius)
                if weights.sum() == 0:
                    near, weights, alone = [np.argmin(back.offsets(source)[1])], np.ones(1), alone + 1
                theirs[near] += np.outer(weights / weights.sum(), value)
            assert report["no_neighbours"] == alone and np.allclose(ours, theirs, rtol=1e-10, atol=1e-12), kernel
            case = Case(program, folder, sources, targets, case.values, side)
        for power in (1.0, 2.0, 3.5):
            ours, _ = case.run("--method", "idw", "--power", power, "--k", 8)
            assert np.array_equal(ours[:5], case.values[:5])
            for target, own in zip(targets[5:], ours[5:]):
                near, _, distances, _ = case.near(target, 8, None)
                weights = distances**-power
                assert np.allclose(own, weights @ case.values[near] / weights.sum(), rtol=1e-11, atol=1e-13), power
    print("smoothing, scattering and inverse distances: as defined", file=sys.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[2:] == ["--compadre"]:
            import pycompadre

            # The parser must outlive the objects created with it.
            kokkos = pycompadre.KokkosParser(False)
            compadre(pycompadre, sys.argv[1], folder)
            del kokkos
            return
        least_squares(sys.argv[1], folder)
        sums(sys.argv[1], folder)


main()
