#!/usr/bin/env python3
"""Checks that imports have one direction.

    .ci/direction.py            prints violations of the rules, and fails if there are any
    .ci/direction.py --arrows   also prints the imports within each cycle

Reads the `use` lines and paths of all crates, and the imports of the Python package. A name that a module re-exports with `pub use`
is resolved to its definition. It counts as an import of the module only if the module itself uses the name. Methods and tests are
ignored. Rules:

1. A crate or module imports only what ARCHITECTURE.md lists above it, in the numbered lists under "Crates" and "Modules of the engine".
   Names on one line do not import each other.
2. No two modules with one parent import each other.
3. No files import each other in a cycle.
"""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def without_comments(text):
    """Returns the code with comments, strings and test modules blanked out."""
    pattern = r'//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|\'(?:\\.[^\']*|[^\\\'])\''
    text = re.sub(pattern, lambda found: "\n" * found[0].count("\n"), text, flags=re.S)
    while (start := re.search(r"#\[cfg\((?:test|all\(test\b[^\]]*)\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*\{", text)):
        depth, at = 1, start.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        text = text[: start.start()] + text[at:]
    return text

def use_tree(text, prefix=()):
    """Returns the paths of a `use` tree as (path, name) pairs; the name is "*" for a glob."""
    text = text.strip()
    brace = text.find("{")
    if brace < 0:
        path, _, alias = text.partition(" as ")
        parts = (*prefix, *(part.strip() for part in path.split("::")))
        if parts[-1] == "self":
            parts = parts[:-1]
        yield parts, alias.strip() or parts[-1]
        return
    head = tuple(part.strip() for part in text[:brace].split("::") if part.strip())
    depth, start = 0, brace + 1
    for at in range(brace, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if (text[at] == "," and depth == 1) or depth == 0:
            if text[start:at].strip():
                yield from use_tree(text[start:at], prefix + head)
            start = at + 1
        if depth == 0:
            return

def inline_modules(code):
    """Splits code into (text, depth) pairs: the code outside of inline modules, then the code inside of each."""
    outside, at, inside = "", 0, []
    for found in re.finditer(r"\bmod\s+\w+\s*\{", code):
        if found.start() < at:
            continue
        outside += code[at : found.start()]
        depth, at = 1, found.end()
        while depth and at < len(code):
            depth += {"{": 1, "}": -1}.get(code[at], 0)
            at += 1
        inside += [(text, level + 1) for text, level in inline_modules(code[found.end() : at - 1])]
    return [(outside + code[at:], 0), *inside]

def outwards(parts, depth):
    """Converts a path from a module nested `depth` inline modules deep to a path of the file; None if it stays within these
    modules."""
    for _ in range(depth):
        if parts[:1] == ("self",):
            parts = parts[1:]
        if parts[:1] != ("super",):
            return parts if parts[:1] and (parts[0] == "crate" or parts[0].startswith("ropewalk")) else None
        parts = parts[1:]
    return ("self", *parts) if depth and parts[:1] != ("super",) else parts

class Crate:
    """The modules of one crate: their files, declarations and imports."""

    def __init__(self, name, folder, root):
        self.name = name
        self.files = {}
        self.children = defaultdict(set)
        self.reexports = defaultdict(dict)
        self.globs = defaultdict(list)
        self.imports = {}
        self.add((), root)

    def add(self, path, file):
        self.files[path] = file
        code = without_comments(file.read_text())
        folder = file.parent if file.name in ("mod.rs", "lib.rs", "main.rs") else file.with_suffix("")
        pattern = r'(?:#\[cfg\(test\)\]\s*)?(?:pub(?:\([^)]*\))?\s+)?\bmod\s+(\w+)\s*;'
        for found in re.finditer(pattern, code):
            if found[0].startswith("#[cfg(test)]"):
                continue
            name = found[1]
            self.children[path].add(name)
            nested = folder / f"{name}.rs"
            self.add((*path, name), nested if nested.exists() else folder / name / "mod.rs")
        self.imports[path] = [
            parts for text, depth in inline_modules(code) for parts in self.imports_of(path, text, depth) if parts
        ]

    def imports_of(self, path, code, depth):
        """Returns the paths that the code of a file, or of an inline module of a file, imports."""
        imports, names = [], {child: ("self", child) for child in self.children[path] if not depth}
        for found in re.finditer(r"(pub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);", code):
            for parts, name in use_tree(found[2]):
                parts = outwards(parts, depth)
                if parts is None:
                    continue
                if name == "*":
                    parts = parts[:-1] if parts[-1] == "*" else parts
                    if found[1] and not depth:
                        self.globs[path].append(parts)
                    imports.append(parts)
                    continue
                if found[1] and not depth:
                    self.reexports[path][name] = parts
                else:
                    imports.append(parts)
                names[name] = parts
        code = re.sub(r"\buse\s+[^;]+;|\bpub\(in [^)]*\)|\bmod\s+\w+\s*;", "", code)
        # Names that are re-exported and also used here, and paths that begin with an imported name: `hdf5::read(..)`.
        for name, parts in names.items():
            for found in re.finditer(rf"(?<![\w:.]){re.escape(name)}\b(?:::\w+)*", code):
                rest = found[0].split("::")[1:]
                if rest or name in self.reexports[path]:
                    imports.append((*parts, *rest))
        paths = re.finditer(r"\b(?:crate|super|ropewalk\w*)(?:::\w+)+", code)
        return imports + [outwards(tuple(found[0].split("::")), depth) for found in paths]

class Workspace:
    def __init__(self, crates):
        self.crates = {crate.name: crate for crate in crates}

    def absolute(self, crate, path, parts):
        """Resolves a path in a module to (crate, parts); None for paths outside of the workspace."""
        if parts[0] == "crate":
            return crate, parts[1:]
        if parts[0] in ("super", "self"):
            here = path
            while parts and parts[0] in ("super", "self"):
                here = here[:-1] if parts[0] == "super" else here
                parts = parts[1:]
            return crate, (*here, *parts)
        if parts[0] in self.crates:
            return parts[0], parts[1:]
        if parts[0] in self.crates[crate].children[path]:
            return crate, (*path, *parts)
        return None

    def defined_in(self, crate, parts, seen=()):
        """Returns (crate, module) of the file that defines the name at the end of a path."""
        known = self.crates[crate]
        module = ()
        for at, part in enumerate(parts):
            if (*module, part) in known.files:
                module = (*module, part)
                continue
            if (crate, module, part) in seen:
                break
            seen = (*seen, (crate, module, part))
            if part in known.reexports[module]:
                there = self.absolute(crate, module, known.reexports[module][part])
                return self.defined_in(there[0], (*there[1], *parts[at + 1 :]), seen) if there else (crate, module)
            for glob in known.globs[module]:
                there = self.absolute(crate, module, glob)
                if there and there[0] in self.crates:
                    found = self.defined_in(there[0], (*there[1], part), seen)
                    text = without_comments(self.crates[found[0]].files[found[1]].read_text())
                    if re.search(rf"\b(fn|struct|enum|trait|type|const|static|macro_rules!|mod|union)\s+{part}\b", text):
                        return found
            break
        return crate, module

    def arrows(self):
        """Returns a map from each file to the files that it imports from."""
        arrows = defaultdict(set)
        for crate in self.crates.values():
            for path, imports in crate.imports.items():
                for parts in imports:
                    there = self.absolute(crate.name, path, parts)
                    if there is None:
                        continue
                    target = self.defined_in(*there)
                    if target != (crate.name, path):
                        arrows[(crate.name, path)].add(target)
        return arrows

def cycles(arrows):
    """Returns the strongly connected components of more than one node (Tarjan)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []

    def visit(node):
        work = [(node, iter(sorted(arrows.get(node, ()))))]
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        while work:
            here, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(arrows.get(other, ())))))
                    break
                if other in on_stack:
                    low[here] = min(low[here], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[here])
                if low[here] == index[here]:
                    group = []
                    while True:
                        other = stack.pop()
                        on_stack.discard(other)
                        group.append(other)
                        if other == here:
                            break
                    if len(group) > 1:
                        found.append(sorted(group))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found

def shown(node):
    return "::".join((node[0], *node[1]))

def order(section):
    """Returns a map from name to position in the numbered list under a heading of ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    body = re.search(rf"^## {section}$(.*?)(?=^## |\Z)", text, flags=re.S | re.M)[1]
    ranks = {}
    for rank, line in enumerate(re.findall(r"^\d+\. (.*)$", body, flags=re.M)):
        for name in re.findall(r"`([\w-]+)`", line.split(":")[0]):
            ranks[name] = rank
    return ranks

def python_arrows(package):
    """Returns what the modules of a Python package import from each other, except for type checkers alone."""
    arrows = defaultdict(set)
    files = {file.stem: file for file in package.glob("*.py")}
    for stem, file in files.items():
        tree = ast.parse(file.read_text())
        for_types = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
        left_out = {inner for node in for_types for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if node in left_out:
                continue
            names = []
            if isinstance(node, ast.ImportFrom):
                module = (node.module or "").removeprefix("ropewalk").lstrip(".")
                names = [module] if module else [alias.name for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name.removeprefix("ropewalk.") for alias in node.names]
            elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                names = [str(node.args[0].value).removeprefix("ropewalk.")] if called == "import_module" else []
            arrows[("python", (stem,))] |= {("python", (name,)) for name in names if name in files and name != stem}
    return arrows

def main():
    crates = [Crate("ropewalk", ROOT / "src", ROOT / "src/lib.rs")]
    for folder in sorted([*(ROOT / "crates").glob("*"), ROOT / "python", ROOT / "capi"]):
        root = next((folder / "src" / name for name in ("lib.rs", "main.rs") if (folder / "src" / name).exists()), None)
        if root:
            crates.append(Crate(f"ropewalk_{folder.name}", folder / "src", root))
    workspace = Workspace(crates)
    arrows = workspace.arrows()
    bad = []

    of_crates, of_modules = order("Crates"), order("Modules of the engine")
    for here, others in sorted(arrows.items()):
        for there in sorted(others):
            a, b = here[0].replace("_", "-"), there[0].replace("_", "-")
            if a != b and of_crates.get(b, -1) >= of_crates.get(a, -1):
                bad.append(f"{shown(here)} imports {shown(there)}: {b} is not listed above {a} under Crates")
            if here[0] == there[0] == "ropewalk" and here[1] and there[1] and here[1][0] != there[1][0]:
                a, b = here[1][0], there[1][0]
                missing = [name for name in (a, b) if name not in of_modules]
                if missing:
                    bad.append(f"{missing[0]} is not listed under Modules of the engine")
                elif of_modules[b] >= of_modules[a]:
                    bad.append(f"{shown(here)} imports {shown(there)}: {b} is not listed above {a}")

    # Checks folders with one parent that import each other.
    siblings = defaultdict(set)
    for here, others in arrows.items():
        for there in others:
            if here[0] != there[0]:
                continue
            common = 0
            while common < min(len(here[1]), len(there[1])) and here[1][common] == there[1][common]:
                common += 1
            if common < len(here[1]) and common < len(there[1]):
                siblings[((here[0], here[1][: common + 1]), (there[0], there[1][: common + 1]))].add((here, there))
    for (a, b), pairs in sorted(siblings.items()):
        if a < b and (b, a) in siblings:
            back = siblings[(b, a)]
            bad.append(
                f"{shown(a)} and {shown(b)} import each other: "
                + "; ".join(f"{shown(x)} -> {shown(y)}" for x, y in [*sorted(pairs)[:3], *sorted(back)[:3]])
            )

    arrows.update(python_arrows(ROOT / "python/ropewalk"))
    for group in sorted(cycles(arrows), key=len):
        bad.append(f"circle of {len(group)} files: {', '.join(map(shown, group))}")
        if "--arrows" in sys.argv:
            for node in group:
                bad.append(f"    {shown(node)} -> {', '.join(shown(x) for x in sorted(arrows[node]) if x in group)}")
    for line in dict.fromkeys(bad):
        print(line)
    return 1 if bad else 0

if __name__ == "__main__":
    sys.exit(main())
