"""The finders of `halos`: options as objects, and names for default options."""

from __future__ import annotations

import dataclasses
import pickle
import re
from typing import Any

import numpy as np
import pytest

import ropewalk
from ropewalk import HOP, AdaptaHOP, FriendsOfFriends, halos

BOX = 50.0
X = ropewalk.sample.mock_halos(20_000, box_size=BOX, seed=1)


def by(finder: Any, **more: Any) -> ropewalk.HaloCatalog:
    return halos(X, box_size=BOX, finder=finder, density=True, **more)


@pytest.mark.parametrize(
    "name, same, other",
    [
        ("hop", HOP(80), HOP(160)),
        ("hop", HOP(80.0, delta_saddle=200, delta_peak=240, n_density=64, n_hop=64, n_merge=4), HOP(80, kernel="gather")),
        ("adaptahop", AdaptaHOP(), AdaptaHOP(n_density=30)),
        (
            "adaptahop",
            AdaptaHOP(
                n_density=20, n_hop=20, density_threshold=80, fudge=4, fudge_epsilon=0.05, alpha=1, algorithm="exact", selection="mass",
                unbind=False,
            ),
            AdaptaHOP(density_threshold=160),
        ),
    ],
)  # fmt: skip
def test_names_are_default_options(name: str, same: Any, other: Any) -> None:
    expected, found, changed = by(name), by(same), by(other)
    assert found.meta == expected.meta and found.notes == expected.notes
    np.testing.assert_array_equal(found.table, expected.table)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.density is not None and expected.density is not None
    np.testing.assert_array_equal(found.density, expected.density)
    assert len(expected) > 10 and not np.array_equal(changed.labels, expected.labels)


@pytest.mark.parametrize(
    "finder, options",
    [
        (HOP(120, delta_saddle=130.5, delta_peak=400), {"delta_outer": 120, "delta_saddle": 130.5, "delta_peak": 400}),
        (HOP(120), {"delta_outer": 120, "delta_saddle": 300, "delta_peak": 360}),
        (HOP(80, n_density=32, n_hop=16, n_merge=6), {"n_density": 32, "n_hop": 16, "n_merge": 6}),
        (HOP(80, kernel="gather"), {"kernel": "gather"}),
        (HOP(80, kernel="top_hat"), {"kernel": "top_hat"}),
        (AdaptaHOP(n_density=32, n_hop=16), {"n_density": 32, "n_hop": 16}),
        (AdaptaHOP(density_threshold=100, fudge=3), {"density_threshold": 100, "fudge": 3}),
        (AdaptaHOP(fudge_epsilon=0.01, alpha=1.5), {"fudge_epsilon": 0.01, "alpha": 1.5}),
        (AdaptaHOP(algorithm="stepped", selection="density"), {"algorithm": "stepped", "selection": "density"}),
    ],
)
def test_options_are_those_of_the_catalogue(finder: Any, options: dict[str, Any]) -> None:
    meta = by(finder).meta
    assert {name: meta[name] for name in options} == options
    assert ("kernel" in meta) == ("kernel" in options)


def test_halos_by_hop_are_those_of_the_estimator() -> None:
    options: dict[str, Any] = {"delta_peak": 300.0, "n_density": 24, "n_hop": 16, "kernel": "gather"}
    finder = HOP(100.0, **options)
    before = finder.get_params()
    catalog = by(finder, min_members=30)
    # `halos` only uses the parameters.
    assert finder.get_params() == before and not hasattr(finder, "labels_")
    estimator = HOP(100.0, **options, min_members=30, box_size=BOX).fit(X)
    assert catalog.density is not None
    np.testing.assert_allclose(catalog.density, estimator.density_, rtol=1e-12)
    assert catalog["halo_count"].tolist() == estimator.groups_.sizes.tolist()
    for row in range(len(catalog)):
        np.testing.assert_array_equal(catalog.members(row), estimator.groups_.members(row))
    # A fitted estimator without other options has the same parameters.
    np.testing.assert_array_equal(by(HOP(100.0, **options).fit(X), min_members=30).labels, catalog.labels)


def test_unbound_particles_are_removed() -> None:
    x = ropewalk.sample.mock_halos(5_000, box_size=20)
    v = np.random.default_rng(1).normal(0, 300, x.shape)
    # The mass is that of the mean matter density in a box of 20 Mpc/h.
    more: dict[str, Any] = {"masses": 0.3 * 27.7536627 * 20**3 / 5000, "box_size": 20, "omega_m": 0.3, "h": 0.7, "redshift": 0}
    more["velocity_unit"] = "km/s"
    bound, every = (halos(x, v, finder=AdaptaHOP(unbind=unbind), **more) for unbind in (True, False))
    assert bound.meta["unbound_particles"] == "removed" and "halo_found_mass" in bound and "halo_found_mass" not in every
    assert (bound["halo_mass"] <= bound["halo_found_mass"]).all() and (bound.labels >= 0).sum() < (every.labels >= 0).sum()


@pytest.mark.parametrize("wrong", [None, 1, HOP, AdaptaHOP, FriendsOfFriends(0.2), {"delta_outer": 80}, np.array("hop"), ["hop"]])
def test_finders_of_another_type(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"finder is .*; it must be 'fof', 'hop', 'adaptahop', a HOP or an AdaptaHOP"):
        halos(np.eye(3), finder=wrong)


@pytest.mark.parametrize("wrong", ["rockstar", "HOP", ""])
def test_finders_of_another_name(wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"finder is '{wrong}'; it must be one of 'fof', 'hop', 'adaptahop'"):
        halos(np.eye(3), finder=wrong)


@pytest.mark.parametrize(
    "option, right",
    [
        ({"min_members": 30}, "halos has its own min_members; use halos(.., min_members=..)"),
        ({"box_size": 50.0}, "halos has its own box_size; use halos(.., box_size=..)"),
        ({"box_size": [50.0, 50.0, 50.0]}, "halos has its own box_size"),
        ({"n_jobs": 2}, "halos has its own n_jobs"),
        ({"device": "cpu"}, "halos has its own device"),
        ({"unit": "absolute"}, "halos measures densities in units of the mean; use unit='mean'"),
        ({"volume": 1e5}, "halos uses the volume of its box; use halos(.., box_size=..)"),
    ],
)
def test_parameters_of_hop_that_halos_does_not_use(option: dict[str, Any], right: str) -> None:
    ((name, value),) = option.items()
    with pytest.raises(ValueError, match=re.escape(f"finder=HOP(.., {name}={value!r}): {right}")):
        by(HOP(80, **option))
    # The default may be given.
    default = HOP(80).get_params()[name]
    assert len(by(HOP(80, **{name: default}))) == len(by("hop"))


@pytest.mark.parametrize(
    "finder, error, match",
    [
        (lambda: HOP(-1), ValueError, "delta_outer is -1"),
        (lambda: HOP("80"), TypeError, "delta_outer is '80'; it must be a number"),  # type: ignore[arg-type]
        (lambda: HOP(80, delta_saddle=1), ValueError, "delta_saddle is 1"),
        (lambda: HOP(80, delta_peak=np.nan), ValueError, "delta_peak is NaN"),
        (lambda: HOP(80, n_hop=0), ValueError, "n_hop is 0"),
        (lambda: HOP(80, n_density=20_000), ValueError, "n_density is 20000"),
        (lambda: HOP(80, kernel="cubic"), ValueError, "kernel is 'cubic'; it must be one of 'symmetric'"),
        (lambda: AdaptaHOP(n_density=0), ValueError, "n_density is 0; it must be at least 1"),
        (lambda: AdaptaHOP(n_hop=20.5), TypeError, "n_hop is 20.5; it must be a whole number"),  # type: ignore[arg-type]
        (lambda: AdaptaHOP(n_hop=20_000), ValueError, "n_hop is 20000"),
        (lambda: AdaptaHOP(density_threshold=-1), ValueError, "density_threshold is -1"),
        (lambda: AdaptaHOP(fudge="4"), TypeError, "fudge is '4'; it must be a number"),  # type: ignore[arg-type]
        (lambda: AdaptaHOP(fudge=-1), ValueError, "fudge is -1"),
        (lambda: AdaptaHOP(fudge_epsilon=np.nan), ValueError, "fudge_epsilon is NaN"),
        (lambda: AdaptaHOP(alpha=np.inf), ValueError, "alpha is inf"),
        (lambda: AdaptaHOP(algorithm="fast"), ValueError, "algorithm is 'fast'; it must be one of 'exact'"),  # type: ignore[arg-type]
        (lambda: AdaptaHOP(selection="size"), ValueError, "selection is 'size'; it must be one of 'mass'"),  # type: ignore[arg-type]
    ],
)
def test_errors_name_the_option(finder: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        by(finder())


@pytest.mark.parametrize(
    "name, value",
    [
        ("n_density", 20), ("n_hop", 20), ("n_merge", 4), ("delta_outer", 80), ("delta_saddle", 200), ("delta_peak", 240),
        ("density_threshold", 80), ("fudge", 4), ("fudge_epsilon", 0.05), ("alpha", 1), ("algorithm", "exact"), ("selection", "mass"),
        ("unbind", True),
    ],
)  # fmt: skip
def test_options_of_finders_are_not_arguments_of_halos(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        halos(np.eye(3), **{name: value})


def test_options_of_adaptahop_are_a_value() -> None:
    finder = AdaptaHOP(n_density=np.int64(32), fudge=3, unbind=True)  # type: ignore[arg-type]
    assert finder == AdaptaHOP(n_density=32, fudge=3.0, unbind=True) != AdaptaHOP() and hash(finder) == hash(dataclasses.replace(finder))
    assert type(finder.n_density) is int and type(finder.fudge) is float
    assert pickle.loads(pickle.dumps(finder)) == finder and eval(repr(finder)) == finder
    with pytest.raises(dataclasses.FrozenInstanceError):
        finder.fudge = 4  # type: ignore[misc]
    with pytest.raises(TypeError, match="positional"):
        AdaptaHOP(20)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="delta_outer"):
        AdaptaHOP(delta_outer=80)  # type: ignore[call-arg]
