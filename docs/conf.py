"""The settings of the documentation site."""

import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref

# Without the compiled package there is no reference, so an ImportError ends the build.
import ropewalk

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))
import write_reference  # noqa: E402

REPOSITORY = "https://github.com/ropewalk/ropewalk/blob/main"

#: Pages on which inline code is linked to the Python reference, and those of them that are about other languages.
PYTHON_PAGES = ("install", "tutorials/", "howto/", "coming-from/", "reference/python")
OTHER_LANGUAGES = ("tutorials/in-situ", "coming-from/arborx")
#: Files and folders of the repository.
PATHS = re.compile(r"(?:benches|capi|crates|docs|examples|fuzz|python|src|tests)/[\w./-]*")

project = "ropewalk"
author = "the authors of ropewalk"
version = release = ropewalk.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser", "sphinx_design"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "README.md", "examples", "reference/generated/cli.md"]
templates_path = ["_templates"]
nitpicky = False
# Names in single backticks of docstrings: links if they are public, else emphasized.
default_role = "autolink"

autosummary_generate = True
# File systems that ignore case cannot hold a page of the class HOP beside one of the function hop.
autosummary_filename_map = write_reference.filenames(ropewalk)
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"

html_theme = "pydata_sphinx_theme"
html_title = "ropewalk"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_theme_options = {
    "logo": {"text": "ropewalk", "image_light": "_static/favicon.svg", "image_dark": "_static/favicon.svg"},
    "github_url": REPOSITORY.removesuffix("/blob/main"),
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}
html_favicon = "_static/favicon.svg"
WITHOUT_SIDEBAR = ("index", "gallery", "install", "compared", "benchmarks", "changelog", "contributing", "genindex", "py-modindex", "search")
html_sidebars = {page: [] for page in WITHOUT_SIDEBAR}
html_show_sourcelink = False


def skip_tuple_fields(app, what, name, obj, skip, options):
    """Skips fields of named tuples: the section Attributes of a docstring describes them."""
    return True if type(obj).__name__ == "_tuplegetter" else skip


def escape_references(app, what, name, obj, options, lines):
    """Escapes names such as `n_features_in_` in the types of parameters, which reStructuredText takes for references."""
    for i, line in enumerate(lines):
        head, colon, kind = line.partition(" : ")
        if colon and re.fullmatch(r"[\w, ]+", head):
            lines[i] = head + colon + re.sub(r"(?<=\w)_(?=[,)])", r"\_", kind)


def link_to_repository(app, path, parent, content):
    """Makes relative links of files that pages include, which are outside of this folder, links to the repository."""
    folder = (FOLDER / path).resolve().parent.relative_to(FOLDER.parent).as_posix()
    start = "/".join(part for part in (REPOSITORY, folder) if part != ".")
    content[0] = re.sub(r"\]\((?![a-z]+:|#)", f"]({start}/", content[0])


def python_target(text):
    """Returns the full name of `Bvh`, `Sph(...).gather`, `ropewalk.halos` or similar code, or None if it is not public."""
    match = re.fullmatch(r"(ropewalk\.)?(\w+)(\([^()]*\))?(?:\.(\w+)(\([^()]*\))?)?", text)
    if match is None:
        return None
    prefix, name, call, member, _ = match.groups()
    # A lower-case word alone, such as `halos`, may be a command or a parameter.
    if name not in ropewalk.__all__ or (name.islower() and "_" not in name and not (prefix or call)):
        return None
    return ".".join(("ropewalk", name, *([member] if member else [])))


def link_code(app, doctree):
    """Makes inline code a link if it is a public Python name, on pages about Python, or a path in the repository."""
    page = app.env.docname
    about_python = page.startswith(PYTHON_PAGES) and page not in OTHER_LANGUAGES
    for literal in list(doctree.findall(nodes.literal)):
        if isinstance(literal.parent, nodes.reference | pending_xref | nodes.title):
            continue
        text = literal.astext()
        target = python_target(text) if about_python else None
        if target:
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=target, refexplicit=True, refdoc=page, refwarn=False)
        elif PATHS.fullmatch(text) and (FOLDER.parent / text).exists():
            link = nodes.reference("", "", refuri=f"{REPOSITORY}/{text}")
        else:
            continue
        literal.replace_self(link)
        link += literal


def emphasize_missing(app, env, node, content):
    """Emphasizes names in docstrings that are not public, such as parameters with the name of a standard module."""
    if node.get("refdomain") == "py" and not node["refexplicit"]:
        return nodes.emphasis("", content.astext())
    return None


def setup(app):
    app.connect("doctree-read", link_code)
    app.connect("missing-reference", emphasize_missing)
    app.connect("include-read", link_to_repository)
    # Before numpydoc, which has the priority 500.
    app.connect("autodoc-process-docstring", escape_references, priority=400)
    app.connect("autodoc-skip-member", skip_tuple_fields)
    write_reference.write(ropewalk, FOLDER / "reference" / "generated")
