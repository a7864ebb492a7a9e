"""Data frames as input and output: pandas, polars, pyarrow, narwhals, and Arrow streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ropewalk
from ropewalk import DBSCAN, HDBSCAN, Bvh, halos, sample

X = np.random.default_rng(0).random((200, 3))
NAMES = ["x", "y", "z"]


def pandas_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


def narwhals_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("narwhals").from_native(polars_frame(columns))


class Stream:
    """An Arrow stream without other interfaces, as a relation of DuckDB is one."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.table = arrow_table(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


FRAMES: list[Callable[[dict[str, Any]], Any]] = [pandas_frame, polars_frame, arrow_table, narwhals_frame, Stream]


@pytest.mark.parametrize("frame", FRAMES)
def test_points_in_frames(frame: Callable[[dict[str, Any]], Any]) -> None:
    given = frame({name: X[:, axis] for axis, name in enumerate(NAMES)})
    np.testing.assert_array_equal(Bvh(given).points, X)
    fitted = DBSCAN(0.2).fit(given)
    np.testing.assert_array_equal(fitted.labels_, DBSCAN(0.2).fit(X).labels_)
    assert fitted.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(halos(given, eps=0.1).labels, halos(X, eps=0.1).labels)


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_of_different_types_of_numbers(frame: Callable[[dict[str, Any]], Any]) -> None:
    columns = {"x": X[:, 0], "y": np.arange(200), "z": X[:, 2] > 0.5}
    np.testing.assert_array_equal(Bvh(frame(columns)).points, np.stack([np.asarray(values, float) for values in columns.values()], axis=1))


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("fit", [lambda x: DBSCAN().fit(x), Bvh, lambda x: ropewalk.NearestNeighbors().fit(x)])
def test_text_columns_are_named(frame: Callable[[dict[str, Any]], Any], fit: Callable[[Any], Any]) -> None:
    given = frame({"x": X[:, 0], "species": ["setosa"] * 200, "y": X[:, 1]})
    with pytest.raises(ValueError, match=r"the column 'species' does not hold numbers; select .*\['x', 'y'\]"):
        fit(given)


def test_nullable_columns() -> None:
    pandas = pytest.importorskip("pandas")
    given = pandas.DataFrame({"x": pandas.array([1, 2, 3] * 20, dtype="Int64"), "y": pandas.array([0.5, 1.5, None] * 20, dtype="Float64")})
    with pytest.raises(ValueError, match="point 2: coordinate 1 is NaN"):
        Bvh(given)
    # As in scikit-learn, HDBSCAN accepts missing values, with the label -3.
    assert (HDBSCAN().fit(given).labels_[2::3] == -3).all()
    assert len(Bvh(given.dropna())) == 40
    given.loc[1, "x"] = 2**53 + 1
    with pytest.raises(ValueError, match=r"\[1, 0\] is 9007199254740993"):
        Bvh(given)


def test_lazy_frames() -> None:
    lazy = polars_frame({"x": X[:, 0]}).lazy()
    with pytest.raises(ValueError, match=r"X is a lazy frame; compute it: X.collect\(\)"):
        DBSCAN().fit(lazy)


@pytest.fixture(scope="module")
def catalog() -> ropewalk.HaloCatalog:
    return halos(sample.mock_halos(5_000, box_size=20), masses=1.0, box_size=20, length_unit="Mpc/h", mass_unit="Msun/h")


def test_catalogues_become_frames(catalog: ropewalk.HaloCatalog) -> None:
    for name in ("pandas", "polars"):
        pytest.importorskip(name)
        frame = getattr(catalog, f"to_{name}")()
        assert tuple(frame.columns) == catalog.columns and len(frame) == len(catalog)
        for column in catalog.columns:
            np.testing.assert_array_equal(frame[column].to_numpy(), catalog[column])
            assert frame[column].to_numpy().dtype == catalog[column].dtype


def test_catalogues_become_tables_of_arrow(catalog: ropewalk.HaloCatalog) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = catalog.to_arrow()
    field = table.schema.field("fof_halo_mass")
    assert field.metadata[b"unit"].decode() == catalog.units["fof_halo_mass"]
    assert field.metadata[b"description"].decode() == catalog.descriptions["fof_halo_mass"]
    assert arrow.table(catalog).equals(table)
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(catalog).equals(catalog.to_polars())
    narwhals = pytest.importorskip("narwhals")
    assert narwhals.from_arrow(catalog, backend="polars").to_native().equals(catalog.to_polars())
