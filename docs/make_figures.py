"""Makes the figures of the documentation that figures.toml lists, in docs/figures.

    python docs/make_figures.py [NAME ...]     # default: all

Each script runs in an empty folder that holds the sample snapshot. Scripts call the program `ropewalk` in PATH (or that of the
variable ROPEWALK) and the installed Python package.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent
DATA = FOLDER.parent / "data" / "p3m_64.gadget2"


def run(script, folder):
    """Runs a shell or Python script in a folder that is filled with the sample snapshot and all other example files."""
    shutil.copy(DATA, folder)
    for other in [*FOLDER.glob("examples/*.*"), *FOLDER.glob("examples/figures/*.*")]:
        shutil.copy(other, folder)
    environment = {**os.environ, "MPLBACKEND": "agg"}
    program = os.environ.get("ROPEWALK")
    if program is not None:
        # The scripts call the program by its own name.
        bin = Path(folder, ".bin")
        bin.mkdir()
        (bin / "ropewalk").symlink_to(Path(program).resolve())
        environment["PATH"] = f"{bin}{os.pathsep}{environment['PATH']}"
    start = ["sh", "-e"] if script.suffix == ".sh" else [sys.executable]
    subprocess.run([*start, script.name], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


def main(wanted):
    figures = tomllib.loads((FOLDER / "figures.toml").read_text(encoding="utf-8"))["figure"]
    unknown = set(wanted) - {figure["name"] for figure in figures}
    if unknown:
        sys.exit(f"figures.toml has no figure {', '.join(sorted(unknown))}")
    out = FOLDER / "figures"
    out.mkdir(exist_ok=True)
    for figure in figures:
        if wanted and figure["name"] not in wanted:
            continue
        print(figure["name"], flush=True)
        with tempfile.TemporaryDirectory() as folder:
            run(FOLDER / "examples" / "figures" / figure["script"], folder)
            made = Path(folder, figure["makes"])
            shutil.copy(made, out / (figure["name"] + made.suffix))


if __name__ == "__main__":
    main(sys.argv[1:])
