"""Configuration of Sphinx; `scripts/docs` builds the site."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "extension")]

project = "cellformer"
author = "The cellformer authors"
copyright = "The cellformer authors"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "mathml",
    "picture",
    "made",
    "reference",
]
exclude_patterns = ["images", "extension"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"  # neither prompts nor what a command prints

html_theme = "furo"
html_title = "cellformer"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
default_role = "py:obj"
nitpicky = True
# Annotations name types of other projects (nothing is fetched, so there is nothing to link to) and
# own ones that are not public. mypy knows that they exist. What docstrings name is py:obj, which
# must exist, and so must whatever a page links to.
nitpick_ignore_regex = [("py:class", ".*")]
nitpick_ignore = [("py:obj", "savefig")]  # matplotlib's
