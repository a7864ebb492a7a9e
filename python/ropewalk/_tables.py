"""Tables with units: columns by name, as structured arrays, for pandas and astropy, and as files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk import _native
from ropewalk._optional import optional, unit


class Table:
    """Columns with units, and what is said of all of them.

    `table[name]` is a column, ``table[3]`` a row, ``table[mask]`` some rows.

    Attributes
    ----------
    table : numpy.ndarray of shape (n,)
        All columns in a structured array, one record for each row; read-only. ``uint64`` for ids and tags, ``int64`` for counts
        and labels, ``float64`` for what is measured.
    units : dict
        The unit of each column as `astropy.units` spells it (``"Mpc / littleh"``), or None for a pure number or an unknown unit.
    descriptions : dict
        A sentence about each column; where units are known also its frame: comoving, physical or peculiar.
    meta : dict
        What is true of all rows: how they were found, box, cosmology, units in words, notes. Lengths and masses are in the
        units of the columns.

    Examples
    --------
    >>> import ropewalk
    >>> catalog = ropewalk.halos([[0.5, 5, 5], [9.75, 5, 5], [3, 3, 3]], box_size=10, eps=1, min_members=2)
    >>> catalog["fof_halo_count"], len(catalog), catalog.units["fof_halo_count"]
    (array([2]), 1, None)
    >>> catalog.descriptions["fof_halo_count"]
    'number of members'
    """

    def __init__(self, native: _native.HaloTable) -> None:
        self._native = native
        columns = native.columns()
        self.units: dict[str, str | None] = {column["name"]: column["unit"] for column in columns}
        self.descriptions: dict[str, str] = {column["name"]: column["description"] for column in columns}
        self.meta: dict[str, str | float | list[str]] = dict(native.meta())
        rows = len(columns[0]["values"]) if columns else 0
        self.table: NDArray[Any] = np.empty(rows, [(column["name"], column["values"].dtype) for column in columns])
        for column in columns:
            self.table[column["name"]] = column["values"]
        self.table.flags.writeable = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in their order."""
        return tuple(self.units)

    def keys(self) -> tuple[str, ...]:
        """The same, so that ``dict(table)`` is a dictionary of arrays."""
        return self.columns

    def __contains__(self, name: object) -> bool:
        return name in self.units

    def __getitem__(self, key: Any) -> Any:
        for name in [key] if isinstance(key, str) else key if isinstance(key, list) else []:
            if isinstance(name, str) and name not in self.units:
                raise KeyError(f"there is no column {name}; the columns are {', '.join(self.columns)}")
        return self.table[key]

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.table)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self)} rows: {', '.join(self.columns)}"

    def __reduce__(self) -> Any:
        name = type(self).__name__
        raise TypeError(f"a {name} cannot be pickled; send its `table`, which is an array, or write it and send the path")

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with the columns; ``.attrs`` has `units`, `descriptions` and `meta`. The numbers are copied."""
        pandas = optional("pandas", "to_pandas")
        frame = pandas.DataFrame({name: self.table[name].copy() for name in self.columns})
        frame.attrs.update(units=self.units, descriptions=self.descriptions, meta=self.meta)
        return frame

    def to_astropy(self) -> Any:
        """An `astropy.table.QTable` whose columns are quantities where they have a unit, with descriptions and `meta`; the
        numbers are copied.

        Little h is ``littleh``, as in the enhanced CSV that `write` makes: ``astropy.cosmology.units`` has its equivalencies.
        Whether lengths are comoving or physical is said by the descriptions, for units of astropy do not know.
        """
        tables = optional("astropy.table", "to_astropy")
        units = optional("astropy.units", "to_astropy")
        table = tables.QTable(meta=self.meta)
        for name in self.columns:
            text = self.units[name]
            table[name] = self.table[name].copy() if text is None else units.Quantity(self.table[name], unit(text), copy=True)
            table[name].info.description = self.descriptions[name]
        return table

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the table as ``ropewalk halos --catalog`` does; the ending of the name says how.

        ``.ecsv`` is enhanced CSV with units, which `astropy.table.QTable.read` and `pandas.read_csv(.., comment="#")` read, and
        ``.csv`` plain CSV, both with nine significant digits; ``.hdf5`` or ``.h5`` and ``.parquet`` have all digits.

        Parameters
        ----------
        path : str or path
            The file, which is replaced if it is there.

        Raises
        ------
        ValueError
            If the ending is another.
        OSError
            If the file cannot be written; one that was there stays as it was.
        """
        self._native.write(os.fspath(path))
