"""Whether a color is seen on another.

Source: WCAG 2.2, "contrast ratio" and "relative luminance", and criterion 1.4.11: what must be seen
has a ratio of at least 3 to what lies beside it.
"""

import numpy as np
from jaxtyping import Float, Float64
from matplotlib.colors import to_rgb

LEAST = 3.0
MOST = 8.0
"""Of the ratio to the page of what is filled by a color: beyond it, it looks like the writing."""


def luminance(colors: Float[np.ndarray, "*color 3"]) -> Float64[np.ndarray, "*color"]:
    """The relative luminance of red, green, blue in 0 ... 1 (sRGB): 0 of black, 1 of white."""
    return np.asarray(_linear(colors) @ [0.2126, 0.7152, 0.0722], np.float64)


def contrast(colors: Float[np.ndarray, "*color 3"], page: str) -> Float64[np.ndarray, "*color"]:
    """The contrast ratio of every color to one: 1 of equal ones, 21 of black and white."""
    own, other = luminance(colors), luminance(np.array(to_rgb(page)))
    return np.asarray((np.maximum(own, other) + 0.05) / (np.minimum(own, other) + 0.05))


def seen_on(colors: Float[np.ndarray, "*color 3"], page: str) -> Float64[np.ndarray, "*color 3"]:
    """The colors, made darker on a light page and lighter on a dark one, or the other way round,
    as little as it takes for a contrast to the page within `LEAST` ... `MOST`.

    Dark is a color's light dimmed, light is white added to it, so that its hue stays.
    """
    own, ground = luminance(colors), float(luminance(np.array(to_rgb(page)))) + 0.05
    light = ground > np.sqrt(1.05 * 0.05)
    low, high = sorted(ground / k - 0.05 if light else ground * k - 0.05 for k in (LEAST, MOST))
    # A margin for colors that are written with eight bits a channel.
    wanted = np.clip(own, 1.03 * low, high / 1.03)[..., None]
    own = own[..., None]
    dimmed = wanted / np.maximum(own, wanted)
    white = np.where(wanted > own, (wanted - own) / (1 - np.minimum(own, wanted)), 0.0)
    lit = _linear(colors) * dimmed
    return _encoded(lit + white * (1 - lit))


def writing_on(colors: Float[np.ndarray, "*color 3"]) -> np.ndarray:
    """Black or white for every color, whichever is the better read on it (4.5 at least)."""
    return np.where(luminance(colors) > np.sqrt(1.05 * 0.05) - 0.05, "#000000", "#FFFFFF")


def _linear(colors: Float[np.ndarray, "*color 3"]) -> Float64[np.ndarray, "*color 3"]:
    values = np.asarray(colors, np.float64)
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _encoded(linear: Float64[np.ndarray, "*color 3"]) -> Float64[np.ndarray, "*color 3"]:
    low = linear * 12.92
    high = 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055
    return np.clip(np.where(linear <= 0.0031308, low, high), 0, 1)
