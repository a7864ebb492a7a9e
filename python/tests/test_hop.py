"""HOP: thresholds, densities and members. The library's own tests compare results with other programs."""

from __future__ import annotations

import numpy as np
import pytest
from ropewalk import HOP, hop

RANDOM = np.random.default_rng(20261125)


def clumps(dtype=np.float64, dim=3):
    centers = np.array([[2.0, 2.0, 2.0], [7.0, 3.0, 5.0], [3.0, 8.0, 7.0]])[:, :dim]
    sizes = [400, 250, 120]
    points = [center + RANDOM.normal(0.0, 0.3, (size, dim)) for center, size in zip(centers, sizes, strict=False)]
    return np.concatenate([*points, RANDOM.uniform(0.0, 10.0, (100, dim))]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [2, 3])
def test_three_clumps(dtype, dim):
    X = clumps(dtype, dim)
    groups = hop(X, 3.0, n_density=24, n_hop=16)
    assert len(groups) == 3 and groups.labels.shape == groups.density.shape == (len(X),)
    for number, members in enumerate(groups):
        assert (groups.labels[members] == number).all() and (np.diff(members.astype(int)) > 0).all()
        # Each group belongs to one of the clumps.
        assert np.bincount(np.searchsorted([400, 650, 770], members, side="right")).argmax() == number
    assert (np.diff(groups.sizes) <= 0).all()
    assert (groups.density[groups.labels >= 0] >= 3.0).all()
    for n_jobs in [1, 2, -1]:
        again = HOP(3.0, n_density=24, n_hop=16, n_jobs=n_jobs).fit(X)
        np.testing.assert_array_equal(again.labels_, groups.labels)
        np.testing.assert_array_equal(again.density_, groups.density)


def test_members_of_small_groups_have_none():
    X = clumps()
    groups = hop(X, 3.0, n_density=24, n_hop=16, min_members=200)
    assert len(groups) == 2 and set(groups.labels.tolist()) == {-1, 0, 1}


def test_top_hat_is_a_count_in_a_ball():
    spatial = pytest.importorskip("scipy.spatial")
    X = clumps()
    k = 20
    radius = spatial.cKDTree(X).query(X, k)[0][:, -1]
    expected = k / (4.0 / 3.0 * np.pi * radius**3)
    found = hop(X, 1.0, kernel="top_hat", unit="absolute", n_density=k, n_hop=16).density
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    heavy = hop(X, 1.0, kernel="top_hat", unit="absolute", n_density=k, n_hop=16, masses=2.5).density
    np.testing.assert_allclose(heavy, 2.5 * expected, rtol=1e-9)
    mean = hop(X, 1.0, kernel="top_hat", n_density=k, n_hop=16, volume=1000.0).density
    np.testing.assert_allclose(mean, expected / (len(X) / 1000.0), rtol=1e-9)


def test_masses_scale_out_of_the_mean():
    X, masses = clumps(), RANDOM.uniform(1.0, 2.0, 870)
    one = hop(X, 3.0, n_density=24, n_hop=16, masses=masses)
    np.testing.assert_allclose(hop(X, 3.0, n_density=24, n_hop=16, masses=8.0 * masses).density, one.density, rtol=1e-12)
    np.testing.assert_array_equal(HOP(3.0, n_density=24, n_hop=16).fit_predict(X, sample_weight=masses), one.labels)


def test_periodic_box_has_no_corner():
    X = clumps()
    shift = np.array([4.0, -3.0, 5.5])
    one = hop(X, 3.0, n_density=24, n_hop=16, box_size=10.0)
    other = hop(X + shift, 3.0, n_density=24, n_hop=16, box_size=10.0)
    np.testing.assert_allclose(other.density, one.density, rtol=1e-9)
    np.testing.assert_array_equal(other.labels, one.labels)


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"delta_outer": np.nan}, "delta_outer.*NaN"),
        ({"delta_outer": -1.0}, "delta_outer.*-1"),
        ({"delta_saddle": 0.5}, "delta_saddle.*0.5"),
        ({"delta_peak": 1.0}, "delta_peak.*1"),
        ({"n_density": 0}, "n_density is 0"),
        ({"n_density": 870}, "n_density.*870"),
        ({"n_hop": 871}, "n_hop.*871"),
        ({"n_merge": 870}, "n_merge.*870"),
        ({"n_merge": -1}, "n_merge is -1"),
        ({"min_members": 0}, "min_members is 0"),
        ({"kernel": "cubic"}, "kernel is 'cubic'.*'gather'"),
        ({"unit": 1}, "unit is 1.*'mean'"),
        ({"volume": 0.0}, "volume.*0"),
        ({"box_size": [1.0, 2.0]}, "box_size has 2 sides"),
    ],
)
def test_parameters_that_are_refused(parameters, words):
    parameters = {"delta_outer": 1.0, **parameters}
    X = clumps()
    for call in [lambda: hop(X, **parameters), lambda: HOP(**parameters).fit(X)]:
        with pytest.raises(ValueError, match=words):
            call()


def test_data_that_are_refused():
    X = clumps()
    for dim in [1, 4]:
        with pytest.raises(ValueError, match="dimension"):
            hop(RANDOM.normal(size=(100, dim)), 1.0)
    with pytest.raises(ValueError, match="masses has the shape"):
        hop(X, 1.0, masses=[1.0])
    with pytest.raises(ValueError, match="particle 3: its mass is -1"):
        hop(X, 1.0, masses=np.where(np.arange(870) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="point 869: coordinate 1 is NaN"):
        hop(np.where([[False, False, False]] * 869 + [[False, True, False]], np.nan, X), 1.0)
    assert len(hop(np.empty((0, 3)), 1.0)) == 0
