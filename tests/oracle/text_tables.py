#!/usr/bin/env python3
"""Compares text tables as read by the program with pandas and astropy.

    python3 tests/oracle/text_tables.py target/release/ropewalk FOLDER

All files are generated: separators, headers, comments, quotes, index columns, text columns, missing values, styles of numbers, line
ends, byte order marks, compression, units, aliases, masks and metadata. `ropewalk convert` must give the coordinates that pandas or
astropy read, or reject the file with the reason that is listed here. Needs numpy, pandas and astropy.
"""

import gzip
import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import astropy.units as u
import numpy as np
import pandas as pd
from astropy.coordinates import SkyCoord
from astropy.table import MaskedColumn, QTable, Table
from astropy.time import Time

ROWS = 7
RNG = np.random.default_rng(5)


class Case:
    """A file and its expected result: positions and further arrays, or words of the error."""

    def __init__(self, name, content, expected, *args, said=(), arrays=None):
        self.name, self.args, self.said = name, args, said
        self.arrays = arrays or {}
        self.content = content.encode() if isinstance(content, str) else content
        self.expected = expected


def frame(columns, kind=float):
    data = RNG.normal(size=(ROWS, len(columns))) * 100
    return pd.DataFrame(np.round(data) if kind is int else data, columns=columns).astype(kind)


def by_pandas(text, columns, **options):
    """Returns the named columns as read by pandas."""
    table = pd.read_csv(io.StringIO(text), float_precision="round_trip", **options)
    return table[columns].to_numpy(float)


def plain():
    """Yields cases of separators, headers, numbers, line ends, marks and compression."""
    for separator, name in [(",", "comma"), (";", "semicolon"), ("\t", "tab"), (" ", "blank"), ("|", "bar")]:
        for kind in [float, int]:
            table = frame(["x", "y", "z"], kind)
            text = table.to_csv(sep=separator, index=False)
            wanted = by_pandas(text, ["x", "y", "z"], sep=separator)
            label = f"{name}-{kind.__name__}"
            yield Case(f"{label}-names", text, wanted)
            yield Case(f"{label}-bare", table.to_csv(sep=separator, index=False, header=False), wanted)
            yield Case(f"{label}-index", table.to_csv(sep=separator), wanted)
            commented = "# made by hand\n#" + text
            yield Case(f"{label}-comment", commented, wanted, said=["line 2 names the columns"])
        table = frame(["a", "b"])
        text = table.to_csv(sep=separator, index=False, quoting=1)
        yield Case(f"{name}-quoted", text, by_pandas(text, ["a", "b"], sep=separator))
    for end, name in [("\n", "lf"), ("\r\n", "crlf"), ("\r", "cr")]:
        for mark in [b"", b"\xef\xbb\xbf"]:
            for pack in [lambda data: data, gzip.compress]:
                text = frame(["x", "y"]).to_csv(index=False)
                data = pack(mark + text.replace("\n", end).encode())
                yield Case(f"end-{name}-{len(mark)}-{pack.__name__}", data, by_pandas(text, ["x", "y"]))
    for style in ["%.3f", "%.17e", "%+.4g", "%012.5f", "%.1E", "% .6f"]:
        text = frame(["x", "y"]).to_csv(index=False, float_format=style)
        yield Case(f"style-{style[1:]}", text, by_pandas(text, ["x", "y"]))
    values = RNG.normal(size=(ROWS, 3)) * 1e5
    text = "\n".join(" ".join(f"{value:24.15E}".replace("E", "D") for value in row) for row in values) + "\n"
    yield Case("fortran", text, np.array([[float(f"{value:.15E}") for value in row] for row in values]))
    for header, comments in [("x y z", "# "), ("x,y,z", "#"), ("id x y z", "# ")]:
        n = len(header.replace(",", " ").split())
        data = np.abs(np.round(RNG.normal(size=(ROWS, n)) * 1000))
        file = io.StringIO()
        np.savetxt(file, data, header=header, comments=comments, delimiter="," if "," in header else " ")
        yield Case(f"savetxt-{n}-{len(comments)}", file.getvalue(), data[:, n - 3 :], said=["names the columns"])


def roles():
    """Yields cases of columns that are not coordinates."""
    for name in ["label", "class", "target", "Cluster", "cluster_id", "species", "index", "source_id", "weight", "Unnamed: 0"]:
        table = frame(["feature_1", "feature_2"])
        table.insert(1, name, np.arange(ROWS) % 3)
        text = table.to_csv(index=False)
        wanted = by_pandas(text, ["feature_1", "feature_2"])
        yield Case(f"role-{name.replace(' ', '_').replace(':', '')}", text, wanted, said=[f"left out: {name} ("])
        yield Case(f"chosen-{len(name)}-{name[:4]}", text, by_pandas(text, [name, "feature_2"]), "--coordinates", f"{name},feature_2")
    table = frame(["lon", "lat", "fare", "passengers"])
    text = table.to_csv(index=False)
    yield Case("taxi", text, by_pandas(text, ["lon", "lat"]), said=["fare (beside lon and lat)"])
    table = frame(["RA", "DEC", "z"])
    text = table.to_csv(index=False)
    yield Case("sky", text, by_pandas(text, ["RA", "DEC", "z"]))
    table = frame(["ra", "dec", "2mass_k"])
    text = table.to_csv(index=False)
    yield Case("digit", text, by_pandas(text, ["ra", "dec", "2mass_k"]), "--coordinates", "ra,dec,2mass_k")
    table = frame(["2mass_j", "2mass_h"])
    text = table.to_csv(index=False)
    yield Case("digits", text, by_pandas(text, ["2mass_j", "2mass_h"]))
    table = frame(["ra", "z", "Z"])
    text = table.to_csv(index=False)
    yield Case("case", text, by_pandas(text, ["ra", "Z"]), "--coordinates", "ra,Z")
    yield Case("case-all", text, by_pandas(text, ["ra", "z", "Z"]))
    table = pd.DataFrame(RNG.normal(size=(ROWS, 3)))
    text = table.to_csv(index=False)
    yield Case("numbers-header", text, by_pandas(text, ["0", "1", "2"]), said=["read as names of columns"])
    text = table.to_csv()
    yield Case("numbers-header-index", text, by_pandas(text, ["0", "1", "2"]))
    text = pd.DataFrame(np.arange(6).reshape(2, 3)).to_csv(index=False)
    yield Case("numbers-header-whole", text, np.vstack([[0, 1, 2], np.arange(6).reshape(2, 3)]), said=["read as a row"])
    for title in ["a b", "a;b", "a,b", 'a "b"', "é", "a#b", "a|b", "x [Mpc]"]:
        table = frame([title, "other"])
        text = table.to_csv(index=False)
        yield Case(f"odd-{sum(title.encode())}", text, by_pandas(text, [title, "other"]))
    text = "x y z\n" + "\n".join(f"{i} {i}.5 {-i}.25 1e{i}" for i in range(1, ROWS)) + "\n"
    yield Case("r-row-names", text, by_pandas(text, ["x", "y", "z"], sep=" "), said=["names of rows"])


def texts():
    """Yields cases of text columns and missing values."""
    for words in [["a", "b"], ["a, b", 'say "c"'], ["2020-01-01", "2021-02-03"], ["3C273", "M31"], ["True", "False"], ["12:30", "13:00"]]:
        table = frame(["p", "q"])
        table.insert(1, "note", [words[i % 2] for i in range(ROWS)])
        text = table.to_csv(index=False)
        wanted = by_pandas(text, ["p", "q"])
        yield Case(f"text-{sum(''.join(words).encode())}", text, wanted, said=["note (text)"])
        yield Case(f"text-chosen-{sum(''.join(words).encode())}", text, "column 2 (note) is not a number", "--coordinates", "p,note")
    table = frame(["lat", "lon"])
    table.insert(0, "id", [f"nc{i}" for i in range(ROWS)])
    text = table.to_csv(index=False)
    yield Case("text-ids", text, by_pandas(text, ["lat", "lon"]), "--coordinates", "lat,lon")
    table.insert(0, "mag", [np.nan if i % 2 else 1.0 for i in range(ROWS)])
    text = table.to_csv(index=False)
    yield Case("missing-unused", text, by_pandas(text, ["lat", "lon"]), "--coordinates", "lat,lon")
    for token in ["#N/A", "#NA", "#N/A N/A", "NA", ""]:
        for separator in [",", ";", "\t"]:
            table = frame(["p", "q"]).astype(object)
            table.iloc[3, 0] = np.nan
            text = table.to_csv(index=False, na_rep=token, sep=separator)
            name = f"missing-first-{sum(token.encode())}-{ord(separator)}"
            wanted = pd.read_csv(io.StringIO(text), float_precision="round_trip", sep=separator).dropna().to_numpy(float)
            yield Case(name, text, "line 5: column 1 (p) is")
            yield Case(f"{name}-skip", text, wanted, "--skip-missing", said=["1 of 7 rows have missing values"])
    for token in ["", "NA", "N/A", "nan", "NaN", "null", "None", "<NA>", "#N/A", "n/a", "NULL", "-nan"]:
        table = frame(["p", "q", "r"]).astype(object)
        table.iloc[2, 1] = table.iloc[4, 2] = np.nan
        text = table.to_csv(index=False, na_rep=token)
        read = pd.read_csv(io.StringIO(text), float_precision="round_trip")
        name = f"missing-{sum(token.encode())}-{len(token)}"
        yield Case(name, text, "line 4: column 2 (q) is")
        yield Case(f"{name}-skip", text, read.dropna().to_numpy(float), "--skip-missing", said=["2 of 7 rows have missing values"])
    text = "a,b\n1,2\n3,inf\n"
    yield Case("inf", text, "line 3: column 2 (b) is inf")
    yield Case("inf-skip", text, "line 3: column 2 (b) is inf", "--skip-missing")
    text = "a,b\n1,2\n3,four\n"
    yield Case("slip", text, "line 3: column 2 (b) is not a number: 'four'")


def enhanced():
    """Yields cases of astropy's ECSV."""

    def of(table, columns, name, *args, said=(), refused=None, arrays=None, **options):
        file = io.StringIO()
        table.write(file, format="ascii.ecsv", **options)
        text = file.getvalue()
        if refused:
            return Case(f"ecsv-{name}", text, refused, *args)
        read = Table.read(text, format="ascii.ecsv")
        keep = ~np.any([np.ma.getmaskarray(np.ma.asarray(read[column])) for column in columns], axis=0)
        values = np.column_stack([np.asarray(read[column], float) for column in columns])
        return Case(f"ecsv-{name}", text, values[keep], *args, said=said, arrays=arrays)

    for delimiter in [" ", ","]:
        for kind in [Table, QTable]:
            table = kind({"x": RNG.normal(size=ROWS) * u.kpc, "y": RNG.normal(size=ROWS) * u.kpc})
            label = f"{kind.__name__}-{ord(delimiter)}"
            yield of(table, ["x", "y"], label, delimiter=delimiter)
            table["name"] = [f"n {i}" for i in range(ROWS)]
            table["class"] = np.arange(ROWS)
            table["id"] = 2**60 + 3 * np.arange(ROWS)
            table["mass"] = RNG.uniform(1, 2, ROWS) * u.Msun
            masses = np.asarray(table["mass"], float)
            arrays = {"box_size": 10.0, "redshift": 0.5, "omega_m": 0.3, "h": 0.7, "ids": np.asarray(table["id"]), "masses": masses}
            table.meta.update(box_size=10.0, redshift=0.5, omega_m=0.3, h=0.7, comments=["one", "two"])
            said = ["comments", "name (values of the type string)"]
            yield of(table, ["x", "y"], f"{label}-meta", delimiter=delimiter, said=said, arrays=arrays)
            table.meta["box_size"] = 10 * u.kpc
            yield of(table, ["x", "y"], f"{label}-quantity", delimiter=delimiter, arrays=arrays)
            table.meta["particle_mass"] = 2 * u.Msun
            yield of(table, ["x", "y"], f"{label}-particle", delimiter=delimiter, arrays=arrays)
            table.meta["particle_mass"] = 2 * u.kg
            yield of(table, ["x", "y"], f"{label}-particle-unit", delimiter=delimiter, refused="particle_mass in kg, but masses in")
            del table.meta["particle_mass"]
            table.meta["box_size"] = 10 * u.Mpc
            yield of(table, ["x", "y"], f"{label}-box-unit", delimiter=delimiter, refused="box_size in Mpc")
            table.meta["box_size"] = "ten"
            yield of(table, ["x", "y"], f"{label}-box-text", delimiter=delimiter, refused="not a number: 'ten'")
            table.meta["box_size"] = np.arange(3.0)
            yield of(table, ["x", "y"], f"{label}-box-array", delimiter=delimiter, refused="box_size in its header")
    x = RNG.normal(size=ROWS)
    yield of(QTable({"x": x * u.Mpc, "y": x * u.kpc}), ["x", "y"], "mixed", refused="both must have the same unit")
    yield of(QTable({"x": x * u.deg, "y": x * u.arcmin}), ["x", "y"], "mixed-angles", refused="both must have the same unit")
    yield of(Table({"x": x * u.Mpc, "y": x}), ["x", "y"], "mixed-none", refused="both must have the same unit")
    yield of(QTable({"x": x * u.deg, "y": x * u.deg}), ["x", "y"], "degrees", said=["'deg' of x, y is not a known unit"])
    shared = u.Unit("kpc")
    table = QTable({"x": x * shared, "y": x * shared, "z": x * shared})
    table.meta["unit"] = shared
    yield of(table, ["x", "y", "z"], "alias")
    masked = Table({"p": MaskedColumn(x, mask=np.arange(ROWS) == 3), "q": x})
    yield of(masked, ["p", "q"], "masked", refused="line ")
    yield of(masked, ["p", "q"], "masked-skip", "--skip-missing", said=["1 of 7 rows"])
    yield of(masked, ["q"], "masked-apart", serialize_method="data_mask", said=["p (values that the column p.mask masks)"])
    named = Table({"x": MaskedColumn(x, mask=np.arange(ROWS) == 3), "y": x})
    yield of(named, ["x"], "masked-named", serialize_method="data_mask", refused="column x holds values that")
    sky = QTable({"sc": SkyCoord(x * u.deg, x * u.deg), "m": x})
    text = io.StringIO()
    sky.write(text, format="ascii.ecsv")
    read = Table.read(text.getvalue(), format="ascii.ecsv")["sc"]
    yield Case("ecsv-sky", text.getvalue(), np.column_stack([read.ra.deg % 360, read.dec.deg]), said=["m (beside sc.ra and sc.dec)"])
    times = QTable({"p": x, "t": Time(58000 + np.arange(ROWS), format="mjd")})
    yield of(times, ["p"], "time", said=["t (a component of astropy.time.core.Time)"])
    arrays = Table({"p": x, "v": RNG.normal(size=(ROWS, 2)), "o": x > 0})
    yield of(arrays, ["p"], "arrays", said=["v (arrays of float64[2])", "o (values of the type bool)"])
    broken = text.getvalue().replace("# datatype:", "# datatype: [", 1)
    yield Case("ecsv-broken", broken, "header of enhanced CSV that is not YAML")
    yield Case("ecsv-names", text.getvalue().replace("\nsc.ra ", "\nsc.rb "), "the header of the table declares")


def others():
    """Yields cases of formats other than CSV, and of files that are not tables."""
    arff = "% comment\n@RELATION iris\n\n@attribute 'sepal length' numeric\n@attribute width REAL\n@attribute class {a, b}\n@DATA\n"
    yield Case("arff", arff + "1.5,2,a\n% more\n2.5,3,b\n", np.array([[1.5, 2], [2.5, 3]]), said=["class (a nominal attribute)"])
    yield Case("arff-missing", arff + "1.5,?,a\n2.5,3,b\n", "line 8: column 2 (width) is not a number: '?'")
    yield Case("arff-skip", arff + "1.5,?,a\n2.5,3,b\n", np.array([[2.5, 3]]), "--skip-missing")
    yield Case("arff-sparse", arff + "{0 1.5}\n", "sparse rows")
    table = Table({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    file = io.BytesIO()
    table.write(file, format="votable")
    yield Case("votable", file.getvalue(), "is a VOTable")
    file = io.StringIO()
    table.write(file, format="ascii.commented_header")
    yield Case("commented_header", file.getvalue(), np.array([[1.0, 3], [2, 4]]))
    yield Case("utf16", "x,y\n1,2\n".encode("utf-16"), "UTF-16")
    yield Case("utf16le", "x,y\n1,2\n".encode("utf-16-le"), "UTF-16")
    yield Case("json", pd.DataFrame({"x": [1]}).to_json(orient="records"), "is JSON")
    yield Case("html", "<!DOCTYPE html><p>", "is a page of HTML")
    rockstar = (
        "#id num_p mvir x y z vx vy vz\n#a = 0.500000\n#Om = 0.3; Ol = 0.7; h = 0.7\n#Box size: 62.5 Mpc/h\n"
        "#Units: Masses in Msun / h\n1 20 1e12 0.1 0.2 0.3 10 20 30\n2 30 2e12 1.1 1.2 1.3 -10 -20 -30\n"
    )
    yield Case("rockstar", rockstar, np.array([[0.1, 0.2, 0.3], [1.1, 1.2, 1.3]]), said=["Box size", "a = 0.5"])
    yield Case("ambiguous", "# id x y\n# x y id\n1 2 3\n", "may name the columns")


def check(program, folder, case):
    """Returns what is wrong with a case, or nothing if it is right."""
    path, out = folder / f"{case.name}.txt", folder / f"{case.name}.npz"
    path.write_bytes(case.content)
    run = subprocess.run([program, "convert", path, out, *case.args], capture_output=True, text=True, check=False)
    shown = run.stdout + run.stderr
    if isinstance(case.expected, str):
        if run.returncode == 0 or case.expected not in shown or "panicked" in shown:
            return f"{case.name}: should be refused ({case.expected}): {shown}"
        return None
    if run.returncode != 0:
        return f"{case.name}: {shown}"
    with np.load(out) as arrays:
        positions = arrays["positions"]
        if positions.shape != case.expected.shape or not np.array_equal(positions, case.expected):
            return f"{case.name}: read as\n{positions}\nwhere others read\n{case.expected}\n{shown}"
        extra = {"ids", "masses", "velocities", "types"} & set(arrays.files) if case.arrays else set()
        for name in case.arrays.keys() | extra:
            found, wanted = arrays.get(name), case.arrays.get(name)
            if found is None or wanted is None or not np.array_equal(found, wanted):
                return f"{case.name}: {name} is {found} where others read {wanted}: {shown}"
    missing = [words for words in case.said if words not in shown]
    return f"{case.name}: the report does not say {missing}: {shown}" if missing else None


def main():
    program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    cases = [case for group in [plain, roles, texts, enhanced, others] for case in group()]
    names = [case.name for case in cases]
    assert len(set(names)) == len(names) >= 100, [name for name in names if names.count(name) > 1]
    with ThreadPoolExecutor(2) as pool:
        wrong = [found for found in pool.map(lambda case: check(program, folder, case), cases) if found]
    refused = sum(isinstance(case.expected, str) for case in cases)
    print(f"{len(cases)} text tables: {len(cases) - refused} as pandas and astropy read them, {refused} refused for their reasons")
    if wrong:
        print(*wrong, sep="\n")
        sys.exit(f"{len(wrong)} of {len(cases)} are wrong")


if __name__ == "__main__":
    main()
