"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import concordant

project = "concordant"
author = "The concordant developers"
copyright = "The concordant developers"
version = release = concordant.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates", "design.md", "reproduction.md"]
templates_path = ["_templates"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "min_reported_time": 1e9,
}

html_theme = "pydata_sphinx_theme"
html_title = "concordant"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}
html_show_sourcelink = False


def keep_bars(app, what, name, obj, options, lines):
    """Norms and counts like |w| are meant; docutils would look for a substitution."""
    for i, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        pieces = line.split("``")
        pieces[::2] = [piece.replace("|", "\\|") for piece in pieces[::2]]
        lines[i] = "``".join(pieces)


def setup(app):
    import pages

    app.connect("autodoc-process-docstring", keep_bars, priority=1)

    app.connect("builder-inited", lambda app: pages.write(Path(app.srcdir)))
