"""How the documentation is built: ``make docs``, with warnings as errors."""

import sys
from pathlib import Path

from dpcov import __version__

sys.path.insert(0, str(Path(__file__).parent))
from claims_map import write_page

# A page that is read off the sources; it is not kept beside them.
write_page(Path(__file__).parent / "generated" / "claims.md")

project = "dpcov"
author = "the dpcov authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "Covariance matrices with a promise that is true"}

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
# Pages link to files of the repository, which are no pages; a name in a docstring may be that
# of several attributes.
suppress_warnings = ["myst.xref_missing", "ref.python"]

napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are words, not names to link
napoleon_use_ivar = True
autodoc_typehints = "none"  # the docstrings say types in words
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}
