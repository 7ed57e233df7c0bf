"""Dropout while predicting, so that several answers of one model differ where it is in doubt.

*Not in the paper.* Source: Gal and Ghahramani, "Dropout as a Bayesian approximation: representing
model uncertainty in deep learning" (ICML 2016).
"""

from torch import nn

from cellformer.model.layers.layer import GeneralLayer, PairwiseLayer
from cellformer.model.layers.signed_layer import SignedGeneralLayer, SignedPairwiseLayer
from cellformer.model.transformer import CellularTransformer


def drop_again(model: nn.Module) -> bool:
    """Has a model that evaluates drop as in training; whether it has anything to drop.

    Nothing else of training comes back, such as random signs. ``model.eval()`` ends it.
    """
    dropping = _dropping(model)
    for module in dropping:
        module.training = True  # of this module alone
    return bool(dropping)


def drops(model: nn.Module) -> bool:
    """Whether a model has anything to drop."""
    return bool(_dropping(model))


def _dropping(model: nn.Module) -> list[nn.Module]:
    return [module for module in model.modules() if _share(module) > 0]


def _share(module: nn.Module) -> float:
    if isinstance(module, nn.Dropout):
        return module.p
    if isinstance(module, GeneralLayer | PairwiseLayer | SignedGeneralLayer | SignedPairwiseLayer):
        return module.options.attention_dropout
    if isinstance(module, CellularTransformer):
        return module.config.architecture.layer_dropout
    return 0.0
