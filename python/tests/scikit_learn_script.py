"""A user's script for scikit-learn. `test_scikit_learn_script.py` runs it as it is, and with the imports of `ropewalk`.

`result(name, value)` records a value that must be equal with both packages, and `clusters(name, labels)` labels that may be
numbered in another order, since scikit-learn's HDBSCAN breaks ties in an order that it does not specify.
"""

import copy
import pickle

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import AgglomerativeClustering, SpectralClustering
from sklearn.cluster import DBSCAN, HDBSCAN, dbscan
from sklearn.datasets import load_iris, make_blobs, make_circles, make_moons
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_score
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

results = {}
clusterings = {}


def result(name, value):
    results[name] = np.asarray(value)


def clusters(name, labels):
    clusterings[name] = np.asarray(labels)


# Moons: DBSCAN with default and other parameters -----------------------------------------------------------------------------------------

moons, truth = make_moons(600, noise=0.06, random_state=0)
model = DBSCAN(eps=0.15, min_samples=5)
labels = model.fit_predict(moons)
result("moons", labels)
result("moons: core", model.core_sample_indices_)
result("moons: components", model.components_)
result("moons: features", model.n_features_in_)
result("moons: score", adjusted_rand_score(truth, labels))
n_clusters = len(set(labels)) - (1 if -1 in labels else 0)
n_noise = list(labels).count(-1)
result("moons: clusters and noise", [n_clusters, n_noise])

for eps in (0.05, 0.1, 0.2, 0.5):
    for min_samples in (1, 3, 10):
        result(f"moons: {eps} {min_samples}", DBSCAN(eps=eps, min_samples=min_samples).fit(moons).labels_)

for algorithm in ("auto", "ball_tree", "kd_tree", "brute"):
    result(f"moons: {algorithm}", DBSCAN(0.1, algorithm=algorithm, leaf_size=10, n_jobs=1).fit_predict(moons))
result("moons: minkowski", DBSCAN(0.1, metric="minkowski", p=2).fit_predict(moons))
result("moons: l2", DBSCAN(0.1, metric="l2").fit_predict(moons))

# The function ----------------------------------------------------------------------------------------------------------------------------

core, labels = dbscan(moons, eps=0.12, min_samples=4)
result("function: core", core)
result("function: labels", labels)
core, labels = dbscan(
    moons,
    0.12,
    min_samples=4,
    metric="minkowski",
    metric_params=None,
    algorithm="kd_tree",
    leaf_size=20,
    p=2,
    sample_weight=np.linspace(0.1, 2.0, len(moons)),
    n_jobs=-1,
)
result("function: weighted core", core)
result("function: weighted labels", labels)

# Plotting, as in scikit-learn's gallery: a mask of core samples --------------------------------------------------------------------------

X, _ = make_blobs(n_samples=750, centers=[[1, 1], [-1, -1], [1, -1]], cluster_std=0.4, random_state=0)
X = StandardScaler().fit_transform(X)
db = DBSCAN(eps=0.3, min_samples=10).fit(X)
mask = np.zeros_like(db.labels_, dtype=bool)
mask[db.core_sample_indices_] = True
for k in sorted(set(db.labels_)):
    members = db.labels_ == k
    result(f"gallery: core of {k}", X[members & mask])
    result(f"gallery: border of {k}", X[members & ~mask])
result("gallery: silhouette", silhouette_score(X, db.labels_))

# Weights ---------------------------------------------------------------------------------------------------------------------------------

weights = np.random.default_rng(1).integers(1, 4, len(X))
result("weights", DBSCAN(0.2, min_samples=12).fit(X, sample_weight=weights).labels_)
result("weights as copies", DBSCAN(0.2, min_samples=12).fit_predict(np.repeat(X, weights, axis=0)))
result("weights: predict", DBSCAN(0.2, min_samples=12).fit_predict(X, sample_weight=weights))

# Types of numbers ------------------------------------------------------------------------------------------------------------------------

result("float32", DBSCAN(0.3).fit_predict(X.astype(np.float32)))
result("integers", DBSCAN(1.5, min_samples=3).fit_predict(np.round(10 * X).astype(int)))
result("lists", DBSCAN(1.5, min_samples=2).fit_predict([[0, 0], [1, 1], [5, 5], [5, 6], [9, 9]]))
result("Fortran order", DBSCAN(0.3).fit_predict(np.asfortranarray(X)))
result("a view", DBSCAN(0.3).fit_predict(X[::2]))

# Data frames -----------------------------------------------------------------------------------------------------------------------------

iris = load_iris(as_frame=True)
frame = iris.data
fitted = DBSCAN(eps=0.6, min_samples=4).fit(frame)
result("iris", fitted.labels_)
result("iris: names", list(fitted.feature_names_in_))
frame = frame.assign(cluster=fitted.labels_)
result("iris: sizes", frame.groupby("cluster").size().to_numpy())
result("iris: means", frame.groupby("cluster").mean().to_numpy())
result("iris: table", pd.crosstab(frame["cluster"], iris.target).to_numpy())
result("iris: information", normalized_mutual_info_score(iris.target, fitted.labels_))

# Pipelines -------------------------------------------------------------------------------------------------------------------------------

pipeline = Pipeline([("scale", StandardScaler()), ("reduce", PCA(2, random_state=0)), ("cluster", DBSCAN(0.4))])
result("pipeline", pipeline.fit_predict(iris.data))
result("pipeline: steps", pipeline.named_steps["cluster"].labels_)
pipeline.set_params(cluster__eps=0.6, cluster__min_samples=8)
result("pipeline: parameters", [pipeline.get_params()["cluster__eps"], pipeline.get_params()["cluster__min_samples"]])
result("pipeline: again", pipeline.fit(iris.data)[-1].labels_)
result("pipeline: weights", pipeline.fit(iris.data, cluster__sample_weight=np.full(150, 2.0))[-1].labels_)
as_frames = make_pipeline(MinMaxScaler(), DBSCAN(0.2)).set_output(transform="pandas")
result("pipeline: frames", as_frames.fit_predict(iris.data))
result("pipeline: names", list(as_frames[-1].feature_names_in_))
result("pipeline: text", "DBSCAN" in repr(pipeline) and "DBSCAN" in pipeline._repr_html_())
union = FeatureUnion([("all", StandardScaler()), ("two", PCA(2, random_state=0))])
result("pipeline: union", make_pipeline(union, DBSCAN(1.0)).fit_predict(iris.data))
result("pipeline: function", make_pipeline(FunctionTransformer(np.log1p), DBSCAN(0.15)).fit_predict(iris.data))

# Parameters, copies, pickles -------------------------------------------------------------------------------------------------------------

estimator = DBSCAN(eps=0.25, min_samples=7, n_jobs=2)
result("parameters", [estimator.get_params()[name] for name in ("eps", "min_samples", "n_jobs")])
result("parameters: text", repr(estimator))
result("parameters: clone", repr(clone(estimator)))
result("parameters: set", repr(clone(estimator).set_params(eps=1.0, n_jobs=None)))
try:
    estimator.set_params(epsilon=1.0)
except ValueError as error:
    result("parameters: unknown", str(error).split(". ")[0])
fitted = estimator.fit(X)
for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
    result("copies", other.labels_)
check_is_fitted(fitted)
try:
    check_is_fitted(clone(fitted))
except NotFittedError:
    result("not fitted", True)

# Searches --------------------------------------------------------------------------------------------------------------------------------

scores = []
for parameters in ParameterGrid({"eps": [0.1, 0.2, 0.3, 0.4], "min_samples": [5, 10, 20]}):
    labels = DBSCAN(**parameters).fit_predict(X)
    scores.append(silhouette_score(X, labels) if len(set(labels)) > 1 else -1.0)
result("grid: scores", scores)
result("grid: best", int(np.argmax(scores)))


def score(estimator, X, y=None):
    found = estimator.fit_predict(X)
    return silhouette_score(X, found) if len(set(found)) > 1 else -1.0


search = GridSearchCV(DBSCAN(), {"eps": [0.2, 0.3, 0.5], "min_samples": [5, 8]}, scoring=score, cv=KFold(3, shuffle=True, random_state=0))
search.fit(X)
result("search: best", [search.best_params_["eps"], search.best_params_["min_samples"]])
result("search: scores", search.cv_results_["mean_test_score"])
result("search: labels", search.best_estimator_.labels_)

# Clusters as features of a classifier ----------------------------------------------------------------------------------------------------


class Nearest(ClusterMixin, BaseEstimator):
    """A clusterer of the user's own that contains another one, with labels for new points."""

    def __init__(self, inner, radius=1.0):
        self.inner = inner
        self.radius = radius

    def fit(self, X, y=None):
        self.inner_ = clone(self.inner).fit(X)
        self.neighbors_ = NearestNeighbors(n_neighbors=1).fit(self.inner_.components_)
        self.labels_ = self.inner_.labels_
        return self

    def predict(self, X):
        distances, indices = self.neighbors_.kneighbors(X)
        core = self.labels_[self.inner_.core_sample_indices_]
        return np.where(distances[:, 0] <= self.radius, core[indices[:, 0]], -1)


nearest = Nearest(DBSCAN(0.3, min_samples=10), radius=0.3).fit(X[:500])
result("nested: parameters", sorted(name for name in nearest.get_params() if name in ("inner", "inner__eps", "inner__metric", "radius")))
result("nested: labels", nearest.predict(X[500:]))
result("nested: other", clone(nearest).set_params(inner__eps=0.2).fit(X[:500]).predict(X[500:]))
extended = np.column_stack([iris.data, DBSCAN(0.6).fit_predict(iris.data)])
forest = RandomForestClassifier(20, random_state=0)
result("features", cross_val_score(forest, extended, iris.target, cv=3))

# Neighbours ------------------------------------------------------------------------------------------------------------------------------

neighbors = NearestNeighbors(n_neighbors=4).fit(X)
distances, indices = neighbors.kneighbors(X[:50])
result("neighbors: distances", distances)
result("neighbors: indices", indices)
result("neighbors: without itself", neighbors.kneighbors()[1])
result("neighbors: only indices", neighbors.kneighbors(X[:9], 3, return_distance=False))
result("neighbors: curve", np.sort(neighbors.kneighbors(n_neighbors=10)[0][:, -1]))
graph = neighbors.kneighbors_graph(X[:20])
result("neighbors: graph", graph.toarray())
result("neighbors: graph of distances", neighbors.kneighbors_graph(mode="distance").toarray())
around, members = NearestNeighbors(radius=0.2).fit(X).radius_neighbors(X[:30], sort_results=True)
result("radius: counts", [len(row) for row in members])
result("radius: distances", np.concatenate(around))
result("radius: members", np.concatenate(members))
result("radius: graph", NearestNeighbors(radius=0.2).fit(X).radius_neighbors_graph(X[:30]).toarray())
result("neighbors: fitted", [neighbors.n_samples_fit_, neighbors.n_features_in_])
result("neighbors: metric", neighbors.effective_metric_)
result("neighbors: frame", NearestNeighbors(n_neighbors=2).fit(iris.data).kneighbors(iris.data.head(5))[0])
degree = np.asarray((graph + graph.T.T).sum(axis=1)).ravel()
result("neighbors: degrees", degree)

# Graphs of neighbours for other estimators -----------------------------------------------------------------------------------------------

points, _ = make_moons(200, noise=0.04, random_state=1)
near = NearestNeighbors(n_neighbors=8).fit(points)
connectivity = near.kneighbors_graph(points)
linked = AgglomerativeClustering(n_clusters=2, connectivity=connectivity, linkage="single").fit(points)
result("graph: agglomerative", linked.labels_)
symmetric = connectivity.maximum(connectivity.T)
spectral = SpectralClustering(2, affinity="precomputed", random_state=0, assign_labels="discretize").fit(symmetric)
clusters("graph: spectral", spectral.labels_)
within = near.radius_neighbors_graph(points, radius=0.6, mode="distance")
within.sort_indices()
result("graph: sorted", within.indices)
embedding = Isomap(n_neighbors=6, n_components=1, metric="precomputed")
length = near.kneighbors_graph(points, n_neighbors=199, mode="distance").toarray()
result("graph: isomap", np.abs(embedding.fit_transform(np.maximum(length, length.T))).round(6))
density = 1.0 / near.kneighbors(n_neighbors=8)[0].mean(axis=1)
result("graph: densest", np.argsort(density)[-5:])
outliers = near.kneighbors(points)[0][:, -1] > 0.25
result("graph: outliers", np.flatnonzero(outliers))

# A choice of eps -------------------------------------------------------------------------------------------------------------------------


def knee(distances):
    # The point that is farthest below the chord from the first to the last one.
    chord = np.linspace(distances[0], distances[-1], len(distances))
    return distances[np.argmax(chord - distances)]


for n_neighbors in (4, 8, 16):
    curve = np.sort(NearestNeighbors(n_neighbors=n_neighbors).fit(blobs := X).kneighbors()[0][:, -1])
    eps = knee(curve)
    found = DBSCAN(eps=eps, min_samples=n_neighbors + 1).fit(blobs)
    result(f"knee: {n_neighbors}", eps)
    result(f"knee: {n_neighbors}: labels", found.labels_)
    result(f"knee: {n_neighbors}: share of core points", len(found.core_sample_indices_) / len(blobs))

# HDBSCAN ---------------------------------------------------------------------------------------------------------------------------------

blobs, truth = make_blobs(800, centers=[(0, 0), (6, 0), (3, 5)], cluster_std=[0.3, 0.8, 1.2], random_state=3)
hdb = HDBSCAN(min_cluster_size=20).fit(blobs)
clusters("hdbscan", hdb.labels_)
result("hdbscan: number", len(set(hdb.labels_) - {-1}))
result("hdbscan: range", [hdb.probabilities_.min() >= 0, hdb.probabilities_.max() == 1])
result("hdbscan: noise has probability 0", bool((hdb.probabilities_[hdb.labels_ == -1] == 0).all()))
clusters("hdbscan: leaf", HDBSCAN(min_cluster_size=20, cluster_selection_method="leaf").fit_predict(blobs))
clusters("hdbscan: epsilon", HDBSCAN(min_cluster_size=20, cluster_selection_epsilon=0.5).fit_predict(blobs))
clusters("hdbscan: samples", HDBSCAN(min_cluster_size=20, min_samples=10, alpha=1.5).fit_predict(blobs))
clusters("hdbscan: algorithm", HDBSCAN(25, algorithm="kd_tree", leaf_size=20, n_jobs=2).fit_predict(blobs))
clusters("hdbscan: pipeline", make_pipeline(StandardScaler(), HDBSCAN(min_cluster_size=20)).fit_predict(blobs))
centers = HDBSCAN(min_cluster_size=20, store_centers="both").fit(blobs)
result("hdbscan: centers", [centers.centroids_.shape, centers.medoids_.shape])
order = np.lexsort(centers.centroids_.round(3).T)
result("hdbscan: centroids", centers.centroids_[order].round(1))
broken = blobs.copy()
broken[0], broken[1] = np.nan, np.inf
result("hdbscan: not finite", HDBSCAN(min_cluster_size=20).fit(broken).labels_[:2])
result("hdbscan: text", repr(HDBSCAN(min_cluster_size=7, cluster_selection_method="leaf", copy=True)))
result("hdbscan: score", adjusted_rand_score(truth, hdb.labels_) > 0.8)
rings, _ = make_circles(500, factor=0.4, noise=0.03, random_state=0)
clusters("hdbscan: rings", HDBSCAN(min_cluster_size=15, copy=True).fit_predict(rings))
cut = HDBSCAN(min_cluster_size=20).fit(blobs).dbscan_clustering(0.4, min_cluster_size=20)
clusters("hdbscan: cut", cut)
weak = hdb.probabilities_ < 0.05
result("hdbscan: weak points are noise or at the rim", bool(weak[hdb.labels_ == -1].all()))
result("hdbscan: largest", np.bincount(hdb.labels_[hdb.labels_ >= 0]).max() > 200)
