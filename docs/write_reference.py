"""Writes the generated pages of the reference: the Python interface, and the commands of the program."""

import os
import re
import shutil
import subprocess
import types
from pathlib import Path

#: The headings of the Python reference, and the modules whose names belong there.
GROUPS = {
    "Clusters": ("_dbscan", "_hdbscan", "_k_distances"),
    "Groups": ("_fof", "_hop"),
    "Neighbours": ("_bvh", "_device_bvh", "_lists", "_neighbors"),
    "Spanning trees": ("_trees",),
    "Meshes": ("_mesh", "_mesh_data", "_mesh_hits"),
    "Interpolation": ("_interpolate", "_interpolator"),
    "Halos": ("_halos", "_halo_catalog", "_tables", "_read_snapshot", "_snapshot", "_cosmology"),
    "Figures": ("_figure", "_report"),
}
OTHER = "Threads, errors and warnings"


def names(package):
    """Returns the public classes and functions by heading. Names of new modules are under the last heading."""
    found = {heading: [] for heading in [*GROUPS, OTHER]}
    for name in package.__all__:
        value = getattr(package, name)
        if isinstance(value, types.ModuleType | str):
            continue
        module = (getattr(value, "__module__", None) or "").rpartition(".")[2]
        heading = next((heading for heading, modules in GROUPS.items() if module in modules), OTHER)
        found[heading].append(name)
    return found


def modules(package):
    """Returns the public modules of the package by name."""
    return {name: getattr(package, name) for name in package.__all__ if isinstance(getattr(package, name), types.ModuleType)}


def filenames(package):
    """Returns file names for functions whose names differ from those of a class by case only."""
    classes = {name.lower() for name in package.__all__ if isinstance(getattr(package, name), type)}
    same = [name for name in package.__all__ if name in classes and not isinstance(getattr(package, name), type)]
    return {f"ropewalk.{name}": f"ropewalk.{name}-function" for name in same}


def python_reference(package):
    """Returns the reference of the Python package as reStructuredText."""
    sections = [(heading, "ropewalk", found) for heading, found in names(package).items() if found]
    sections += [(f"ropewalk.{name}", f"ropewalk.{name}", module.__all__) for name, module in modules(package).items()]
    lines = ["All names", "=========", ""]
    for heading, module, found in sections:
        lines += [heading, "-" * len(heading), ""]
        # Either directive makes its module the current one, in which names need no prefix.
        lines += [f".. {'currentmodule' if module == 'ropewalk' else 'automodule'}:: {module}", ""]
        lines += [".. autosummary::", "   :toctree: .", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in sorted(found, key=str.lower)] + [""]
    return "\n".join(lines)


def help_of(program, *command):
    """Returns the long help of the program or of one of its commands."""
    done = subprocess.run([program, "help", *command], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "88"})
    return done.stdout.replace(Path(program).name, "ropewalk").rstrip()


def commands(text):
    """Returns the names of the commands that the program's help lists in groups, before its options."""
    found = re.findall(r"(?m)^  ([a-z]\w*)  ", text.partition("\nOptions:\n")[0])
    if not found:
        raise RuntimeError("the program's help lists no commands")
    return [name for name in found if name != "help"]


def cli_reference(program):
    """Returns the reference of the program as Markdown: the help text of each command."""
    top = help_of(program)
    lines = ["```text", top, "```", ""]
    for name in commands(top):
        lines += [f"## ropewalk {name}", "", "````text", help_of(program, name), "````", ""]
    return "\n".join(lines)


def write(package, folder):
    """Writes both pages to a folder. The program is that of the variable ROPEWALK, or the first one in PATH."""
    program = os.environ.get("ROPEWALK") or shutil.which("ropewalk")
    if program is None:
        raise RuntimeError("the program ropewalk is not in PATH; install it, or set ROPEWALK to its path")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("python.rst", python_reference(package)), ("cli.md", cli_reference(program))):
        path = folder / name
        # An unchanged file keeps its time, so that Sphinx does not read it again.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
