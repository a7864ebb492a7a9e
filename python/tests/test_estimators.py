"""Conventions of scikit-learn's estimators: its own checks, cloning, pipelines, pickling, representations."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import ropewalk
from ropewalk import DBSCAN, HDBSCAN, HOP, FriendsOfFriends, NotFittedError

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, ParameterGrid  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import estimator_checks_generator  # noqa: E402

ESTIMATORS = [
    DBSCAN(),
    HDBSCAN(),
    FriendsOfFriends(0.5),
    HOP(0.1, n_density=3, n_hop=3, n_merge=2, min_members=1, unit="absolute", kernel="top_hat"),
]
with warnings.catch_warnings():
    # The warning that they do not inherit from BaseEstimator, which would require scikit-learn.
    warnings.filterwarnings("ignore", message=".*does not inherit")
    CHECKS = [(estimator, check) for estimator in ESTIMATORS for _, check in estimator_checks_generator(estimator)]

ids = lambda value: getattr(value, "func", value).__name__ if callable(value) else type(value).__name__  # noqa: E731


MANY = "the check has 30 features; ropewalk's points have 1 to 10 coordinates"
PLANE = "the check has more than 3 features; HOP's kernels are for 2 or 3"
EXPECTED_TO_FAIL = {
    ("DBSCAN", "check_sample_weight_equivalence_on_dense_data"): MANY,
    ("HOP", "check_sample_weight_equivalence_on_dense_data"): PLANE,
    ("HOP", "check_dtype_object"): PLANE,
    ("HOP", "check_estimators_dtypes"): PLANE,
    ("HOP", "check_n_features_in_after_fitting"): PLANE,
    ("HOP", "check_positive_only_tag_during_fit"): PLANE,
}


@pytest.mark.parametrize("estimator, check", CHECKS, ids=ids)
def test_scikit_learns_checks(estimator, check):
    reason = EXPECTED_TO_FAIL.get((type(estimator).__name__, ids(check)))
    if reason is None:
        check(clone(estimator))
    else:
        with pytest.raises((ValueError, AssertionError), match="dimensions|feature|ValueError unexpectedly"):
            check(clone(estimator))


def blobs(n=300, dim=2, seed=0):
    random = np.random.default_rng(seed)
    centers = random.uniform(0.0, 10.0, (5, dim))
    return centers[random.integers(0, 5, n)] + random.normal(0.0, 0.3, (n, dim))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_clones_copies_and_pickles(estimator):
    X = blobs()
    fitted = clone(estimator).fit(X)
    assert clone(fitted).get_params() == estimator.get_params()
    assert "labels_" not in vars(clone(fitted))
    for other in [pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)]:
        assert repr(other) == repr(fitted)
        np.testing.assert_array_equal(other.labels_, fitted.labels_)
        np.testing.assert_array_equal(other.fit_predict(X), fitted.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_pipelines_and_grids(estimator):
    X = blobs()
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(pipeline.fit_predict(X), clone(estimator).fit_predict(scaled))
    step = pipeline.steps[-1][0]
    for parameters in ParameterGrid({f"{step}__n_jobs": [1, 2]}):
        pipeline.set_params(**parameters)
        assert pipeline.steps[-1][1].n_jobs == parameters[f"{step}__n_jobs"]
        np.testing.assert_array_equal(pipeline.fit_predict(X), clone(estimator).fit_predict(scaled))
    assert type(estimator).__name__ in pipeline._repr_html_()


LEAVES = {"cluster_selection_method": "leaf", "cluster_selection_epsilon": 0.123, "copy": True}


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("DBSCAN", {}),
        ("DBSCAN", {"min_samples": 2, "eps": 3}),
        ("DBSCAN", {"eps": np.float64(0.25), "n_jobs": -1, "algorithm": "kd_tree"}),
        ("DBSCAN", {"eps": 1.0 / 3, "min_samples": 1234567, "algorithm": "ball_tree", "leaf_size": 17, "n_jobs": -1}),
        ("HDBSCAN", {"min_cluster_size": 7, "alpha": 0.5, "copy": True}),
        ("HDBSCAN", {"min_cluster_size": 7, **LEAVES}),
    ],
)
def test_representation_is_scikit_learns(name, parameters):
    import sklearn.cluster

    assert repr(getattr(ropewalk, name)(**parameters)) == repr(getattr(sklearn.cluster, name)(**parameters))


def test_weights_and_searches():
    X = blobs()
    weights = np.full(len(X), 2.0)
    pipeline = make_pipeline(StandardScaler(), DBSCAN(0.2, min_samples=8)).fit(X, dbscan__sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(pipeline[-1].labels_, DBSCAN(0.2, min_samples=4).fit_predict(scaled))

    def share_of_noise(estimator, X, y=None):
        return -np.mean(estimator.predict(X) < 0)

    search = GridSearchCV(DBSCAN(), {"eps": [0.01, 1.0], "min_samples": [3]}, scoring=share_of_noise).fit(X)
    assert search.best_params_ == {"eps": 1.0, "min_samples": 3}


def test_parameters():
    estimator = DBSCAN(eps=0.25)
    assert list(estimator.get_params()) == sorted(estimator.get_params())
    assert estimator.set_params(eps=0.5, n_jobs=2) is estimator
    assert (estimator.eps, estimator.n_jobs) == (0.5, 2)
    with pytest.raises(ValueError, match=r"Invalid parameter 'epsilon' for estimator DBSCAN\(n_jobs=2\)"):
        estimator.set_params(eps=7.0, epsilon=1.0)
    assert estimator.eps == 0.5


@pytest.mark.parametrize("make", ["DataFrame", "polars"])
def test_data_frames(make):
    frames = pytest.importorskip("polars" if make == "polars" else "pandas")
    X = blobs()
    frame = frames.DataFrame(X, schema=["x", "y"]) if make == "polars" else frames.DataFrame(X, columns=["x", "y"])
    fitted = DBSCAN().fit(frame)
    assert fitted.feature_names_in_.tolist() == ["x", "y"] and fitted.feature_names_in_.dtype == object
    np.testing.assert_array_equal(fitted.labels_, DBSCAN().fit_predict(X))
    np.testing.assert_array_equal(fitted.predict(frame)[fitted.core_sample_indices_], fitted.labels_[fitted.core_sample_indices_])
    with pytest.raises(ValueError, match="same order as they were in fit"):
        fitted.predict(frame[["y", "x"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(X)
    assert not hasattr(fitted.fit(X), "feature_names_in_")
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        fitted.predict(frame)


def test_names_that_are_no_text():
    pandas = pytest.importorskip("pandas")
    X = blobs()
    assert not hasattr(DBSCAN().fit(pandas.DataFrame(X)), "feature_names_in_")
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        DBSCAN().fit(pandas.DataFrame(X, columns=["x", 1]))
    unknown = pandas.DataFrame({"x": [1.0, 2.0], "y": pandas.array([1, None], dtype="Int64")})
    with pytest.raises((TypeError, ValueError)):
        DBSCAN().fit(unknown)


@pytest.mark.parametrize("estimator", ESTIMATORS[:2], ids=ids)
def test_not_fitted(estimator):
    with pytest.raises(sklearn.exceptions.NotFittedError, match="is not fitted yet"):
        clone(estimator).predict([[0.0, 0.0]])


def test_attributes_before_fit():
    assert not hasattr(HDBSCAN(), "outlier_scores_") and not hasattr(HDBSCAN(), "cluster_persistence_")


ALONE = """
import sys, warnings
warnings.simplefilter("error")
import ropewalk
for name in ["sklearn", "scipy", "pandas"]:
    assert name not in sys.modules, name
for estimator in [ropewalk.DBSCAN(), ropewalk.HDBSCAN()]:
    assert estimator.fit([[0.0], [0.1], [0.2], [0.3], [0.4]]).labels_.shape == (5,)
    try:
        type(estimator)().predict([[0.0]])
    except ropewalk.NotFittedError as error:
        assert isinstance(error, ValueError) and isinstance(error, AttributeError)
    else:
        raise SystemExit("predicted")
assert "sklearn" not in sys.modules
"""


def test_without_scikit_learn():
    subprocess.run([sys.executable, "-c", ALONE], check=True, timeout=120)


def test_own_error_is_no_other():
    assert issubclass(NotFittedError, (ValueError, AttributeError))


def test_devices():
    X = blobs()
    np.testing.assert_array_equal(DBSCAN(device="cpu").fit_predict(X), DBSCAN().fit_predict(X))
    for device in ["gpu", "", "cpu:0"]:
        with pytest.raises(ValueError, match="device"):
            DBSCAN(device=device).fit(X)
    with pytest.raises(TypeError, match="device"):
        DBSCAN(device=0).fit(X)


class OnDevice:
    shape = (2, 2)
    __cuda_array_interface__ = {"shape": (2, 2), "typestr": "<f4", "data": (0, True), "version": 3}


@pytest.mark.skipif(hasattr(ropewalk._native, "DeviceArray"), reason="this build is for devices, too")
def test_a_build_for_the_processor_says_so():
    for call in [lambda: DBSCAN().fit(OnDevice()), lambda: ropewalk.friends_of_friends(OnDevice(), 1.0)]:
        with pytest.raises(RuntimeError, match="X is on a device, but this build of ropewalk has no CUDA support"):
            call()
    for device in ["cuda", "cuda:1"]:
        with pytest.raises(RuntimeError, match=f"device is '{device}', but this build"):
            HDBSCAN(device=device).fit(blobs())


def test_any_number_of_threads():
    X = blobs(2000)
    for estimator in ESTIMATORS:
        found = [clone(estimator).set_params(n_jobs=n_jobs).fit_predict(X) for n_jobs in [1, 2, 3, -1, -2, None]]
        for labels in found[1:]:
            np.testing.assert_array_equal(labels, found[0])
        with pytest.raises(ValueError, match="n_jobs is 0"):
            clone(estimator).set_params(n_jobs=0).fit(X)
        with pytest.raises(TypeError, match="n_jobs|integer"):
            clone(estimator).set_params(n_jobs="all").fit(X)


def test_typed_program():
    import typed_program

    typed_program.main()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_results_are_the_callers(estimator):
    X = blobs().astype(np.float32)
    before = X.copy()
    X.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = clone(estimator).fit(X)
    assert fitted.labels_.flags.writeable and fitted.labels_.flags.c_contiguous
    fitted.labels_[0] = 7
    if isinstance(fitted, HDBSCAN):
        assert np.shares_memory(fitted._fit_X, X)
    np.testing.assert_array_equal(X, before)


class Elsewhere:
    """An array that claims to be on a GPU."""

    def __init__(self, *shape, columns=None):
        self.shape, self.__cuda_array_interface__ = shape, {}
        if columns:
            self.columns = columns

    def __len__(self):
        return self.shape[0]


class Device:
    """A replacement for `ropewalk._device` that records its arguments and returns recognizable results."""

    def __init__(self):
        self.options = None

    def hdbscan(self, X, options, device):
        self.options = options
        return "labels", "probabilities"

    def dbscan(self, X, *rest):
        return "core", "labels"


@pytest.fixture
def there(monkeypatch):
    device = Device()
    monkeypatch.setitem(sys.modules, "ropewalk._device", device)
    return device


FOUND = np.random.default_rng(5).normal(size=(200, 2))


@pytest.mark.parametrize("make", [
    lambda: DBSCAN(), lambda: HDBSCAN(), lambda: FriendsOfFriends(0.1), lambda: HOP(80.0), lambda: ropewalk.NearestNeighbors(),
])  # fmt: skip
def test_a_fit_that_fails_changes_nothing(make):
    found = make().fit(FOUND)
    before = dict(found.__dict__)
    for bad in [np.full((200, 3), 1e300), [[1j, 2.0]], np.zeros((200, 11))]:
        found.n_jobs = 2**70 if bad is not None and np.shape(bad) == (200, 3) else None
        with pytest.raises(ValueError):
            found.fit(bad)
        assert {name: id(value) for name, value in found.__dict__.items() if name != "n_jobs"} == {
            name: id(value) for name, value in before.items() if name != "n_jobs"
        }
    fresh = make()
    with pytest.raises(ValueError):
        fresh.fit(np.zeros((200, 11)))
    assert not hasattr(fresh, "n_features_in_")


def test_after_a_fit_that_fails_hdbscan_predicts():
    found = HDBSCAN().fit(FOUND)
    labels = found.predict(FOUND[:9])
    with pytest.raises(ValueError, match="min_cluster_size"):
        found.set_params(min_cluster_size=1).fit(FOUND)
    assert np.array_equal(found.predict(FOUND[:9]), labels)


def test_on_a_device_ties_are_removed_together(there):
    HDBSCAN().fit(Elsewhere(9, 2))
    assert there.options.sequential is False
    found = HDBSCAN().fit(FOUND).fit(Elsewhere(9, 2))
    with pytest.raises(RuntimeError, match="on a device"):
        found.predict(FOUND)
    HDBSCAN(ties="sequential").fit(Elsewhere(9, 2))
    assert there.options.sequential is True


@pytest.mark.parametrize("make", [lambda: DBSCAN(), lambda: HDBSCAN(), lambda: FriendsOfFriends(0.1), lambda: HOP(80.0)])
def test_on_a_device_points_have_two_dimensions(make, there):
    with pytest.raises(ValueError, match="Expected a 2-dimensional array X, got one of 1 dimension instead"):
        make().fit(Elsewhere(9))
    with pytest.raises(ValueError, match="Expected a 2-dimensional array X, got one of 1 dimension instead"):
        ropewalk.hop(Elsewhere(9), 80.0)


def test_on_a_device_names_are_those_of_the_last_fit(there):
    found = DBSCAN().fit(Elsewhere(9, 2, columns=["a", "b"]))
    assert list(found.feature_names_in_) == ["a", "b"]
    assert not hasattr(found.fit(Elsewhere(9, 3)), "feature_names_in_") and found.n_features_in_ == 3


@pytest.mark.parametrize("call", [
    lambda: ropewalk.dbscan(FOUND, min_samples=2**70), lambda: ropewalk.dbscan(FOUND, n_jobs=2**70),
    lambda: ropewalk.friends_of_friends(FOUND, 0.1, n_jobs=-2**70), lambda: ropewalk.hop(FOUND, 80.0, n_hop=2**70),
    lambda: ropewalk.hop(FOUND, 80.0, n_jobs=2**70), lambda: ropewalk.Bvh(FOUND, n_jobs=2**70),
    lambda: ropewalk.Bvh(FOUND).nearest_neighbors(2**70), lambda: ropewalk.minimum_spanning_tree(FOUND, n_jobs=2**70),
    lambda: HDBSCAN(n_jobs=2**70).fit(FOUND), lambda: ropewalk.k_distances(FOUND, 1, n_jobs=2**70),
    lambda: ropewalk.NearestNeighbors(n_jobs=2**70).fit(FOUND), lambda: ropewalk.k_distances(FOUND, 2**70),
    lambda: ropewalk.halos(FOUND, eps=0.1, n_jobs=2**70), lambda: ropewalk.sample.uniform(10, n_jobs=2**70),
])  # fmt: skip
def test_numbers_that_are_too_large_are_named(call):
    with pytest.raises(ValueError, match=r"^(min_samples|n_jobs|n_hop|k) is -?1180591620717411303424; it must be at "):
        call()
