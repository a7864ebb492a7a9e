"""Runs what README.md promises: `python3 .ci/readme.py PROGRAM PYTHON [--rust]`.

The lines of its shell blocks that begin with `ropewalk` run PROGRAM, and its Python blocks run in PYTHON, in a temporary folder with
the folder `data`. With --rust, the first Rust program is built in a new package that has the dependency of README.md's `cargo add` line
and no other.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def blocks(language):
    """Returns the code blocks of README.md in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)


def run(arguments, folder):
    """Runs a program in a folder, and exits if it fails."""
    print("+", " ".join(arguments)[:100].split("\n")[0], flush=True)
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nREADME.md: this failed")


def main():
    program, python, *rest = sys.argv[1:]
    # Commands run in another folder.
    program, python = (str(Path(name).absolute()) if "/" in name else name for name in (program, python))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").symlink_to(ROOT / "data")
        lines = [shlex.split(line, comments=True) for block in blocks("sh") for line in block.splitlines()]
        commands = [words for words in lines if words[:1] == ["ropewalk"]]
        programs = blocks("python")
        if not commands or not programs:
            sys.exit("README.md: no commands, or no Python program")
        for words in commands:
            run([program, *words[1:]], folder)
        for text in programs:
            run([python, "-c", text], folder)
        if rest == ["--rust"]:
            [[*add, path]] = [words for words in lines if words[:2] == ["cargo", "add"]]
            if path != "../ropewalk":
                sys.exit(f"README.md: cargo add names {path}")
            run(["cargo", "init", "--quiet", "--name", "start", "start"], folder)
            start = Path(folder) / "start"
            run([*add, str(ROOT)], start)
            (start / "src/main.rs").write_text(blocks("rust")[0])
            run(["cargo", "run", "--quiet"], start)


main()
