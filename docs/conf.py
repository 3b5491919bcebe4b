"""Sphinx configuration for `make docs`: without network, JVM or inventories of other projects."""

from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "ingest"
author = "the authors of ingest"
copyright = "the authors of ingest, Apache License 2.0"  # noqa: A001  Sphinx's name
release = version = version_of("hudi-cdc-ingest")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["words", "examples", "drawings"]
nitpicky = True

# Copy what a person types, without the prompt and the output.
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .go"

html_theme = "furo"
html_title = f"ingest {version}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_copyright = False
smartquotes = False  # it would turn the dashes of `--flags` in help texts into one

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

default_role = "code"  # our docstrings mark code with one backtick
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# Type hints are not linked: pyspark, Python and internal modules have no pages here.
nitpick_ignore_regex = [
    ("py:class", r"(collections\.abc|datetime|pathlib|ingest\.\w+)\..+|[A-Z]\w+|datetime")
]


def setup(app: "Sphinx") -> None:
    """Let CONTRIBUTING.md link a file of the repository that is a page of the site."""
    app.connect("include-read", _link_pages)


def _link_pages(_app: "Sphinx", _path: Path, _page: str, content: list[str]) -> None:
    content[0] = content[0].replace("](tests/README.md)", "](tests.md)")
