"""Interpolation, compared with scipy's least squares and with sums by their definition."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.linalg

from ropewalk import Interpolator, InverseDistance, MovingLeastSquares, Sph

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
    "cubic_spline": lambda x: np.maximum(1 - x, 0) ** 3 * 2 - np.maximum(1 - 2 * x, 0) ** 3,
    "wendland_c2": WEIGHTS["wendland2"],
    "wendland_c4": WEIGHTS["wendland4"],
    "wendland_c6": WEIGHTS["wendland6"],
}


def points(n, dim, seed, dtype=np.float64):
    return np.random.default_rng(seed).random((n, dim)).astype(np.float32).astype(dtype)


def near(sources, target, k, radius, side=None):
    """Returns neighbours, offsets, distances, and the radius of the weights, by sorting all sources."""
    offsets = sources.astype(np.float64) - target
    if side is not None:
        offsets -= side * np.round(offsets / side)
    distances = np.linalg.norm(offsets, axis=1)
    if radius is None:
        own = np.argsort(distances, kind="stable")[:k]
        radius = 1.1 * distances[own[-1]]
    else:
        own = np.flatnonzero(distances <= radius)
    return own, offsets[own], distances[own], radius


def fitted(sources, values, target, degree, weight, k, radius, side=None):
    """Returns the value and the gradient of the polynomial fitted at a target."""
    own, offsets, distances, radius = near(sources, target, k, radius, side)
    dim = offsets.shape[1]
    powers = [axes for d in range(degree + 1) for axes in itertools.combinations_with_replacement(range(dim), d)]
    basis = np.stack([np.prod(offsets[:, list(axes)], axis=1) for axes in powers], axis=1)
    root = np.sqrt(np.maximum(WEIGHTS[weight](np.minimum(distances / radius, 1.0)), 0.0) * (distances < radius))[:, None]
    solution = scipy.linalg.lstsq(root * basis, root * values[own])[0]
    return solution[0], solution[1 : 1 + dim] if degree else np.zeros((dim, *values.shape[1:]))


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("side", [None, 1.0])
def test_moving_least_squares_as_scipy(dim, dtype, side):
    sources, targets = points(600, dim, 1, dtype), points(30, dim, 2, dtype)
    values = np.stack([np.sin(3 * sources).sum(1), np.cos(sources.sum(1))], 1).astype(np.float64)
    for degree, weight in zip((0, 1, 2, 2), np.random.default_rng(dim).choice(list(WEIGHTS), 4)):
        for limit in ({"k": 40, "radius": None}, {"k": None, "radius": 0.12 if dim < 3 else 0.45}):
            mls = MovingLeastSquares(degree, weight=weight, gradients=True, box_size=side, **limit)
            found = mls.prepare(sources, targets)
            assert isinstance(found, Interpolator) and len(found) == 30 and found.n_sources == 600
            assert (found.degrees == degree).all() and found.n_lower == found.n_without_neighbors == 0
            expected = [fitted(sources, values, target, degree, weight, side=side, **limit) for target in targets.astype(np.float64)]
            np.testing.assert_allclose(found.apply(values), [value for value, _ in expected], atol=1e-7)
            np.testing.assert_array_equal(found.apply(values[:, 0]), found.apply(values)[:, 0])
            gradients = np.array([gradient for _, gradient in expected])
            for field in (0, 1):
                np.testing.assert_allclose(found.gradient(values[:, field]), gradients[..., field], atol=1e-5)
            np.testing.assert_array_equal(mls.interpolate(sources, values, targets), found.apply(values))


@pytest.mark.parametrize("weight", WEIGHTS)
def test_all_weights(weight):
    sources, targets = points(1000, 3, 3), points(40, 3, 4)
    values = np.sin(3 * sources).sum(1, keepdims=True)
    found = MovingLeastSquares(k=20, weight=weight).interpolate(sources, values, targets)
    expected = [fitted(sources, values, target, 2, weight, 20, None)[0] for target in targets]
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("dim", range(1, 11))
def test_polynomials_are_reproduced(dim):
    sources, targets = points(400, dim, 5), points(20, dim, 6)
    for degree in (0, 1, 2):
        found = MovingLeastSquares(degree, gradients=True).prepare(sources, targets)
        assert (found.degrees == degree).all()
        slopes = np.arange(1.0, dim + 1)
        field = lambda x: [np.ones(len(x)), x @ slopes, (x @ slopes) ** 2][degree]
        np.testing.assert_allclose(found.apply(field(sources)), field(targets), rtol=1e-8)
        slope = [np.zeros((20, dim)), np.tile(slopes, (20, 1)), 2 * (targets @ slopes)[:, None] * slopes][degree]
        np.testing.assert_allclose(found.gradient(field(sources)), slope, atol=1e-6 * max(1.0, np.abs(slope).max()))


def test_lower_degrees_are_told():
    """Sources in a plane determine degree 2 in the plane, and only degree 0 outside of it."""
    sources = np.column_stack([points(200, 2, 7), np.zeros(200)])
    found = MovingLeastSquares(2).prepare(sources, [[0.5, 0.5, 0.0], [0.5, 0.5, 0.25]])
    assert found.degrees.tolist() == [2, 0] and found.n_lower == 1
    np.testing.assert_allclose(found.apply(np.ones(200)), 1.0)
    assert found.degrees.dtype == np.int8
    with pytest.raises(ValueError, match="read-only"):
        found.degrees[0] = 1


def test_targets_without_neighbours():
    sources = points(300, 2, 8)
    values = sources[:, 0]
    for options in (MovingLeastSquares, InverseDistance, Sph):
        for fallback in ("nan", "nearest", "inverse_distance"):
            own = options(radius=0.2, fallback=fallback)
            found = (own.gather if options is Sph else own.prepare)(sources, [[0.5, 0.5], [9.0, 9.0]])
            assert found.n_without_neighbors == 1
            value = found.apply(values)[1]
            order = np.argsort(np.linalg.norm(sources - 9.0, axis=1))
            if fallback == "nan":
                assert np.isnan(value) and found.degrees[1] == -1
            elif fallback == "nearest":
                assert value == values[order[0]]
            else:
                weights = np.linalg.norm(sources[order[:8]] - 9.0, axis=1) ** -2.0
                np.testing.assert_allclose(value, weights @ values[order[:8]] / weights.sum())


@pytest.mark.parametrize("power", [1.0, 2.0, 3.5])
def test_inverse_distances(power):
    sources, targets = points(400, 3, 9), points(50, 3, 10)
    targets[:5] = sources[:5]
    values = np.stack([np.sin(3 * sources).sum(1), sources[:, 0]], 1)
    for limit in ({"k": 8, "radius": None}, {"k": None, "radius": 0.3}):
        found = InverseDistance(power, **limit).prepare(sources, targets).apply(values)
        np.testing.assert_array_equal(found[:5], values[:5])
        for target, value in zip(targets[5:], found[5:]):
            own, _, distances, _ = near(sources, target, **limit)
            weights = distances**-power
            np.testing.assert_allclose(value, weights @ values[own] / weights.sum(), rtol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("side", [None, 1.0])
def test_smoothing(kernel, side):
    sources, targets = points(400, 3, 11), points(50, 3, 12)
    values, volumes = np.cos(sources.sum(1)), 1e-3 * (1 + sources[:, 0])
    for limit in ({"k": 32, "radius": None}, {"k": None, "radius": 0.35}):
        found = Sph(kernel, volumes=volumes, box_size=side, **limit).gather(sources, targets)
        assert (found.degrees == 0).all()
        raw = Sph(kernel, volumes=volumes, normalized=False, box_size=side, **limit).gather(sources, targets)
        assert (raw.degrees == -1).all()
        norm = raw.apply(np.ones(400))
        for i, target in enumerate(targets):
            own, _, distances, radius = near(sources, target, side=side, **limit)
            weights = volumes[own] * KERNELS[kernel](distances / radius)
            np.testing.assert_allclose(found.apply(values)[i], weights @ values[own] / weights.sum(), rtol=1e-11)
            np.testing.assert_allclose(raw.apply(values)[i] / norm[i], found.apply(values)[i], rtol=1e-11)
    # A separate radius for each target.
    radii = np.linspace(0.3, 0.45, 50)
    each = Sph(kernel, radius=radii, box_size=side).gather(sources, targets).apply(values)
    for i, target in enumerate(targets):
        assert each[i] == Sph(kernel, radius=radii[i], box_size=side).gather(sources, target[None]).apply(values)[0]


def test_kernels_have_an_integral_of_one():
    """Sums the kernel over a fine lattice around a target in the middle."""
    sources = np.stack(np.meshgrid(*[np.arange(31) / 30] * 3), -1).reshape(-1, 3)
    for kernel in KERNELS:
        own = Sph(kernel, radius=0.3, volumes=np.full(len(sources), 30.0**-3), normalized=False)
        np.testing.assert_allclose(own.gather(sources, [[0.5, 0.5, 0.5]]).apply(np.ones(len(sources))), 1.0, atol=2e-3)


def test_volumes_of_nothing():
    """Targets whose sources have no volume count as targets without sources, if sums are normalized."""
    sources = points(60, 2, 22)
    volumes = (sources[:, 0] > 0.5).astype(np.float64)
    targets = [[0.05, 0.5], [0.9, 0.5]]
    found = Sph(radius=0.3, volumes=volumes).gather(sources, targets)
    assert found.n_without_neighbors == 1 and found.degrees.tolist() == [-1, 0]
    np.testing.assert_array_equal(np.isnan(found.apply(np.ones(60))), [True, False])
    raw = Sph(radius=0.3, volumes=volumes, normalized=False).gather(sources, targets).apply(np.ones(60))
    assert raw[0] == 0 and raw[1] > 0


def test_nothing_is_lost_that_is_scattered():
    sources, targets = points(500, 2, 13), points(40, 2, 14)
    masses = np.stack([np.ones(500), sources[:, 0]], 1)
    for own in (Sph(k=4), Sph(radius=0.1), Sph("wendland_c6", radius=np.linspace(0.01, 0.3, 500))):
        found = own.scatter(sources, targets)
        np.testing.assert_allclose(found.apply(masses).sum(0), masses.sum(0), rtol=1e-12)
        assert len(found) == 40


def test_the_matrix():
    sources, targets = points(200, 3, 15), points(30, 3, 16)
    found = MovingLeastSquares(1, k=9).prepare(sources, targets)
    values = np.random.default_rng(17).random((200, 3))
    matrix = found.to_scipy()
    assert matrix.shape == (30, 200) and matrix.nnz == 270
    np.testing.assert_allclose(matrix @ values, found.apply(values), atol=1e-12)
    offsets, indices, _ = found.matrix()
    assert offsets.tolist() == list(range(0, 271, 9)) and indices.dtype == np.int32
    for i, target in enumerate(targets):
        np.testing.assert_array_equal(indices[9 * i : 9 * i + 9], near(sources, target, 9, None)[0])
    del found
    assert matrix.data.sum() == pytest.approx(30)


def test_not_pickled():
    with pytest.raises(TypeError, match="an Interpolator cannot be pickled; send its `matrix"):
        pickle.dumps(InverseDistance().prepare(SOURCES, SOURCES))


def test_nothing():
    sources = points(50, 2, 18)
    found = MovingLeastSquares().prepare(sources, np.zeros((0, 2)))
    assert found.apply(np.zeros(50)).shape == (0,) and found.apply(np.zeros((50, 3))).shape == (0, 3)
    assert found.apply(np.zeros((50, 0))).shape == (0, 0)
    none = InverseDistance().prepare(np.zeros((0, 2)), sources)
    assert np.isnan(none.apply([])).all() and none.n_without_neighbors == 50


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_any_number_of_threads(n_jobs):
    sources, targets = points(5000, 3, 19), points(5000, 3, 20)
    values = np.sin(sources.sum(1))
    expected = MovingLeastSquares(k=20).interpolate(sources, values, targets)
    np.testing.assert_array_equal(MovingLeastSquares(k=20, n_jobs=n_jobs).interpolate(sources, values, targets), expected)


SOURCES = points(50, 2, 21)
BAD = np.where(np.arange(100).reshape(50, 2) == 7, np.nan, SOURCES)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: MovingLeastSquares(3), ValueError, "degree is 3"),
        (lambda: MovingLeastSquares(1.5), TypeError, "degree is 1.5"),
        (lambda: MovingLeastSquares(k=0), ValueError, "k is 0"),
        (lambda: MovingLeastSquares(k=10, radius=0.5), ValueError, "k and radius are both given"),
        (lambda: MovingLeastSquares(weight="wendland3"), ValueError, "weight is 'wendland3'"),
        (lambda: MovingLeastSquares(fallback="zero"), ValueError, "fallback is 'zero'"),
        (lambda: Sph("spline"), ValueError, "kernel is 'spline'"),
        (lambda: MovingLeastSquares(2, k=5).prepare(SOURCES, SOURCES), ValueError, "5.*6"),
        (lambda: MovingLeastSquares(radius=-1.0).prepare(SOURCES, SOURCES), ValueError, "radius is -1"),
        (lambda: MovingLeastSquares(radius=np.nan).prepare(SOURCES, SOURCES), ValueError, "radius is NaN"),
        (lambda: MovingLeastSquares(radius=0.6, box_size=1.0).prepare(SOURCES, SOURCES), ValueError, "at least twice radius = 0.6"),
        (lambda: MovingLeastSquares().prepare(BAD, SOURCES), ValueError, "3.*coordinate 1 is NaN"),
        (lambda: MovingLeastSquares().prepare(SOURCES, BAD), ValueError, "3.*coordinate 1 is NaN"),
        (lambda: MovingLeastSquares().prepare(SOURCES, SOURCES[:, :1]), ValueError, "dimension of the targets"),
        (lambda: MovingLeastSquares().prepare(SOURCES, SOURCES).apply(np.zeros(49)), ValueError, r"values has the shape \(49,\)"),
        (lambda: MovingLeastSquares().prepare(SOURCES, SOURCES).apply(0.0), ValueError, r"values has the shape \(\)"),
        (lambda: MovingLeastSquares().prepare(SOURCES, SOURCES).apply(BAD), ValueError, "3.* NaN"),
        (lambda: MovingLeastSquares().prepare(SOURCES, SOURCES).gradient(SOURCES[:, 0]), ValueError, "gradients=True"),
        (lambda: InverseDistance().prepare(SOURCES, SOURCES).gradient(SOURCES[:, 0]), ValueError, "gradients were not prepared"),
        (lambda: MovingLeastSquares().prepare(SOURCES, SOURCES).apply(1j * SOURCES), ValueError, "values is complex; it must be real"),
        (lambda: InverseDistance(power=0.0).prepare(SOURCES, SOURCES), ValueError, "power is 0"),
        (lambda: Sph(normalized=False).gather(SOURCES, SOURCES), ValueError, "volume"),
        (lambda: Sph(volumes=np.ones(49)).gather(SOURCES, SOURCES), ValueError, "49"),
        (lambda: Sph(volumes=-np.ones(50)).gather(SOURCES, SOURCES), ValueError, "volume"),
        (lambda: Sph(radius=np.ones(49)).gather(SOURCES, SOURCES), ValueError, "49"),
        (lambda: Sph(radius=np.ones((25, 2))), ValueError, r"radius has the shape \(25, 2\)"),
        (lambda: Sph(volumes=np.ones(50)).scatter(SOURCES, SOURCES), ValueError, "volumes is given, but only gather supports it"),
        (lambda: Sph(fallback="nearest").scatter(SOURCES, SOURCES), ValueError, "fallback is given"),
        (lambda: Sph(normalized=False).scatter(SOURCES, SOURCES), ValueError, "normalized is given"),
        (lambda: Sph().scatter(SOURCES, np.zeros((0, 2))), ValueError, "the number of targets is 0; it must be at least 1"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
