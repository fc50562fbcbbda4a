"""How the documentation is built: ``make docs``, with warnings as errors."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

from dpcov import __version__

sys.path.insert(0, str(Path(__file__).parent))
from claims_map import write_page
from freshness import code_digest, ran_with

# What is read off the sources or made by running them; it is not kept beside them.
GENERATED = Path(__file__).parent / "generated"
write_page(GENERATED / "claims.md")
RAN_WITH, CODE = GENERATED / "ran_with.txt", code_digest()

project = "dpcov"
author = "the dpcov authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery"]

# Furo asks nobody else's server for anything, which docs/links.py holds, and one release of it runs
# on every Python that dpcov runs on.
html_theme = "furo"
html_title = "dpcov"
pygments_dark_style = "github-dark"  # the theme's own underlines names of modules
html_static_path = ["_static"]
html_css_files = ["dpcov.css"]
html_show_copyright = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0B5C8A",
        "color-brand-content": "#0B5C8A",
        "color-brand-visited": "#5B4B8A",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6DB6E3",
        "color-brand-content": "#6DB6E3",
        "color-brand-visited": "#B3A4E3",
    },
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "ignore_pattern": r"beside_truth\.py",
    "within_subsection_order": "FileNameSortKey",
    "run_stale_examples": not ran_with(RAN_WITH, CODE),
    "abort_on_example_error": False,
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "notebook_extensions": set(),
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # seconds that it took are nobody's promise
    "remove_config_comments": True,
}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
myst_heading_slug_func = "claims_map.heading_slug"
# A name in a docstring may be that of several attributes.
suppress_warnings = ["ref.python"]

napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are words, not names to link
napoleon_use_ivar = True
autodoc_typehints = "none"  # the docstrings say types in words
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}

# What cannot be fetched is not tried twice: `make linkcheck` says what is gone.
linkcheck_timeout = 20
linkcheck_anchors_ignore_for_url = [r"https://github\.com/.*"]


def _keep_digest(_: Sphinx, failure: Exception | None) -> None:
    """Keep what the gallery was run with, if all of it ran."""
    if failure is None:
        RAN_WITH.write_text(CODE, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register what happens at the end, after sphinx-gallery has said which scripts failed."""
    app.connect("build-finished", _keep_digest, priority=900)
