"""The page that a picture lies on, and colors that all eyes tell apart."""

from dataclasses import dataclass

TOKEN_COLORS = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#F0E442", "#0072B2")
"""Okabe and Ito's palette, told apart by all kinds of color vision."""


@dataclass(frozen=True)
class Theme:
    """Colors of a page: ground, writing and outlines, what stands back, what stands out."""

    page: str
    ink: str
    faint: str
    accent: str


LIGHT = Theme("#FFFFFF", "#2B2B2B", "#87919C", "#0072B2")
DARK = Theme("#14181D", "#E6EAEE", "#5F6B77", "#56B4E9")
THEMES = {"light": LIGHT, "dark": DARK}


def token_color(number: int) -> str:
    """A color of the palette; they repeat, so a number is always written beside it."""
    return TOKEN_COLORS[number % len(TOKEN_COLORS)]
