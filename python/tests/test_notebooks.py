"""Notebooks: HTML representations, progress of reading, and the stored notebook."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ropewalk
from ropewalk import DBSCAN, HDBSCAN, Bvh, halos, minimum_spanning_tree, read_snapshot, sample

ROOT = Path(__file__).resolve().parents[2]


def cells(html: str) -> list[list[str]]:
    """Returns the rows of the table, after a check that all tags are closed."""
    root = xml.etree.ElementTree.fromstring(f"<div>{html}</div>")
    assert {element.tag for element in root.iter()} <= {"div", "p", "table", "tr", "th", "td"}
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def test_catalogues() -> None:
    catalog = halos(sample.mock_halos(5_000, box_size=20), box_size=20)
    html = catalog._repr_html_()
    names, *rows = cells(html)
    assert f"HaloCatalog of {len(catalog)} halos by friends of friends" in html and f"HaloCatalog of {len(catalog)} halos" in repr(catalog)
    assert names == list(catalog.columns) and len(rows) == 10 and len(html) < 20_000
    assert rows[3][names.index("fof_halo_count")] == str(catalog["fof_halo_count"][3])
    assert cells(halos(np.zeros((0, 3)), box_size=1)._repr_html_())[1:] == []


def test_tables_show_units() -> None:
    catalog = halos(sample.mock_halos(5_000, box_size=20), masses=1.0, box_size=20, length_unit="Mpc/h", mass_unit="Msun/h")
    assert "fof_halo_mass [solMass / littleh]" in cells(catalog._repr_html_())[0]


def test_trees() -> None:
    x = np.random.default_rng(1).random((30, 2))
    assert cells(Bvh(x, box_size=[1, 2])._repr_html_())[2] == ["1", f"{x[:, 1].min():.6g}", f"{x[:, 1].max():.6g}", "2"]
    assert cells(Bvh(np.zeros((0, 2)))._repr_html_())[1] == ["0", "", "", "open"]
    tree = minimum_spanning_tree(x)
    assert cells(tree._repr_html_())[1] == ["29", *(f"{tree.weights[at]:.5g}" for at in (0, 14, 28))]
    assert cells(minimum_spanning_tree(x[:1])._repr_html_())[1] == ["0"]


def test_snapshots_are_escaped_and_agree_with_len(tmp_path: Path) -> None:
    path = tmp_path / "a<b>&.npy"
    np.save(path, np.zeros((40, 3)))
    snapshot = read_snapshot(path)
    assert "40 particles" in repr(snapshot) and len(snapshot) == 40
    assert "<b>" not in snapshot._repr_html_() and cells(snapshot._repr_html_())[1][2] == "40"


def large(tmp_path: Path) -> Path:
    path = tmp_path / "points.npy"
    np.save(path, np.zeros((200_000, 3)))
    return path


def test_progress_of_a_function(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    snapshot = read_snapshot(large(tmp_path), progress=lambda done, total: told.append((done, total)))
    assert told == []
    snapshot.load("positions")
    assert told[-1] == (200_000 * 24, 200_000 * 24) and told == sorted(told)
    told.clear()
    halos(large(tmp_path), eps=1e-9, progress=lambda done, total: told.append((done, total)))
    assert told and told[-1][0] == told[-1][1]


def test_functions_receive_the_end_of_a_call() -> None:
    told: list[tuple[int, int]] = []
    n = 100_000
    # Calls of less than 0.05 s have no progress.
    while len(told) < 2 and n < 20_000_000:
        told.clear()
        points = sample.uniform(n, seed=1)
        with ropewalk.progress(lambda done, total: told.append((done, total))):
            minimum_spanning_tree(points)
        n *= 4
    assert len(told) > 1 and told[-1][0] == told[-1][1]


def test_progress_of_tqdm(tmp_path: Path) -> None:
    made: list[Any] = []

    class Bar:
        def __init__(self, **options: Any) -> None:
            assert options["unit"] == "B" and options["desc"] == "reading points.npy"
            self.total, self.n, self.closed = options["total"], 0, False
            made.append(self)

        def update(self, n: int) -> None:
            self.n += n

        def close(self) -> None:
            self.closed = True

    read_snapshot(large(tmp_path), progress=Bar).load("positions")
    (bar,) = made
    assert bar.n == bar.total == 200_000 * 24 and bar.closed


def test_true_is_a_bar_of_tqdm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    read_snapshot(large(tmp_path), progress=True).load("positions")
    assert "reading points.npy: 100%" in capsys.readouterr().err


def test_exceptions_of_a_function_end_the_reading(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise InterruptedError("enough")

    snapshot = read_snapshot(large(tmp_path), progress=stop)
    with pytest.raises(InterruptedError, match="enough"):
        snapshot.load("positions")
    for wrong in (3, "tqdm"):
        with pytest.raises(TypeError, match="progress is"):
            read_snapshot(large(tmp_path), progress=wrong)


def test_progress_of_computations(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    # A fast machine needs more points for several calls.
    for n in (200_000, 800_000, 3_200_000):
        points = ropewalk.sample.uniform(n, seed=1)
        with ropewalk.progress(lambda done, total: told.append((done, total))):
            labels = DBSCAN(eps=0.1, min_samples=5000, n_jobs=1).fit_predict(points)
        if len({done for done, _ in told}) > 3:
            break
        told.clear()
    assert told and all(0 <= done <= total for done, total in told)
    assert (labels == DBSCAN(eps=0.1, min_samples=5000, n_jobs=1).fit(points).labels_).all()
    count = len(told)
    DBSCAN(eps=0.02, n_jobs=1).fit(points)
    assert len(told) == count, "progress after the statement"
    halos(points, finder="hop", box_size=1.0, n_jobs=1, progress=lambda done, total: told.append((done, total)))
    assert len(told) > count
    with ropewalk.progress(lambda done, total: told.clear()):
        read_snapshot(large(tmp_path)).load("positions")
    assert told == []


def test_bars_of_steps() -> None:
    made: list[Any] = []

    class Bar:
        def __init__(self, **options: Any) -> None:
            assert options["desc"].startswith("clusters, step ") and options["leave"] is False
            self.total, self.n, self.closed = options["total"], 0, False
            made.append(self)

        def update(self, n: int) -> None:
            self.n += n

        def close(self) -> None:
            self.closed = True

    points = ropewalk.sample.uniform(200_000, seed=1)
    with ropewalk.progress(Bar, desc="clusters"):
        HDBSCAN(min_cluster_size=50, n_jobs=1).fit(points)
    assert made and all(bar.closed and 0 <= bar.n <= bar.total for bar in made)


def test_exceptions_of_a_display_end_a_computation() -> None:
    def stop(done: int, total: int) -> None:
        raise InterruptedError("enough")

    points = ropewalk.sample.uniform(200_000, seed=1)
    with pytest.raises(InterruptedError, match="enough"), ropewalk.progress(stop):
        DBSCAN(eps=0.1, min_samples=5000, n_jobs=1).fit(points)
    with pytest.raises(TypeError, match="progress is 3"), ropewalk.progress(3):
        pass


NOTEBOOK = """
import sys, types
shown = []

class Handle:
    def update(self, bar):
        shown.append(type(bar).__name__)

display = types.ModuleType("IPython.display")
display.ProgressBar = type("ProgressBar", (), {"__init__": lambda self, total: None})
display.HTML = type("HTML", (), {"__init__": lambda self, text: None})
display.display = lambda bar, display_id: shown.append("first") or Handle()
ipython = types.ModuleType("IPython")
ipython.get_ipython = type("ZMQInteractiveShell", (), {})
sys.modules["IPython"], sys.modules["IPython.display"] = ipython, display
from ropewalk import DBSCAN, _progress, progress, read_snapshot, sample

read_snapshot(sys.argv[1]).load("positions")
assert shown == [], "a bar within the first second"
_progress._PATIENCE = 0.0
read_snapshot(sys.argv[1]).load("positions")
assert shown[0] == "first" and shown[-1] == "HTML", shown
shown.clear()
read_snapshot(sys.argv[1], progress=False).load("positions")
assert shown == []
points = sample.uniform(200_000, seed=1)
DBSCAN(eps=0.1, min_samples=5000, n_jobs=1).fit(points)
assert shown[0] == "first" and shown[-1] == "HTML", shown
shown.clear()
with progress(False):
    DBSCAN(eps=0.1, min_samples=5000, n_jobs=1).fit(points)
assert shown == []
"""


def test_a_bar_in_notebooks(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", NOTEBOOK, str(large(tmp_path))], check=True, timeout=60)


def test_the_notebook_is_stored_with_outputs() -> None:
    path = ROOT / "python" / "examples" / "halos.ipynb"
    if not path.is_file():
        pytest.skip("python/examples is not there")
    assert path.stat().st_size < 1_500_000
    code = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code), "a cell was not run"
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"image/png", "image/svg+xml", "text/html"} <= kinds
    assert "/root/" not in path.read_text() and "/work/" not in path.read_text() and "/tmp/" not in path.read_text()


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("ropewalk")
    except PackageNotFoundError:
        pytest.skip("ropewalk is not installed")
    assert ropewalk.__version__ == installed
