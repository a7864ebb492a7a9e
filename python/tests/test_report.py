"""Reports of halo catalogues: the particles, the table and the figures in the page, as another reader decodes them."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ropewalk
from halos_program import P3M
from ropewalk import AdaptaHOP, halos, read_snapshot, sample

N, SIDE = 5_000, 20.0


@pytest.fixture(scope="module")
def points() -> Any:
    return sample.mock_halos(N, box_size=SIDE, seed=3)


def parts(page: str) -> tuple[dict[str, Any], bytes, bytes]:
    """Returns the description of points and table in a page, and the bytes of each."""

    def element(name: str) -> str:
        found = re.search(rf'<script type="[^"]*" id="report-{name}">(.*?)</script>', page, re.DOTALL)
        assert found is not None, name
        return found[1].strip()

    packed = (gzip.decompress(base64.b64decode(element(name))) for name in ("points", "values"))
    return json.loads(element("data")), *packed  # type: ignore[return-value]


def positions(cloud: dict[str, Any], data: bytes) -> Any:
    """Returns the coordinates of the shown points, in the unit of the positions."""
    n = cloud["shown"]
    planes = np.frombuffer(data, np.uint8).reshape(3, 2, n).astype(np.uint16)
    steps = np.cumsum(256 * planes[:, 0] + planes[:, 1], axis=1, dtype=np.uint16)
    return (np.array(cloud["lo"]) + (steps.T + 0.5) / 65536 * cloud["sides"]).astype(float)


def test_particles_and_catalogue(points: Any) -> None:
    catalog = halos(points, box_size=SIDE, min_members=20)
    report = catalog.report(points, title="A & B")
    about, particles, values = parts(report.html())
    cloud, table = about["cloud"], about["table"]
    assert (cloud["points"], cloud["shown"], cloud["periodic"]) == (N, N, True)
    shown = positions(cloud, particles)
    assert len(cloud["ranges"]) == table["rows"] == len(catalog)
    for row, (begin, end) in enumerate(cloud["ranges"]):
        # The members of the halo, at most half a step from where they are.
        own, members = shown[begin:end], points[catalog.members(row)]
        assert len(own) == len(members)
        step = SIDE / 65536
        distances = np.abs(own[:, None] - members[None]).max(axis=2)
        assert distances.min(axis=1).max() <= 0.51 * step
    columns = np.frombuffer(values, "<u8").reshape(len(table["columns"]), len(catalog))
    assert [column["name"] for column in table["columns"]] == list(catalog.columns)
    for column, stored in zip(table["columns"], columns, strict=True):
        kind = {"f64": np.float64, "i64": np.int64, "u64": np.uint64}[column["kind"]]
        np.testing.assert_array_equal(stored.view(kind), catalog[column["name"]])
    assert report.html().count("<figure>") == 2
    assert "<title>A &amp; B" in report.html()
    assert "A & B" in repr(report)


def test_a_notebook_shows_the_page(points: Any, tmp_path: Path) -> None:
    report = halos(points, box_size=SIDE).report(points)
    frame = report._repr_html_()
    found = re.fullmatch(r'<iframe [^>]*srcdoc="([^"]*)"></iframe>', frame)
    assert found is not None
    assert html.unescape(found[1]) == report.html()
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.html()


def test_large_reports_are_thinned(points: Any) -> None:
    catalog = halos(points, box_size=SIDE)
    about, particles, _ = parts(catalog.report(points, max_points=1000).html())
    shown = about["cloud"]["shown"]
    assert about["cloud"]["points"] == N
    assert 900 <= shown <= 1000
    assert len(particles) == 6 * shown


def test_subhalos_of_a_snapshot() -> None:
    catalog = halos(read_snapshot(P3M), finder=AdaptaHOP())
    page = catalog.report().html()
    about = parts(page)[0]
    # A halo's range holds those of its subhalos.
    for row, parent in enumerate(catalog["halo_parent"]):
        if parent >= 0:
            (begin, end), (first, last) = about["cloud"]["ranges"][row], about["cloud"]["ranges"][parent]
            assert first <= begin <= end <= last
    assert about["cloud"]["unit"] == "comoving Mpc/h"
    assert page.count("<figure>") == 3
    assert "omega m" in page


def test_no_halos_and_bad_arguments(points: Any) -> None:
    none = halos(points, box_size=SIDE, min_members=N + 1)
    assert parts(none.report(points).html())[0]["table"]["rows"] == 0
    catalog = halos(points, box_size=SIDE)
    with pytest.raises(ValueError, match=r"catalog\.report\(positions\)"):
        catalog.report()
    with pytest.raises(ValueError, match="4999"):
        catalog.report(points[1:])
    with pytest.raises(ValueError, match="max_points"):
        catalog.report(points, max_points=0)
    assert isinstance(catalog.report(points), ropewalk.Report)
