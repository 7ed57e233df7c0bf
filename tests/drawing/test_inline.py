from xml.etree import ElementTree

from cellformer.complexes import examples
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.inline import INLINE, inline_svg
from cellformer.drawing.sketch import sketch


def test_a_picture_takes_the_colors_of_the_page_and_can_be_read_aloud():
    text = inline_svg(draw_complex(examples.house(), theme=INLINE, title="a<b"), 'say "<hi>"')
    root = ElementTree.fromstring(text)
    assert root.get("aria-label") == 'say "<hi>"'
    assert root.get("role") == "img"
    assert root.get("width") is None
    assert "var(--page)" in text
    assert "currentColor" in text
    assert "a&lt;b" in text
    assert "<metadata" not in text


def test_the_same_figure_gives_the_same_text():
    first, second = (inline_svg(draw_complex(examples.house()), "house") for _ in range(2))
    assert first == second


def test_a_sketch_has_faces_edges_and_escaped_letters():
    text = sketch(examples.house(), labels=["", "<b>", "", "", ""], description='"x"')
    root = ElementTree.fromstring(text)
    assert root.get("aria-label") == '"x"'
    assert len(root.findall("path")) == 2 + 1
    assert len(root.findall("circle")) == 4
    (letter,) = root.findall("text")
    assert letter.text == "<b>"


def test_sketches_of_odd_complexes_are_made():
    for cells in (examples.vertex(), examples.edgeless(0), examples.tetrahedron(),
                  examples.petersen(), examples.path(2)):  # fmt: skip
        ElementTree.fromstring(sketch(cells))
