"""The forms of attention and the readouts by name. A new one is one file and one line here."""

from cellformer.basics.parts.catalog import Catalog, Listed

ATTENTIONS = Catalog(
    "attention",
    {
        "pairwise-sparse": Listed("cellformer.model.plans.pairwise:pairwise_sparse", factory=True),
        "pairwise-dense": Listed("cellformer.model.plans.pairwise:pairwise_dense", factory=True),
        "pairwise-mixed": Listed("cellformer.model.plans.pairwise:pairwise_mixed", factory=True),
        "general-sparse": Listed("cellformer.model.plans.general:general_sparse", factory=True),
        "general-dense": Listed("cellformer.model.plans.general:general_dense", factory=True),
    },
)
"""Functions or classes whose result is an `AttentionPlan`; see `attention_plan`."""

READOUTS = Catalog(
    "readout",
    {
        "network": Listed(
            "cellformer.model.readouts.readout:Readout",
            {
                "readout_layers": "hidden_layers",
                "readout_dropout": "dropout",
                "readout_cells": "cells",
                "pooling": "pooling",
            },
        ),
    },
)
"""Classes of modules that are called with a width and a number of outputs; see `readout_of`."""
