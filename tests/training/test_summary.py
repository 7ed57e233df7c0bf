from cellformer.training.summary import describe


def test_a_score_that_does_not_exist_is_called_undefined():
    summary = {
        "metric": "rocauc",
        "best_epoch": None,
        "epochs": 3,
        "scores": {"last": {"val": {"rocauc": None}, "test": {"rocauc": 1.0}}},
        "baseline": {"val": {"rocauc": None}, "test": {"rocauc": 0.5}},
    }
    assert describe(summary) == (
        "last epoch (3): val rocauc undefined, test rocauc 1.0000\n"
        "the same answer for all rows: test rocauc 0.5000"
    )
