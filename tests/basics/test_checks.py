import pytest

from cellformer.basics.checks import at_least, one_of, positive, share


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: at_least(3, folds=2), "folds must be at least 3, got 2"),
        (lambda: at_least(0, layers=0.5), "layers must be a whole number, at least 0, got 0.5"),
        (lambda: at_least(0, layers=True), "layers must be a whole number"),
        (lambda: at_least(1, width=None), "width must be a whole number, at least 1, got None"),
        (lambda: positive(minutes=0), "minutes must be positive and finite, got 0"),
        (lambda: positive(**{"data.radius": float("nan")}), r"data\.radius must be positive"),
        (lambda: positive(minutes=float("inf")), "finite, got inf"),
        (lambda: share(dropout=1.0), r"dropout must be in \[0, 1\), got 1.0"),
        (lambda: share(dropout=-0.1), "dropout must be in"),
        (lambda: one_of(("sum", "mean"), pooling="Sums"), "unknown pooling 'Sums'; did you mean"),
    ],
)
def test_a_value_out_of_range_is_told_with_its_name(check, message):
    with pytest.raises(ValueError, match=message):
        check()


def test_values_at_the_ends_of_a_range_pass():
    at_least(3, folds=3, trials=4)
    positive(minutes=1e-9)
    share(dropout=0, warmup=0.999)
    one_of(("sum", "mean"), pooling="mean")
