"""The settings of the documentation site."""

import re
import sys
from pathlib import Path

# Without the compiled package there is no reference, so an ImportError ends the build.
import ropewalk

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))
import write_reference  # noqa: E402

project = "ropewalk"
author = "the authors of ropewalk"
version = release = ropewalk.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser", "sphinx_design"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "README.md", "examples", "reference/generated/cli.md"]
templates_path = ["_templates"]
nitpicky = False

autosummary_generate = True
# File systems that ignore case cannot hold a page of the class HOP beside one of the function hop.
autosummary_filename_map = write_reference.filenames(ropewalk)
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"

html_theme = "pydata_sphinx_theme"
html_title = "ropewalk"
html_static_path = ["_static"]
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "gallery": [], "install": [], "benchmarks": [], "changelog": [], "contributing": []}
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


def setup(app):
    # Before numpydoc, which has the priority 500.
    app.connect("autodoc-process-docstring", escape_references, priority=400)
    app.connect("autodoc-skip-member", skip_tuple_fields)
    write_reference.write(ropewalk, FOLDER / "reference" / "generated")
