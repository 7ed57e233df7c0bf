"""The losses and the metrics by their names. A new one is a function and one line here."""

from cellformer.basics.parts.catalog import Catalog, Listed

LOSSES = Catalog(
    "loss",
    {
        name: Listed(f"cellformer.training.loop.loss:{name}")
        for name in ("l1", "mse", "huber", "cross_entropy")
    }
    | {
        "gaussian": Listed("cellformer.training.loop.spread_losses:Gaussian"),
        "quantile": Listed("cellformer.training.loop.spread_losses:Quantile"),
    },
)
"""Functions of (outputs, targets), with a column per target, that give the loss of each value; one
that has the attribute ``columns`` is given so many for each target (see `spread_losses`)."""

METRICS = Catalog(
    "metric",
    {
        name: Listed(f"cellformer.training.loop.metrics:{name}")
        for name in (
            "mae",
            "rmse",
            "r2",
            "spearman",
            "accuracy",
            "rocauc",
            "average_precision",
            "f1",
            "mcc",
        )
    },
)
"""Functions of (outputs, targets) of one target that give a number; the attribute
``higher_is_better`` of one says what its name does."""
