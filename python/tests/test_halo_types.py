"""Halos of several particle types: linked, attached and omitted types."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ropewalk
from halos_program import ROOT, program, same
from ropewalk import HOP, AdaptaHOP, RopewalkWarning, halos, read_snapshot


def test_attached_types(tmp_path: Path) -> None:
    path = ROOT / "tests" / "data" / "snapshots" / "gizmo.hdf5"
    if not path.is_file():
        pytest.skip("tests/data/snapshots is not there")
    kinds = {kind.particle_type: kind.count for kind in read_snapshot(path).types}
    linked, *others = [kind for kind, count in kinds.items() if count and kind is not None]
    more = {"linking_length": 1.0, "min_members": 2}
    snapshot = read_snapshot(path, types=linked)
    catalog = halos(snapshot, attach=others, **more)  # type: ignore[arg-type]
    assert {kind: len(labels) for kind, labels in catalog.attached_labels.items()} == {kind: kinds[kind] for kind in others}
    for kind in others:
        assert f"fof_halo_count_type{kind}" in catalog
    out = tmp_path / "out"
    options = ["--linking-length", "1", "--min-members", "2", "--no-pictures", "--out", str(out)]
    options += ["--type", str(linked), "--attach", ",".join(map(str, others))]
    subprocess.run([program(), "halos", str(path), *options], check=True, capture_output=True)
    same(catalog, out / "halos.ecsv")
    for kind in others:
        np.testing.assert_array_equal(catalog.attached_labels[kind], np.load(out / f"labels_type{kind}.npy"))
        np.testing.assert_array_equal(catalog.attached_ids[kind], np.load(out / f"ids_type{kind}.npy"))
    # A gallery in the colours of the types, as that of the program.
    positions = {kind: read_snapshot(path, types=kind).positions for kind in others}
    with pytest.warns(RopewalkWarning, match="has no centre"):
        centred = halos(snapshot, attach=others, center="mbp", **more)  # type: ignore[arg-type]
    shown = ropewalk.plot.gallery(centred, attached=positions)
    subprocess.run([program(), "halos", str(path), *options[:4], *options[-4:], "--gallery", "6", "--format", "svg", "--out", str(out)], check=True, capture_output=True)
    assert shown.svg() == (out / "gallery.svg").read_text()
    with pytest.raises(ValueError, match=rf"attached\[{others[0]}\] has the shape"):
        ropewalk.plot.gallery(catalog, attached={others[0]: positions[others[0]][1:]})
    # By default, all types that are not linked are attached.
    assert list(halos(snapshot, **more).attached_labels) == others  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=rf"attach: .*gizmo.hdf5 has no particles of type 6; types present: {linked} \("):
        halos(snapshot, attach=6, **more)  # type: ignore[arg-type]
    for nothing in ((), "none"):
        with pytest.warns(ropewalk.RopewalkWarning, match="not read"):
            alone = halos(snapshot, attach=nothing, **more)  # type: ignore[arg-type]
        assert alone.attached_labels == {} and alone.meta["types_not_read"] == ", ".join(map(str, others))
    for wrong, match in ((linked, "is already linked"), ((linked, 4), "is already linked")):
        with pytest.raises(ValueError, match=match):
            halos(snapshot, attach=wrong)
    for adaptahop in ("adaptahop", AdaptaHOP()):
        found = halos(snapshot, finder=adaptahop, **more)  # type: ignore[arg-type]
        assert list(found.attached_labels) == others and found.meta["attached_types"] == ", ".join(map(str, others))
    found = halos(snapshot, finder=AdaptaHOP(density_threshold=1), **more)  # type: ignore[arg-type]
    joined = sum(int(np.sum(labels >= 0)) for labels in found.attached_labels.values())
    assert joined > 10 and found["halo_count_total"][0] == found["halo_count"][0] + joined
    with pytest.raises(ValueError, match="attach is for snapshots"):
        halos(snapshot.positions, attach=0)


@pytest.mark.filterwarnings("ignore:.*low-resolution dark matter in zoom runs")
def test_type_1_is_linked_where_none_is_chosen() -> None:
    path = ROOT / "tests" / "data" / "snapshots" / "gadget2.hdf5"
    snapshot = read_snapshot(path)
    others = [kind.particle_type for kind in snapshot.types if kind.count and kind.particle_type != 1]
    with pytest.warns(RopewalkWarning, match="labels and members index the particles of type 1, catalog.particles, not those of the snapshot"):
        catalog = halos(snapshot, min_members=2)
    assert len(catalog.labels) == len(read_snapshot(path, types=1)) and list(catalog.attached_labels) == others
    assert any("catalog.particles" in note for note in catalog.notes)
    assert catalog.meta["linked_types"] == "1" and catalog.meta["attached_types"] == ", ".join(map(str, others))
    # All types that the caller reads are linked.
    assert len(halos(read_snapshot(path, types=[1, *others]), min_members=2).labels) == len(snapshot)


#: Positions of gas, dark matter, stars and black holes by type: a pair, a group of three, and some distant particles.
PLACES: dict[int, list[list[float]]] = {
    0: [[1, 1, 0.5], [8, 8, 8]],
    1: [[5, 5, 5], [1, 1, 1], [9, 1, 9], [1, 1, 2], [5, 5, 6], [5, 5, 7]],
    4: [[1, 1.5, 2], [5, 5, 5.5], [3, 3, 3]],
    5: [[5, 5, 6]],
}


def snapshot_file(path: Path, **changes: Any) -> Path:
    """Writes an HDF5 snapshot of four types. `changes` replaces data sets, such as `ids4`, or omits them if None."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        header = file.create_group("Header").attrs
        counts = [len(PLACES.get(kind, [])) for kind in range(6)]
        header["NumPart_ThisFile"], header["NumPart_Total"] = np.array(counts, "i4"), np.array(counts, "u4")
        header["NumPart_Total_HighWord"], header["MassTable"] = np.zeros(6, "u4"), np.zeros(6)
        header["Time"], header["Redshift"], header["BoxSize"], header["NumFilesPerSnapshot"] = 1.0, 0.0, 10.0, 1
        header["Omega0"], header["OmegaLambda"], header["HubbleParam"] = 0.3, 0.7, 0.7
        for kind, places in PLACES.items():
            n = len(places)
            sets: dict[str, Any] = {"x": np.array(places, "f4"), "v": np.zeros((n, 3), "f4"), "ids": 100 * kind + np.arange(n, dtype="u8")}
            sets["m"] = np.full(n, 1.0 + kind)
            sets |= {name: changes[f"{name}{kind}"] for name in sets if f"{name}{kind}" in changes}
            group = file.create_group(f"PartType{kind}")
            for name, field in (("x", "Coordinates"), ("v", "Velocities"), ("ids", "ParticleIDs"), ("m", "Masses")):
                if sets[name] is not None:
                    group[field] = sets[name]
    return path


def test_labels_and_members_index_the_linked_particles(tmp_path: Path) -> None:
    path = snapshot_file(tmp_path / "snap.hdf5")
    given = read_snapshot(path)
    assert given.positions.shape == (12, 3)
    with pytest.warns(RopewalkWarning, match="catalog.particles"):
        warned = halos(given, eps=1, min_members=2)
    alone = read_snapshot(path, types="dark")
    # If the caller has the linked particles, there are no notes, and nothing is read twice.
    same = halos(alone, eps=1, min_members=2)
    assert same.particles is alone and same.notes == ()
    by_path = halos(path, eps=1, min_members=2)
    assert by_path.notes == ()
    for catalog in (warned, same, by_path):
        particles = catalog.particles
        assert particles is not None and len(particles) == len(catalog.labels) == 6
        assert particles.ids[catalog.members(0)].tolist() == [100, 104, 105]
        assert particles.ids[catalog.members(1)].tolist() == [101, 103]
        assert particles.positions[catalog.members(1)].tolist() == [[1, 1, 1], [1, 1, 2]]
        rows = np.full(len(particles), -1)
        for row in range(len(catalog)):
            rows[catalog.members(row)] = row
        assert rows.tolist() == [0, 1, -1, 1, 0, 0]
        assert np.array_equal(catalog["fof_halo_label"][rows[rows >= 0]], catalog.labels[rows >= 0])
        largest = int(catalog["fof_halo_label"][0])
        assert catalog.attached_ids[4][catalog.attached_labels[4] == largest].tolist() == [401]
        assert catalog.attached_ids[5][catalog.attached_labels[5] == largest].tolist() == [500]
    # All types are linked, and `particles` holds those of the snapshot.
    every = halos(read_snapshot(path, types=(0, 1, 4, 5)), eps=1, min_members=2)
    assert every.particles is not None and len(every.labels) == len(every.particles) == 12
    assert halos(np.array(PLACES[1], float), eps=1, min_members=2).particles is None


@pytest.mark.filterwarnings("ignore:.*have no readable ids")
def test_notes_of_attached_particles_are_warned_of(tmp_path: Path) -> None:
    path = snapshot_file(tmp_path / "snap.hdf5", ids4=np.array([0.5, 1.5, 2.5]))
    for given in (path, read_snapshot(path, types=1)):
        with pytest.warns(RopewalkWarning, match="PartType4/ParticleIDs.*ids of type 4 are left out") as caught:
            catalog = halos(given, eps=1, min_members=2)
        assert len(caught) == 2 and len([note for note in catalog.notes if "ids of type 4 are left out" in note]) == 1
        assert sorted(catalog.attached_ids) == [0, 5]
        assert catalog.attached_labels[4].tolist().count(-1) == 1
    # Types without ids are attached, too.
    path = snapshot_file(tmp_path / "none.hdf5", ids4=None)
    with pytest.warns(RopewalkWarning, match=r"attached particles \(type 4\) have no readable ids"):
        catalog = halos(path, eps=1, min_members=2)
    assert sorted(catalog.attached_ids) == [0, 5] and [len(labels) for labels in catalog.attached_labels.values()] == [2, 3, 1]
    every = snapshot_file(tmp_path / "every.hdf5", ids0=None, ids4=None, ids5=None)
    with pytest.warns(RopewalkWarning, match=r"attached particles \(types 0, 4 and 5\) have no readable ids"):
        assert halos(every, eps=1, min_members=2).attached_ids == {}


@pytest.mark.filterwarnings("ignore:.*mass functions divide by the volume")
def test_what_cannot_be_attached_says_how_to_leave_it_out(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"m5": None}, {}, "has masses, but none of type 5"),
        ({"v5": None}, {"overdensities": "200c", "length_unit": "Mpc/h", "mass_unit": "1e10 Msun/h"}, "PartType5"),
        ({"m0": None, "m4": None, "m5": None}, {}, "the linked particles have masses, and the attached particles do not"),
        ({"x4": np.full((3, 3), np.nan, "f4")}, {}, "NaN"),
        ({"m0": np.array([1.0, -2.0])}, {}, "its mass is -2"),
    ]
    for changes, options, match in cases:
        path = snapshot_file(tmp_path / "snap.hdf5", **changes)
        with pytest.raises(ValueError, match=rf"{match}.*; use attach=\(\) to omit other types"):
            halos(path, eps=1, min_members=2, **options)
        with pytest.warns(RopewalkWarning, match="not read"):
            halos(path, eps=1, min_members=2, attach="none", **options)


def test_parts_of_a_snapshot_have_no_mean_separation(tmp_path: Path) -> None:
    part = read_snapshot(snapshot_file(tmp_path / "snap.hdf5"), types=1, single_part=True)
    for finder, options in (("fof", {"attach": ()}), ("fof", {}), ("hop", {}), (HOP(80, n_density=4, n_hop=4), {})):
        with pytest.raises(ValueError, match="single_part: the mean separation .* give the linking length as eps"):
            halos(part, finder=finder, **options)  # type: ignore[arg-type]
    assert len(halos(part, eps=1, min_members=2)) == 2
    with pytest.warns(RopewalkWarning, match="not read"):
        halos(part, finder=HOP(80, n_density=4, n_hop=4), attach=(), min_members=2)
