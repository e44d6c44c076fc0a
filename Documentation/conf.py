# SPDX-License-Identifier: GPL-2.0-only
"""
Sphinx makes HTML of these pages: make htmldocs. They are written to be read as text and on a forge,
where a link names the file; here it becomes a link to the page that was made of the file. Links to
other files of the tree stay as they are.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

HERE = Path(__file__).parent

project = "AF_SMC for Linux"
version = release = (HERE.parent / "VERSION").read_text().strip()
author = "the authors of AF_SMC for Linux"
root_doc = "index"
exclude_patterns = ["json", "netlink"]
extensions = ["myst_parser"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
# of GitHub's kind, down to this level
myst_heading_anchors = 3
myst_all_links_external = True
html_theme = "alabaster"
html_theme_options = {"page_width": "72em", "body_max_width": "none"}
html_copy_source = False

log = logging.getLogger(__name__)


def add_contents(_app, name, source):
    """Give the index a table of contents, in the order of its links."""
    if name == root_doc:
        pages = re.findall(r"<([\w/-]+)\.(?:rst|md)>", source[0])
        source[0] += "\n.. toctree::\n   :hidden:\n\n" + "".join(f"   {p}\n" for p in pages)


def link_pages(app, doctree, name):
    """Turn links to files into links to the pages made of them; complain of files that do not exist."""
    folder = (HERE / name).parent
    for ref in doctree.findall(nodes.reference):
        uri, hash_, anchor = ref.get("refuri", "").partition("#")
        if not uri or re.match(r"\w+:", uri):
            continue
        if not (folder / uri).exists():
            log.warning("no file %s", uri, location=ref)
        elif HERE in (folder / uri).resolve().parents:
            ref["refuri"] = re.sub(r"\.(rst|md)$", app.builder.out_suffix, uri) + hash_ + anchor


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", add_contents)
    app.connect("doctree-resolved", link_pages)
    return {"parallel_read_safe": True}
