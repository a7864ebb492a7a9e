"""Checks that the files that Markdown pages name exist: `python3 .ci/paths.py`.

Names are those that begin with a folder of the repository, such as `src/cluster/fof.rs`. CHANGELOG.md and benches/LOG.md speak of the past
and are not checked.
"""

import re
import subprocess
import sys
from pathlib import Path

NAMES = re.compile(r"(?<![\w/.-])((?:benches|capi|crates|docs|examples|fuzz|python|src|tests)/[\w/.-]+\.(?:c|h|md|py|rs|sh|toml))\b")
HISTORY = {"CHANGELOG.md", "benches/LOG.md"}


def missing(page):
    """Returns the names in a page that are files neither from the root nor from a folder above the page."""
    names = set(NAMES.findall(Path(page).read_text()))
    return sorted(name for name in names if not any((folder / name).is_file() for folder in Path(page).parents))


def main():
    pages = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
    wrong = [f"{page}: {name} does not exist" for page in pages if page not in HISTORY for name in missing(page)]
    if not pages:
        wrong.append("no pages")
    sys.exit("\n".join(wrong) or None)


main()
