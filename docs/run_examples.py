"""Runs the examples of the documentation, each in an empty folder that holds the sample snapshot.

    python docs/run_examples.py [FILE ...]     # default: all shell and Python files in docs/examples

A first line `# needs: cuda` or `# needs: mpi` marks examples that run only if NEEDS names what they need, as in `NEEDS=mpi`. Skipped
examples are printed.
"""

import os
import sys
import tempfile
from pathlib import Path

from make_figures import FOLDER, run


def needs(script):
    """Returns what the first line of a script names as its requirements."""
    first = script.read_text(encoding="utf-8").split("\n", 1)[0]
    return set(first.removeprefix("# needs:").split()) if first.startswith("# needs:") else set()


def main(wanted):
    available = set(os.environ.get("NEEDS", "").replace(",", " ").split())
    scripts = sorted(path for path in FOLDER.glob("examples/*.*") if path.suffix in (".sh", ".py"))
    for script in scripts:
        if wanted and script.name not in wanted:
            continue
        missing = needs(script) - available
        if missing:
            print(f"{script.name}: skipped, needs {', '.join(sorted(missing))}")
            continue
        print(script.name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            run(script, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
