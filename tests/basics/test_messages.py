from hypothesis import given
from hypothesis import strategies as st

from cellformer.basics.messages import MOST, readable, say


@given(st.text(max_size=2 * MOST))
def test_any_text_is_one_short_line_that_a_terminal_shows(text):
    shown = readable(text)
    assert len(shown) <= MOST
    assert shown.isprintable()


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=MOST))
def test_a_short_line_stays_as_it_is(text):
    assert readable(text) == text


def test_what_a_terminal_would_obey_is_written_out(capsys):
    say(ValueError("row 3: '\x1b[2J\x07' is\nno number\u202e"))
    assert capsys.readouterr().err == ("cellformer: row 3: '\\x1b[2J\\x07' is no number\\u202e\n")


def test_beginning_and_end_of_a_long_message_are_kept():
    shown = readable(f"first{'x' * 5000}last")
    assert shown.startswith("firstx")
    assert shown.endswith("xlast")
    assert " [...] " in shown
