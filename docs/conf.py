"""How the site is built: `make docs`."""

import os
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

import variegate
import variegate.cli

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "variegate"
author = "The variegate developers"
copyright = author
version = release = variegate.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # mathematics without a network: it puts MathJax beside the pages
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    "error_list",  # beside this file
]
exclude_patterns = [
    "_build",
    "gallery/**/*.py",
    "gallery/**/*.ipynb",
    "gallery/**/*.md5",
    "gallery/sg_execution_times.rst",
]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

# `name` in a docstring is a link where there is something to link to, and code where not
default_role = "py:obj"
suppress_warnings = ["ref.python"]  # `fit` may mean several things
nitpick_ignore_regex = [("py:obj", ".*"), ("py:class", r"(BaseEstimator|.*Mixin|NamedTuple|Protocol)")]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = "variegate"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 110)]
plot_rcparams = {"figure.constrained_layout.use": True, "font.size": 10}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "ignore_pattern": r"(__init__|costs|readme_)",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "copyfile_regex": r"nothing",
    "matplotlib_animations": False,
    "min_reported_time": 5,
    "show_signature": False,
}


def _as_rst(app, what, name, obj, options, lines):
    """Escape docstrings, which are written as plain text: |S| is a size there, and coef_ a name."""
    if lines and lines[0].startswith("Alias for field number"):  # fields of named tuples
        lines.clear()
    if (getattr(obj, "__module__", None) or "").startswith("sklearn."):
        lines[:] = [f"scikit-learn's own ``{obj.__name__}``, here for convenience."]
    if what in ("property", "attribute"):  # or napoleon would take "Size: of …" for a type
        lines.insert(0, "\\ ")
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = line.split("`")
            parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\_", part.replace("|", r"\|")) for part in parts[::2]]
            lines[i] = "`".join(parts)


def _link_names(app, doctree):
    """Link `vg.sample` and `variegate.dpp.LowRankDPP` on a page to the reference, if they are in it."""
    for node in list(doctree.findall(nodes.literal)):
        name = re.fullmatch(r"(vg|variegate)\.(\w+(?:\.\w+)*)", node.astext())
        if name is None or isinstance(node.parent, nodes.reference | addnodes.pending_xref):
            continue
        exact = name[1] == "variegate" or name[2] in ("baselines", "data", "datasets", "metrics", "similarity")
        target = f"variegate.{name[2]}" if exact else name[2]
        link = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=target, refspecific=not exact, refwarn=False
        )
        node.replace_self(link)
        link += node


def _write_demo(app, error):
    """Put the demo's report beside the front page, which links to it."""
    if error is None and app.builder.name == "html":
        out = os.path.relpath(Path(app.outdir) / "demo")  # the page shows it
        if variegate.cli.main(["demo", "--out", out, "--overwrite", "--quiet"]):
            raise RuntimeError(f"The demo failed; try: variegate demo --out {out}")


def setup(app):
    """Hook into autodoc, before napoleon."""
    app.connect("autodoc-process-docstring", _as_rst, priority=400)
    app.connect("doctree-read", _link_names)
    app.connect("build-finished", _write_demo)
