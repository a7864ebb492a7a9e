"""Checks that all files state the same version: `python3 .ci/release.py [TAG]`.

With a tag, such as v1.2.3, also checks that the tag is that version, and prints the section of CHANGELOG.md about it.
"""

import re
import sys
from pathlib import Path

#: The version in a file, as the only group of a regular expression.
PLACES = {
    "Cargo.toml": r'^version = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "packaging/conda/recipe.yaml": r'^  version: "(.+)"$',
}
#: A dependency on a crate of the workspace; those of tests alone have no version.
DEPENDENCY = r'^ropewalk[\w-]* = \{(?=[^}]*\bpath = )(?:[^}]*\bversion = "(.+?)")?'


def versions():
    """Yields the name of a file and a version that it states."""
    for path, pattern in PLACES.items():
        found = re.findall(pattern, Path(path).read_text(encoding="utf-8"), re.MULTILINE)
        yield from ((path, version) for version in found or ["no version"])
    for folder in "benches", "capi", "crates/*", "examples", "python", "tests":
        for path in Path().glob(f"{folder}/Cargo.toml"):
            found = re.findall(DEPENDENCY, path.read_text(encoding="utf-8"), re.MULTILINE)
            yield from ((path.as_posix(), version) for version in found if version)


def section(version):
    """Returns the text of a version in the changelog, or None."""
    text = Path("CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |^\[[^\]]+\]: |\Z)", text, re.MULTILINE | re.DOTALL)
    return found and found[1].strip()


def main(tag=None):
    found = list(versions())
    version = found[0][1]
    wrong = [f"{path}: {other} instead of {version}" for path, other in found if other != version]
    if tag is not None:
        notes = section(version)
        if tag != f"v{version}":
            wrong.append(f"the tag is {tag} instead of v{version}")
        if not notes:
            wrong.append(f"CHANGELOG.md: no section [{version}], or an empty one")
        elif not wrong:
            print(notes)
    sys.exit("\n".join(wrong) or None)


main(*sys.argv[1:])
