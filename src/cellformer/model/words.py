"""A model in a line."""

from torch import nn

from cellformer.model.config import ModelConfig


def model_told(model: nn.Module, config: ModelConfig) -> str:
    """What it is, how large, and what it reads; ``model.named_modules()`` lists its parts."""
    chosen, data = config.architecture, config.data
    weights = sum(parameter.numel() for parameter in model.parameters())
    layers = f"{chosen.layers} layer{'' if chosen.layers == 1 else 's'}"
    outputs = f"{data.outputs} output{'' if data.outputs == 1 else 's'}"
    return (
        f"{type(model).__name__}({layers} of width {chosen.width}, {chosen.heads} heads, "
        f"ranks 0 to {data.num_ranks - 1}, {outputs}, {weights:,} parameters)"
    )
