import sys

import pytest
import torch

import cellformer as cf
from cellformer.basics.parts.trust import PartRefusedError, allow_parts
from cellformer.model.config import ArchitectureConfig, DataShape, ModelConfig
from cellformer.model.readouts.readout import Readout

TEXT = """
import torch
from torch import nn


class Largest(nn.Module):
    '''The k largest of each column of the edges, in a linear map.'''

    def __init__(self, width, outputs, k=2):
        super().__init__()
        self.k = k
        self.linear = nn.Linear(k * width, outputs)

    def forward(self, cells, batch):
        owner = batch.complex_of(1)
        rows = []
        for number in range(batch.num_complexes):
            own = cells[1][owner == number]
            padded = torch.cat([own, own.new_zeros(self.k, own.shape[1])])
            rows.append(padded.topk(self.k, dim=0).values.flatten())
        return self.linear(torch.stack(rows))


class OfVertices(Largest):
    def ranks(self, batch):
        return (0,)

    def forward(self, cells, batch):
        return cells[0].new_zeros(batch.num_complexes, 2) + cells[0].sum()


def flat(width, outputs):
    return Flat(width, outputs)


class Flat(Largest):
    def forward(self, cells, batch):
        return super().forward(cells, batch)[:, 0]


def number(width, outputs):
    return width + outputs
"""


@pytest.fixture
def own(own_module):
    return own_module(TEXT)


def model_for(batch, **options):
    torch.manual_seed(0)
    architecture = ArchitectureConfig(**{"width": 8, "layers": 2, "heads": 2, **options})
    config = ModelConfig.for_batch(batch, architecture, outputs=2)
    return cf.CellularTransformer(config, cf.pairwise_sparse()).eval()


def test_one_s_own_is_used_once_its_module_is_named(own, ring):
    batch = cf.collate([ring(4), ring(5)])
    text = f"{own}:Largest(k=3)"
    with pytest.raises(PartRefusedError, match=f"the readout {own}:Largest is code of {own}"):
        model_for(batch, readout=text)
    assert own not in sys.modules
    allow_parts(own)
    model = model_for(batch, readout=text)
    assert model.readout.k == 3
    together = model(batch)
    assert together.shape == (2, 2)
    torch.testing.assert_close(together[1:], model(cf.collate([ring(5)])))
    together.sum().backward()
    assert model.readout.linear.weight.grad.abs().sum() > 0


def test_it_is_given_all_ranks_normed_unless_it_reads_fewer(own, ring, monkeypatch):
    allow_parts(own)
    batch = cf.collate([ring(4), ring(5)])
    model = model_for(batch, readout=f"{own}:Largest", final_norm=True)
    assert [type(norm) for norm in model.final_norms] == [torch.nn.LayerNorm] * 3
    told = []
    last = model.layers[-1].forward
    monkeypatch.setattr(model.layers[-1], "forward",
                        lambda *given: told.append(given[-1]) or last(*given))  # fmt: skip
    model(batch)
    fewer = model_for(batch, readout=f"{own}:OfVertices")
    last = fewer.layers[-1].forward
    monkeypatch.setattr(fewer.layers[-1], "forward",
                        lambda *given: told.append(given[-1]) or last(*given))  # fmt: skip
    fewer(batch)
    assert told == [False, True]


def test_the_settings_of_the_network_are_refused_beside_it():
    for settings in ({"readout_layers": 1}, {"readout_dropout": 0.1}, {"readout_cells": "all"},
                     {"pooling": "mean"}):  # fmt: skip
        (name,) = settings
        with pytest.raises(ValueError, match=f"{name} is of no use with the readout my.parts:Own"):
            ArchitectureConfig(readout="my.parts:Own(k=3)", **settings)
        ArchitectureConfig(readout="network", **settings)
    assert ArchitectureConfig(readout="my.parts:Own", width=2, heads=1).readout_layers == 2


def test_arguments_may_stand_in_the_text_of_the_network(ring):
    batch = cf.collate([ring(4)])
    model = model_for(batch, readout="network(hidden_layers=0, cells='all')", pooling="mean")
    assert isinstance(model.readout, Readout)
    assert (model.readout.all_ranks, model.readout.mean, len(model.readout.network)) == (
        True,
        True,
        1,
    )
    same = model_for(batch, readout_layers=0, readout_cells="all", pooling="mean")
    assert torch.equal(same(batch), model(batch))
    with pytest.raises(ValueError, match="readout_layers is of no use"):
        ArchitectureConfig(readout="network(hidden_layers=0)", readout_layers=1)
    with pytest.raises(ValueError, match="cannot be halved 9 times"):
        model_for(batch, readout="network(hidden_layers=9)")
    with pytest.raises(ValueError, match=r"readout network\(k=3\) has no argument 'k'"):
        model_for(batch, readout="network(k=3)")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("netwrk", "unknown readout 'netwrk'; did you mean 'network'"),
        ("my.parts:Own(width=3)", "is told its width; leave that out"),
        ("network(outputs=3)", "is told its outputs"),
    ],
)
def test_what_cannot_be_a_readout_is_refused_when_it_is_named(text, reason):
    with pytest.raises(ValueError, match=reason):
        ArchitectureConfig(readout=text)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("number", "gives int, which is no torch.nn.Module"),
        ("Largest(j=3)", "has no argument"),
        ("Nothing", "unknown part"),
        ("flat", r"gave a tensor of shape \(2,\); expected \(2, 2\), complexes and outputs"),
    ],
)
def test_what_turns_out_to_be_none_is_told(own, ring, name, reason):
    allow_parts(own)
    batch = cf.collate([ring(4), ring(5)])
    with pytest.raises(ValueError, match=reason):
        model_for(batch, readout=f"{own}:{name}")(batch)


def test_it_does_not_predict_cells():
    shape = DataShape(((3,), ()), (0, 0), target_rank=1)
    with pytest.raises(ValueError, match="here cells of rank 1 are predicted; leave readout out"):
        ModelConfig(ArchitectureConfig(readout="my.parts:Own"), shape)


def test_a_description_of_before_has_the_network():
    values = ModelConfig().to_dict()
    del values["architecture"]["readout"]
    assert ModelConfig.from_dict(values) == ModelConfig()
