"""The directive ``picture``: draws a function of ``pictures`` while the site is built.

Each picture is drawn for light and for dark pages; the theme shows the one that fits. The content
of the directive is what the picture shows, for those who cannot see it.
"""

import inspect
import shutil
from html import escape
from pathlib import Path

import pictures
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from cellformer.drawing.draw import save_figure
from cellformer.drawing.theme import THEMES

FOLDER = "_pictures"


class Picture(SphinxDirective):
    """One picture, by the name of its function."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Draws, and puts both variants on the page."""
        (name,) = self.arguments
        draw = getattr(pictures, name, None)
        if not inspect.isfunction(draw) or draw.__module__ != pictures.__name__:
            raise self.error(f"docs/pictures.py has no function {name}")
        if not self.content:
            raise self.error(f"say in words what the picture {name} shows")
        folder = Path(self.env.app.outdir) / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        root = "../" * self.env.docname.count("/")
        words = escape(" ".join(self.content), quote=True)
        images = []
        for theme_name, theme in THEMES.items():
            file = f"{name}-{theme_name}.svg"
            save_figure(draw(theme), folder / file)
            images.append(
                f'<img class="only-{theme_name}" src="{root}{FOLDER}/{file}" alt="{words}">'
            )
        return [nodes.raw("", f'<p class="picture">{"".join(images)}</p>', format="html")]


def _clear(app: Sphinx) -> None:
    shutil.rmtree(Path(app.outdir) / FOLDER, ignore_errors=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("picture", Picture)
    app.connect("builder-inited", _clear)
    return {"parallel_read_safe": False}
