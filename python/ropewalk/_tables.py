"""Tables with units: columns by name, structured arrays, and conversion to pandas, astropy and files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk import _html, _native
from ropewalk._optional import optional, unit

#: The number of rows in notebooks.
_SHOWN = 10


class Table:
    """Columns with units and descriptions, and metadata of the whole table.

    `table[name]` is a column, ``table[3]`` a row, and ``table[mask]`` a selection of rows.

    Attributes
    ----------
    table : numpy.ndarray of shape (n,)
        All columns in a structured array, one record for each row; read-only. Ids and tags are ``uint64``, counts and labels
        ``int64``, and measured quantities ``float64``.

    units : dict
        The unit of each column as `astropy.units` spells it (``"Mpc / littleh"``), or None for a pure number or an unknown unit.

    descriptions : dict
        A description of each column. If units are known, it includes the frame: comoving, physical or peculiar.

    meta : dict
        Metadata of the table: the finder and its options, box, cosmology, units in words, notes. Lengths and masses are in the
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
        """Returns the names of the columns, so that ``dict(table)`` is a dictionary of arrays."""
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
        return f"{self._title()}: {', '.join(self.columns)}"

    def _title(self) -> str:
        return f"{type(self).__name__} of {len(self)} rows"

    def _repr_html_(self) -> str:
        """Returns the first rows as an HTML table for notebooks, with units."""
        names = [name if self.units[name] is None else f"{name} [{self.units[name]}]" for name in self.columns]
        shown = self.table[:_SHOWN].tolist()
        rows = [[f"{value:.5g}" if isinstance(value, float) else value for value in row] for row in shown]
        head = f"{self._title()}{f', the first {_SHOWN}' if len(self) > _SHOWN else ''}"
        return _html.table(head, names, rows)

    def __reduce__(self) -> Any:
        name = type(self).__name__
        raise TypeError(f"a {name} cannot be pickled; send its `table`, which is an array, or write it and send the path")

    def to_pandas(self) -> Any:
        """Converts to a `pandas.DataFrame`, with `units`, `descriptions` and `meta` in ``.attrs``. The numbers are copied."""
        pandas = optional("pandas", "to_pandas")
        frame = pandas.DataFrame({name: self.table[name].copy() for name in self.columns})
        frame.attrs.update(units=self.units, descriptions=self.descriptions, meta=self.meta)
        return frame

    def to_polars(self) -> Any:
        """Converts to a `polars.DataFrame`. The numbers are copied. Units and descriptions are left out, as polars has no place for them."""
        polars = optional("polars", "to_polars")
        return polars.DataFrame({name: self.table[name].copy() for name in self.columns})

    def to_arrow(self) -> Any:
        """Converts to a `pyarrow.Table` with the unit and the description of each column in the metadata of its field."""
        arrow = optional("pyarrow", "to_arrow")
        arrays = [arrow.array(self.table[name].copy()) for name in self.columns]
        fields = [
            arrow.field(name, values.type, metadata={"unit": self.units[name] or "", "description": self.descriptions[name]})
            for name, values in zip(self.columns, arrays, strict=True)
        ]
        return arrow.Table.from_arrays(arrays, schema=arrow.schema(fields))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Exports the table to other packages, as in ``polars.DataFrame(table)`` or ``narwhals.from_arrow(table, backend="polars")``."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_astropy(self) -> Any:
        """Converts to an `astropy.table.QTable` with descriptions and `meta`. Columns with a unit are quantities.

        The numbers are copied. Little h is ``littleh``, as in the enhanced CSV that `write` creates; ``astropy.cosmology.units`` has
        its equivalencies. Descriptions tell comoving from physical lengths, which astropy units do not distinguish.
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
        """Writes the table in the format of ``ropewalk halos --catalog``, chosen by the file extension.

        ``.ecsv`` is enhanced CSV with units, which `astropy.table.QTable.read` and `pandas.read_csv(.., comment="#")` read, and
        ``.csv`` is plain CSV, both with nine significant digits. ``.hdf5`` or ``.h5`` and ``.parquet`` have full precision.

        Parameters
        ----------
        path : str or path
            The file. An existing file is replaced.

        Raises
        ------
        ValueError
            If the extension is unknown.

        OSError
            If the file cannot be written. An existing file is unchanged in that case.
        """
        self._native.write(os.fspath(path))
