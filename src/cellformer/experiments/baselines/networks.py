"""From what is chosen of a network to the network itself."""

from torch import nn

from cellformer.experiments.baselines.config import GIN, GPS, Baseline, MinCutPool
from cellformer.experiments.baselines.gin import GINNetwork
from cellformer.experiments.baselines.gps import GPSNetwork
from cellformer.experiments.baselines.inputs import GraphData
from cellformer.experiments.baselines.mincut_pool import MinCutPoolNetwork


def network_of(chosen: Baseline, data: GraphData) -> nn.Module:
    """The network for these data, with fresh weights."""
    match chosen:
        case GIN():
            return GINNetwork(chosen, data)
        case GPS():
            return GPSNetwork(chosen, data)
        case MinCutPool():
            return MinCutPoolNetwork(chosen, data)
