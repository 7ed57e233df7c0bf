"""The directive ``picture``: draws a function of ``pictures``, or what a command of the page draws,
while the site is built.

Each picture is drawn for light and for dark pages; the theme shows the one that fits. The content
of the directive is what the picture shows, for those who cannot see it.
"""

import inspect
import re
import shlex
import shutil
from collections.abc import Callable
from html import escape
from pathlib import Path

import pictures
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from cellformer.cli.main import main
from cellformer.drawing.draw import save_figure
from cellformer.drawing.theme import THEMES

FOLDER = "_pictures"


class Picture(SphinxDirective):
    """One picture, by the name of its function or by a command that stands on the page."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Draws, and puts both variants on the page."""
        (given,) = self.arguments
        draw = self._of_command(given) if given.startswith("cellformer") else self._function(given)
        name = re.sub(r"\W+", "-", given)
        if not self.content:
            raise self.error(f"say in words what the picture {name} shows")
        folder = Path(self.env.app.outdir) / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        root = "../" * self.env.docname.count("/")
        words = escape(" ".join(self.content), quote=True)
        images = []
        for theme_name in THEMES:
            file = f"{name}-{theme_name}.svg"
            draw(theme_name, folder / file)
            images.append(
                f'<img class="only-{theme_name}" src="{root}{FOLDER}/{file}" alt="{words}">'
            )
        return [nodes.raw("", f'<p class="picture">{"".join(images)}</p>', format="html")]

    def _function(self, name: str) -> Callable[[str, Path], None]:
        draw = getattr(pictures, name, None)
        if not inspect.isfunction(draw) or draw.__module__ != pictures.__name__:
            raise self.error(f"docs/pictures.py has no function {name}")
        return lambda theme, file: save_figure(draw(THEMES[theme]), file)

    def _of_command(self, command: str) -> Callable[[str, Path], None]:
        page = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        if f"\n{command}\n" not in page:
            raise self.error(f"no line of the page is {command}")
        *words, option, _ = shlex.split(command)[1:]
        if words[0] != "draw" or option != "-o":
            raise self.error(f"not of the form cellformer draw ... -o FILE: {command}")

        def draw(theme: str, file: Path) -> None:
            if main([*words, "--theme", theme, "-o", str(file)]):
                raise self.error(f"this command failed: {command}")

        return draw


def _clear(app: Sphinx) -> None:
    shutil.rmtree(Path(app.outdir) / FOLDER, ignore_errors=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("picture", Picture)
    app.connect("builder-inited", _clear)
    return {"parallel_read_safe": False}
