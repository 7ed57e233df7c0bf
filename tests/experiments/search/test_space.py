from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.experiments.search.space import Choice, Range, SearchSpace
from cellformer.training.config import RunConfig

BASE = RunConfig()


def test_a_file_says_which_fields_are_searched(tmp_path):
    file = tmp_path / "space.yaml"
    file.write_text(
        "optimizer.peak_rate: {log_uniform: [1e-5, 1e-2]}\n"
        "model.layers: {int: [2, 6]}\n"
        "model.width: {choice: [32, 64]}\n"
        "attention: {choice: [general-sparse, pairwise-mixed]}\n"
    )
    space = SearchSpace.read(file, BASE)
    assert space.dimensions == {
        "optimizer.peak_rate": Range(1e-5, 1e-2, log=True, whole=False),
        "model.layers": Range(2.0, 6.0, log=False, whole=True),
        "model.width": Choice((32, 64)),
        "attention": Choice(("general-sparse", "pairwise-mixed")),
    }
    values = {"optimizer.peak_rate": 2e-4, "model.layers": 3, "attention": "pairwise-mixed"}
    config = space.config(BASE, values)
    assert config == replace(
        BASE,
        attention="pairwise-mixed",
        optimizer=replace(BASE.optimizer, peak_rate=2e-4),
        model=replace(BASE.model, layers=3),
    )
    assert space.of(config) == {**values, "model.width": BASE.model.width}
    assert space.of(replace(BASE, attention="general-dense")) is None


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (None, "must map fields"),
        ({"optimizer.peek_rate": {"uniform": [1, 2]}}, r"did you mean optimizer\.peak_rate"),
        ({"optimiser.peak_rate": {"uniform": [1, 2]}}, "did you mean optimizer"),
        ({"optimizer": {"choice": [1]}}, "optimizer must be a mapping"),
        ({"optimizer.peak_rate": 0.1}, "optimizer.peak_rate: must be one of"),
        ({"optimizer.peak_rate": {"loguniform": [1, 2]}}, "no kind 'loguniform'"),
        ({"optimizer.peak_rate": {"log_uniform": [1e-2, 1e-5]}}, "smaller and a larger"),
        ({"optimizer.peak_rate": {"log_uniform": [0, 1]}}, "positive"),
        ({"optimizer.peak_rate": {"uniform": [1]}}, "two numbers"),
        ({"optimizer.peak_rate": {"uniform": ["low", "high"]}}, "two numbers"),
        ({"optimizer.peak_rate": {"uniform": [-1, 1]}}, "peak_rate"),
        ({"model.layers": {"int": [1.5, 3]}}, "whole numbers"),
        ({"model.layers": {"uniform": [1.5, 3]}}, "layers"),
        ({"model.width": {"choice": []}}, "list of values"),
        ({"attention": {"choice": ["general-sparse", "sparse"]}}, "attention"),
    ],
)  # fmt: skip
def test_a_space_that_cannot_be_is_refused_by_the_name_of_its_field(values, told):
    with pytest.raises(ValueError, match=told) as error:
        SearchSpace.parse(values, BASE, "space.yaml")
    assert "space.yaml" in str(error.value)


def test_values_may_need_those_of_other_fields():
    """Sixteen heads do not divide a width of 40, but one of the widths of the search."""
    base = replace(BASE, model=replace(BASE.model, width=40, heads=8))
    heads = {"model.heads": {"choice": [8, 16]}}
    with pytest.raises(ValueError, match="heads"):
        SearchSpace.parse(heads, base, "space")
    SearchSpace.parse({**heads, "model.width": {"choice": [40, 64]}}, base, "space")


@settings(deadline=None, max_examples=30)
@given(
    low=st.integers(1, 50),
    size=st.integers(1, 50),
    log=st.booleans(),
    whole=st.booleans(),
    seed=st.integers(0, 99),
)
def test_draws_lie_within_their_range(low, size, log, whole, seed):
    dimension = Range(float(low), float(low + size), log, whole)
    drawn = dimension.draw(Random(seed))
    assert low <= drawn <= low + size or drawn == pytest.approx(low)
    assert isinstance(drawn, int if whole else float)
