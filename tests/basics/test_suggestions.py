import pytest

from cellformer.basics.suggestions import did_you_mean, nearest, unknown_choice


@pytest.mark.parametrize(
    ("name", "found"),
    [("solubilty", "Solubility"), ("SOLUBILITY", "Solubility"), ("tempereture", "temperature"),
     ("x", None)],
)  # fmt: skip
def test_the_nearest_name_is_found_in_any_case_and_told_as_it_is_written(name, found):
    choices = ["Solubility", "temperature"]
    assert nearest(name, choices) == found
    assert did_you_mean(name, choices) == (f"; did you mean {found!r}?" if found else "")


def test_an_unknown_choice_lists_all_and_names_the_nearest():
    error = unknown_choice("pooling", "means", ["sum", "mean"])
    assert str(error) == "unknown pooling 'means'; did you mean 'mean'? (choose from sum, mean)"
