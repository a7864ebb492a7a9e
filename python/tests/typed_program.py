"""A program that uses every estimator and function. `mypy --strict` checks it, and it is run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from ropewalk import (
    DBSCAN,
    HDBSCAN,
    HOP,
    AdaptaHOP,
    Bvh,
    Figure,
    FriendsOfFriends,
    Groups,
    HaloCatalog,
    HitLists,
    HopGroups,
    Interpolator,
    InverseDistance,
    Lists,
    Mesh,
    MeshData,
    MovingLeastSquares,
    NearestNeighbors,
    NearestTriangles,
    Pairs,
    RayHits,
    SpanningTree,
    Sph,
    dbscan,
    friends_of_friends,
    halos,
    halos_above,
    hop,
    linkage,
    minimum_spanning_tree,
    plot,
    set_threads,
    threads,
)


def points(n: int) -> NDArray[np.float32]:
    random = np.random.default_rng(1)
    return np.concatenate([random.normal(0.0, 0.1, (n, 3)), random.normal(5.0, 0.1, (n, 3))]).astype(np.float32)


def main() -> None:
    set_threads(1)
    assert threads() == 1
    X = points(100)

    clusters: DBSCAN = DBSCAN(eps=0.3, min_samples=4, n_jobs=1).fit(X, sample_weight=np.ones(200))
    labels: NDArray[np.int32] = clusters.labels_
    new: NDArray[np.int32] = clusters.predict([[5.0, 5.0, 5.0]])
    core, same = dbscan(X, 0.3, min_samples=4)
    assert labels.max() == 1 and new[0] == 1 and np.array_equal(labels, same)
    assert np.array_equal(core, clusters.core_sample_indices_) and len(core) == len(clusters.components_)

    varying: HDBSCAN = HDBSCAN(min_cluster_size=20, store_centers="both").fit(X)
    tree: SpanningTree = varying.minimum_spanning_tree_
    fallen, strength = varying.approximate_predict(X[:2])
    assert tree.edges.shape == (199, 2) and len(fallen) == len(strength) == 2
    assert varying.condensed_tree_.dtype.names is not None and varying.single_linkage_tree_.shape == (199, 4)
    assert varying.centroids_.shape == varying.medoids_.shape == (2, 3)
    assert varying.outlier_scores_.shape == varying.dbscan_clustering(0.3).shape
    assert len(varying.cluster_persistence_) == 2

    expected: NDArray[np.float64] = halos_above([1e13, 1e14], "tinker2008", sigma_8=0.8)
    assert expected.shape == (2,)

    groups: Groups = friends_of_friends(X, 0.3, min_members=10, box_size=[20.0, 20.0, 20.0])
    sizes: list[int] = [len(members) for members in groups]
    assert sizes == groups.sizes.tolist() and len(groups) == len(FriendsOfFriends(0.3, min_members=10).fit(X).groups_)

    peaks: HopGroups = hop(X, 1.0, n_density=16, n_hop=16, masses=np.ones(200))
    density: NDArray[np.float64] = peaks.density
    again: HOP = HOP(1.0, n_density=16, n_hop=16).set_params(n_jobs=2).fit(X)
    assert np.array_equal(density, again.density_) and np.array_equal(peaks.labels, again.labels_)

    subhalos: HaloCatalog = halos(X, eps=0.3, finder=AdaptaHOP(n_density=16, n_hop=16, density_threshold=1, selection="density"))
    by_hop: HaloCatalog = halos(X, eps=0.3, min_members=10, finder=HOP(1.0, n_density=16, n_hop=16))
    assert len(by_hop) == len(peaks) and len(subhalos.labels) == len(halos(X, eps=0.3, finder="fof").labels) == len(X)

    bvh: Bvh = Bvh(X, box_size=20.0, n_jobs=1)
    lists: Lists = bvh.neighbors(0.1)
    near, indices = bvh.nearest(X[:3], 4)
    pairs: Pairs = bvh.pairs(0.1)
    assert len(lists.indices) == len(X) + 2 * len(pairs.distances) == bvh.count_neighbors(0.1).sum()
    assert near.shape == indices.shape == (3, 4) and len(bvh.query(X[:3], [0.1, 0.2, 0.3]).offsets) == 4

    neighbors: NearestNeighbors = NearestNeighbors(n_neighbors=2).fit(X)
    assert neighbors.kneighbors_graph().nnz == 400 and neighbors.radius_neighbors(radius=0.1)[0].shape == (200,)

    mesh: Mesh = Mesh(np.eye(3, dtype=np.float32), [[0, 1, 2]])
    first: RayHits = mesh.first_hits([0.0, 0.0, 0.0], X[100:], t_max=1.0)
    crossed: HitLists = mesh.hits_all(X[:3], np.ones(3))
    nearest: NearestTriangles = mesh.nearest(X, radius=9.0)
    assert first.triangle.shape == (100,) and len(crossed.of(0).t) == 1 and nearest.distance.shape == mesh.signed_distance(X).shape

    interpolator: Interpolator = MovingLeastSquares(1, k=8, gradients=True).prepare(X, X[:5])
    values: NDArray[np.float64] = interpolator.apply(X)
    assert values.shape == (5, 3) and interpolator.gradient(X[:, 0]).shape == (5, 3) and (interpolator.degrees == 1).all()
    gathered = Sph(k=8).gather(X, X[:5]).apply(X[:, 0])
    assert gathered.shape == InverseDistance().interpolate(X, X[:, 0], X[:5]).shape == (5,)

    figure: Figure = plot.clusters(X, clusters)
    picture: bytes = figure.png(dpi=72)
    assert picture.startswith(b"\x89PNG") and plot.k_distances(X, 4).svg().startswith("<svg")
    assert len(Mesh(MeshData(np.eye(3), np.array([[0, 1, 2]], np.uint32)))) == 1

    spanned: SpanningTree = minimum_spanning_tree(X)
    cut: NDArray[np.int32] = spanned.cut(0.3)
    merges: NDArray[np.float64] = linkage(X)
    assert np.array_equal(merges[:, 2], spanned.weights) and cut.shape == (200,)


if __name__ == "__main__":
    main()
