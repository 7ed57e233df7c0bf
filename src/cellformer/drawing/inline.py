"""Pictures that become part of a page and take its colors."""

import html
import io
import re

import matplotlib
from matplotlib.figure import Figure

from cellformer.drawing.theme import Theme

INLINE = Theme("#FEFEFD", "#2B2B2C", "#87919D", "#0072B3")
"""Stands for the colors of the page: its variables --page, --faint, --accent and its ink."""

INLINE_DARK = Theme("#14181E", "#E4E8ED", "#7A8796", "#56B4EA")
"""The same for what is drawn for dark pages alone."""

_OF_PAGE = {
    color: of_page
    for theme in (INLINE, INLINE_DARK)
    for color, of_page in (
        (theme.page, "var(--page)"),
        (theme.ink, "currentColor"),
        (theme.faint, "var(--faint)"),
        (theme.accent, "var(--accent)"),
    )
}


def inline_svg(figure: Figure, description: str) -> str:
    """The figure, drawn in `INLINE` or `INLINE_DARK`, as an <svg> element of an HTML page.

    ``description`` is what a screen reader says. Text stays text. Names of groups are left out
    unless they were given (by ``set_gid``).
    """
    target = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "cellformer"}):
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    text = target.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="[A-Za-z]+\d*[A-Za-z.]*_\d+"', "", text)
    text = re.sub(r"\n\s*", "\n", text)
    for color, of_page in _OF_PAGE.items():
        text = re.sub(color, of_page, text, flags=re.IGNORECASE)
    text = re.sub(r'^<svg( [^>]*?)? width="[^"]*"', r"<svg\1", text)
    text = re.sub(r'^(<svg[^>]*?) height="[^"]*"', r"\1", text)
    width = round(float(figure.get_size_inches()[0]) * 96)
    label = html.escape(description, quote=True)
    return text.replace(
        "<svg", f'<svg role="img" aria-label="{label}" style="max-width: {width}px"', 1
    ).strip()
