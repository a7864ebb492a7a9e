"""A call of each public function, method and property of the package, for tests under a memory limit.

`CASES` maps a name as in `ropewalk.__all__`, optionally followed by a dot and a method, to a function that creates the input and
returns the call. `names` lists all names that must have a case.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

# Loaded before the limit is set: under the limit, threads of OpenBLAS may wait forever, and polars may abort.
import polars  # noqa: F401
import scipy.cluster.hierarchy  # noqa: F401

import ropewalk as rw

#: The number of points of each input.
N = int(os.environ.get("ROPEWALK_MEMORY_POINTS", "200_000"))

#: Names without points or that need a device: none of them needs memory proportional to the input.
SMALL = {
    "AdaptaHOP", "DeviceBvh", "DeviceLists", "NotFittedError", "RopewalkWarning", "__version__", "set_threads", "threads", "halos_above",
    "plot.mass_function",
}  # fmt: skip


def names() -> Iterator[str]:
    """Yields all public callables: functions, classes, and the members of classes."""
    for name in rw.__all__:
        value = getattr(rw, name)
        if name in SMALL:
            continue
        if isinstance(value, ModuleType):
            yield from (f"{name}.{own}" for own in value.__all__ if f"{name}.{own}" not in SMALL)
            continue
        yield name
        if inspect.isclass(value):
            for own in dir(value):
                member = inspect.getattr_static(value, own)
                is_code = isinstance(member, (FunctionType, property, cached_property, classmethod, staticmethod))
                is_ours = any(own in vars(base) and base.__module__.startswith("ropewalk") for base in value.__mro__)
                if not own.startswith("_") and is_code and is_ours:
                    yield f"{name}.{own}"


@cache
def points(n: int = N) -> Any:
    """Returns clustered points of three coordinates."""
    rng = np.random.default_rng(7)
    return np.concatenate([rng.random((n // 2, 3)), 0.5 + 0.1 * rng.standard_normal((n - n // 2, 3))]).clip(0, 1)


@cache
def radius() -> float:
    """Returns a radius within which uniform points have about ten neighbours."""
    return float((10 / (4.2 * N)) ** (1 / 3)) / 2


@cache
def grid() -> tuple[Any, Any]:
    """Returns a terrain of about `N` triangles."""
    side = int((N / 2) ** 0.5)
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(side), np.arange(side)))
    corner = (x + y * side)[(x < side - 1) & (y < side - 1)]
    faces = np.concatenate([np.stack([corner, corner + 1, corner + side], 1), np.stack([corner + 1, corner + side + 1, corner + side], 1)])
    return np.stack([x, y, np.sin(x / 9.0) * np.cos(y / 7.0)], 1).astype(float), faces.astype(np.uint32)


@cache
def file(kind: str) -> str:
    """Writes the points or the terrain to a file, and returns its path."""
    path = os.path.join(tempfile.gettempdir(), f"ropewalk_memory_{os.getpid()}.{kind}")
    if kind == "npz":
        x = points()
        np.savez(path, positions=x, velocities=x, masses=np.full(len(x), 2.0), ids=np.arange(len(x)), box_size=1.0)
    else:
        vertices, faces = grid()
        with open(path, "w") as out:
            out.writelines(f"v {a} {b} {c}\n" for a, b, c in vertices)
            out.writelines(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in faces)
    return path


@cache
def fitted(name: str) -> Any:
    """Returns an object of the named class, created before the limit is set."""
    x, r = points(), radius()
    made: dict[str, Callable[[], Any]] = {
        "Bvh": lambda: rw.Bvh(x),
        "DBSCAN": lambda: rw.DBSCAN(r).fit(x),
        "Figure": lambda: rw.plot.projection(x),
        "FriendsOfFriends": lambda: rw.FriendsOfFriends(r, min_members=2).fit(x),
        "Groups": lambda: rw.friends_of_friends(x, r),
        "HDBSCAN": lambda: rw.HDBSCAN().fit(x),
        "HOP": lambda: rw.HOP(8.0, n_density=16, n_hop=16).fit(x),
        "HaloCatalog": lambda: rw.halos(x, box_size=1.0, eps=r, min_members=20),
        "HitLists": lambda: fitted("Mesh").hits_all(*rays()),
        "HopGroups": lambda: fitted("HOP").groups_,
        "Interpolator": lambda: rw.MovingLeastSquares(1, gradients=True).prepare(x, x),
        "Lists": lambda: fitted("Bvh").query(x, r),
        "Mesh": lambda: rw.Mesh(*grid()),
        "NearestNeighbors": lambda: rw.NearestNeighbors(n_neighbors=4, radius=r).fit(x),
        "Snapshot": lambda: rw.read_snapshot(file("npz")),
        "SpanningTree": lambda: rw.minimum_spanning_tree(x),
        "Table": lambda: fitted("HaloCatalog"),
    }
    return made[name]()


def rays() -> tuple[Any, Any]:
    """Returns rays that hit the terrain."""
    vertices = grid()[0]
    return vertices + [0.3, 0.4, 9.0], np.broadcast_to([0.0, 0.0, -1.0], vertices.shape).copy()


def target(ending: str) -> str:
    """Returns the path of a file that a case may write."""
    return os.path.join(tempfile.gettempdir(), f"ropewalk_memory_out_{os.getpid()}.{ending}")


def matplotlib_axes() -> Any:
    """Returns new axes without a window."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot

    return matplotlib.pyplot.figure().subplots()


def cases() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Returns the cases. Each creates its input and returns the call."""
    x, r, n = points, radius, N
    found: dict[str, Callable[[], Callable[[], Any]]] = {}

    def case(name: str, make: Callable[[], Callable[[], Any]]) -> None:
        found[name] = make

    def method(of: str, name: str, *args: Any, **options: Any) -> None:
        def make() -> Callable[[], Any]:
            own = fitted(of)
            given = [argument() if callable(argument) else argument for argument in args]
            return lambda: getattr(own, name)(*given, **options)

        found[f"{of}.{name}"] = make

    def attribute(of: str, *attributes: str) -> None:
        for name in attributes:
            found[f"{of}.{name}"] = lambda name=name: (lambda own: lambda: getattr(own, name))(fitted(of))

    def estimator(name: str, make: Callable[[], Any]) -> None:
        case(name, lambda: make)
        for way in ("fit", "fit_predict"):
            if hasattr(getattr(rw, name), way):
                case(f"{name}.{way}", lambda way=way: (lambda own: lambda: getattr(make(), way)(own))(x()))
        case(f"{name}.get_params", lambda: lambda: make().get_params())
        case(f"{name}.set_params", lambda: lambda: make().set_params(**make().get_params()))

    def function(name: str, call: Callable[..., Any], *args: Callable[[], Any]) -> None:
        def make() -> Callable[[], Any]:
            given = [argument() for argument in args]
            return lambda: call(*given)

        found[name] = make

    function("Bvh", rw.Bvh, x)
    attribute("Bvh", "box_size", "dim", "n_jobs", "points")
    method("Bvh", "query", x, r)
    method("Bvh", "query_count", x, r)
    method("Bvh", "query_distances", x, r)
    method("Bvh", "nearest", x, 8)
    method("Bvh", "nearest_neighbors", 8)
    method("Bvh", "neighbors", r)
    method("Bvh", "count_neighbors", r)
    method("Bvh", "pairs", r)
    method("Bvh", "write", lambda: target("vtk"))

    estimator("DBSCAN", lambda: rw.DBSCAN(r()))
    method("DBSCAN", "predict", x)
    function("dbscan", lambda own: rw.dbscan(own, r()), x)

    def shown(own: Any) -> Any:
        with rw.progress(lambda done, total: None):
            return rw.dbscan(own, r())

    function("progress", shown, x)
    estimator("FriendsOfFriends", lambda: rw.FriendsOfFriends(r(), min_members=2))
    function("friends_of_friends", lambda own: rw.friends_of_friends(own, r()), x)
    estimator("HOP", lambda: rw.HOP(80.0, n_density=16, n_hop=16))
    function("hop", lambda own: rw.hop(own, 80.0, n_density=16, n_hop=16), x)
    for groups in ("Groups", "HopGroups"):
        attribute(groups, "n_groups", "sizes")
        method(groups, "members", 0)
    parts = lambda own: (own.labels, own.offsets, own.indices)  # noqa: E731
    function("Groups", lambda own: rw.Groups(*parts(own)), lambda: fitted("Groups"))
    function("HopGroups", lambda own: rw.HopGroups(*parts(own), own.density), lambda: fitted("HopGroups"))
    owned = lambda own: rw.OwnedGroups(own.labels.astype(np.int64), own.offsets, own.indices.astype(np.int64), np.arange(own.n_groups), own.n_groups)  # noqa: E731
    function("OwnedGroups", owned, lambda: fitted("Groups"))
    for name in ("n_groups", "sizes"):
        function(f"OwnedGroups.{name}", lambda own, name=name: getattr(own, name), lambda: owned(fitted("Groups")))
    function("OwnedGroups.members", lambda own: own.members(0), lambda: owned(fitted("Groups")))

    estimator("HDBSCAN", lambda: rw.HDBSCAN(store_centers="both"))
    method("HDBSCAN", "predict", x)
    method("HDBSCAN", "approximate_predict", x)
    method("HDBSCAN", "dbscan_clustering", r)
    for name in ("cluster_persistence_", "condensed_tree_", "minimum_spanning_tree_", "outlier_scores_", "single_linkage_tree_"):
        function(f"HDBSCAN.{name}", lambda own, name=name: getattr(own, name), lambda: rw.HDBSCAN().fit(x()))
    function("k_distances", lambda own: rw.k_distances(own, 4), x)
    function("minimum_spanning_tree", rw.minimum_spanning_tree, x)
    function("linkage", rw.linkage, x)
    tree = lambda own: rw.SpanningTree(own.edges, own.weights)  # noqa: E731
    function("SpanningTree", tree, lambda: fitted("SpanningTree"))
    method("SpanningTree", "cut", r)
    method("SpanningTree", "cut_into", 100)
    method("SpanningTree", "linkage")
    attribute("SpanningTree", "n_points")

    case("NearestNeighbors", lambda: lambda: rw.NearestNeighbors())
    function("NearestNeighbors.fit", lambda own: rw.NearestNeighbors().fit(own), x)
    for name in ("get_params", "set_params"):
        case(f"NearestNeighbors.{name}", lambda name=name: lambda: getattr(rw.NearestNeighbors(), name)())
    for name in ("kneighbors", "kneighbors_graph", "radius_neighbors", "radius_neighbors_graph"):
        method("NearestNeighbors", name, x)

    field = lambda: x()[:, 0].copy()  # noqa: E731
    function("Interpolator", lambda own: rw.Interpolator(own._native, None), lambda: fitted("Interpolator"))
    attribute("Interpolator", "degrees", "n_lower", "n_sources", "n_without_neighbors")
    method("Interpolator", "apply", field)
    method("Interpolator", "gradient", field)
    method("Interpolator", "matrix")
    method("Interpolator", "to_scipy")
    for name in ("InverseDistance", "MovingLeastSquares", "Sph"):
        kind = getattr(rw, name)
        make = (lambda kind=kind: kind(1)) if name == "MovingLeastSquares" else kind
        case(name, lambda make=make: make)
        for way in ("prepare", "gather", "scatter"):
            if hasattr(kind, way):
                function(f"{name}.{way}", lambda own, make=make, way=way: getattr(make(), way)(own, own), x)
        if hasattr(kind, "interpolate"):
            function(f"{name}.interpolate", lambda own, values, make=make: make().interpolate(own, values, own), x, field)

    function("Mesh", rw.Mesh, lambda: grid()[0], lambda: grid()[1])
    attribute("Mesh", "bounds", "faces", "n_jobs", "vertices")
    for name in ("any_hits", "first_hits", "hits_all"):
        function(f"Mesh.{name}", lambda own, given, name=name: getattr(own, name)(*given), lambda: fitted("Mesh"), rays)
    for name in ("contains", "nearest", "signed_distance", "winding_number"):
        method("Mesh", name, lambda: rays()[0])
    hits = lambda: fitted("Mesh").hits_all(*rays())  # noqa: E731
    function("HitLists", lambda own: rw.HitLists(*own), lambda: tuple(hits()))
    function("HitLists.of", lambda own: own.of(0), hits)
    function("RayHits", lambda own: rw.RayHits(*own), lambda: tuple(fitted("Mesh").first_hits(*rays())))
    function("NearestTriangles", lambda own: rw.NearestTriangles(*own), lambda: tuple(fitted("Mesh").nearest(rays()[0])))
    function("MeshData", lambda own: rw.MeshData(*own), grid)
    function("read_mesh", rw.read_mesh, lambda: file("obj"))

    lists = lambda: fitted("Lists")  # noqa: E731
    function("Lists", lambda own: rw.Lists(own.offsets, own.indices), lists)
    function("Lists.of", lambda own: own.of(0), lists)
    function("Lists.split", lambda own: own.split(), lists)
    function("Pairs", lambda own: rw.Pairs(*own), lambda: tuple(fitted("Bvh").pairs(r())))

    function("read_snapshot", rw.read_snapshot, lambda: file("npz"))
    function("Snapshot", lambda path: rw.read_snapshot(path).load(), lambda: file("npz"))
    fresh = lambda: rw.read_snapshot(file("npz"))  # noqa: E731
    for name in ("frame", "ids", "masses", "notes", "positions", "units", "velocities"):
        function(f"Snapshot.{name}", lambda own, name=name: getattr(own, name), fresh)
    # An archive has no particle types, so this call raises an error.
    function("Snapshot.particle_types", lambda own: own.positions, fresh)
    function("Snapshot.load", lambda own: own.load(), fresh)
    function("Snapshot.quantity", lambda own: own.quantity("positions"), lambda: rw.read_snapshot(file("npz"), length_unit="Mpc/h"))
    function("Snapshot.write", lambda own: own.write(target("hdf5")), fresh)

    function("halos", lambda own: rw.halos(own, box_size=1.0, eps=r(), min_members=20), x)
    case("HaloCatalog", lambda: lambda: rw.halos(fitted("HaloCatalog").labels[:0].reshape(0, 1) + np.zeros((0, 3)), box_size=1.0, eps=0.1))
    attribute("HaloCatalog", "columns", "indices", "offsets", "prefix")
    method("HaloCatalog", "members", 0)
    method("HaloCatalog", "report", x)
    report = lambda: fitted("HaloCatalog").report(x())  # noqa: E731
    function("Report", lambda own: rw.Report("title", own._page), report)
    function("Report.html", lambda own: own.html(), report)
    function("Report.save", lambda own: own.save(target("html")), report)
    for name in ("HaloCatalog", "Table"):
        method(name, "keys")
        for library in ("arrow", "astropy", "pandas", "polars"):
            method(name, f"to_{library}")
        method(name, "write", lambda: target("ecsv"))
    attribute("Table", "columns")
    case("Table", lambda: lambda: fitted("Table").keys())

    case("sample.lattice", lambda: lambda: rw.sample.lattice(round(n ** (1 / 3)) ** 3))
    case("sample.mock_halos", lambda: lambda: rw.sample.mock_halos(n, box_size=50.0, seed=1))
    case("sample.nfw", lambda: lambda: rw.sample.nfw(n))
    case("sample.uniform", lambda: lambda: rw.sample.uniform(n))

    plane = lambda: x()[:, :2].copy()  # noqa: E731
    function("plot.clusters", lambda own, labels: rw.plot.clusters(own, labels).png(), plane, lambda: np.arange(n) % 7)
    function("plot.condensed_tree", lambda own: rw.plot.condensed_tree(own).png(), lambda: fitted("HDBSCAN"))
    function("plot.dendrogram", lambda own, ax: rw.plot.dendrogram(own, ax=ax), lambda: rw.linkage(x()), matplotlib_axes)
    function("plot.k_distances", lambda own: rw.plot.k_distances(own, 4).png(), x)
    function("plot.mesh", lambda own: rw.plot.mesh(own).png(), lambda: fitted("Mesh"))
    function("plot.value_map", lambda own: rw.plot.value_map(own, [[0, 0], [1, 1]]).png(), lambda: np.ones((1000, 1000)))
    # The mean density of matter is 0.3 times the critical density.
    units = {"length_unit": "Mpc/h", "mass_unit": "1e10 Msun/h", "omega_m": 0.3, "masses": np.full(n, 0.3 * 27.7536627 / n)}
    with_profiles = {**units, "overdensities": "200m", "profiles": 4}
    profiles = lambda: rw.halos(x(), box_size=1.0, eps=r(), min_members=20, **with_profiles)  # noqa: E731
    function("plot.profiles", lambda own: rw.plot.profiles(own).png(), profiles)
    function("plot.gallery", lambda catalog, own: rw.plot.gallery(catalog, positions=own).png(), lambda: fitted("HaloCatalog"), x)
    function("plot.projection", lambda own: rw.plot.projection(own).png(), x)
    subhalos = lambda: rw.halos(x(), box_size=1.0, finder=rw.AdaptaHOP(density_threshold=8.0), min_members=20)  # noqa: E731
    function("plot.subhalos", lambda own: rw.plot.subhalos(own).png(), subhalos)
    case("Figure", lambda: lambda: fitted("Figure"))
    for form in ("pdf", "png", "svg"):
        method("Figure", form)
    method("Figure", "on", matplotlib_axes)
    method("Figure", "save", lambda: target("png"))
    return found


CASES = cases()
