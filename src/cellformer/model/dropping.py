"""Dropout while predicting, so that several answers of one model differ where it is in doubt.

*Not in the paper.* Source: Gal and Ghahramani, "Dropout as a Bayesian approximation: representing
model uncertainty in deep learning" (ICML 2016).
"""

from torch import nn

from cellformer.model.layer import GeneralLayer, PairwiseLayer
from cellformer.model.transformer import CellularTransformer


def drop_again(model: nn.Module) -> bool:
    """Has a model that evaluates drop as in training; whether it has anything to drop.

    Nothing else of training comes back, such as random signs. ``model.eval()`` ends it.
    """
    drops = False
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            share = module.p
        elif isinstance(module, GeneralLayer | PairwiseLayer):
            share = module.options.attention_dropout
        elif isinstance(module, CellularTransformer):
            share = module.config.architecture.layer_dropout
        else:
            continue
        module.training = share > 0  # of this module alone
        drops = drops or share > 0
    return drops
