"""Runs the program `ropewalk halos`, and compares a catalogue with its files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ropewalk

ROOT = Path(__file__).resolve().parents[2]
P3M = ROOT / "data" / "p3m_64.gadget2"


def program() -> str:
    """Returns the path of the command-line program: ROPEWALK_PROGRAM, or that of a release build."""
    path = os.environ.get("ROPEWALK_PROGRAM") or str(ROOT / "target" / "release" / "ropewalk")
    if not os.access(path, os.X_OK):
        pytest.skip("the program ropewalk is not built; ROPEWALK_PROGRAM names it")
    return path


def run(tmp_path: Path, *options: str) -> Path:
    command = [program(), "halos", str(P3M), "--out", str(tmp_path / "out"), "--no-pictures", "--subsample", "0.1", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tmp_path / "out"


def read_csv(path: Path) -> tuple[list[str], dict[str, str], np.ndarray[Any, Any]]:
    """Reads names, units and numbers of an enhanced CSV file without astropy."""
    lines = path.read_text().splitlines()
    heads = [line for line in lines if line.startswith("# - {name: ")]
    units = {head.split("name: ")[1].split(",")[0]: head.split("unit: ")[1].split(",")[0] for head in heads if "unit: " in head}
    body = [line for line in lines if not line.startswith("#")]
    names = body[0].split(",")
    rows = [[line.split(",")[k] for k in range(len(names))] for line in body[1:]]
    return names, units, np.array(rows, dtype=object)


def same(catalog: ropewalk.Table, path: Path) -> None:
    """Checks that all numbers of a catalogue equal those of a file, which has nine digits."""
    names, units, rows = read_csv(path)
    assert catalog.columns == tuple(names)
    assert {name: unit for name, unit in catalog.units.items() if unit is not None} == units
    assert len(catalog) == len(rows)
    for k, name in enumerate(names):
        column = catalog[name]
        if column.dtype.kind in "iu":
            assert column.tolist() == [int(text) for text in rows[:, k]], name
        else:
            mine = [float(f"{value:.8e}") for value in column]
            np.testing.assert_array_equal(mine, rows[:, k].astype(float), err_msg=name)
