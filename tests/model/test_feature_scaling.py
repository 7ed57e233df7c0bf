import numpy as np
import torch

from cellformer.complexes.batches.batch import collate
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.lifting.lift import lift
from cellformer.lifting.skeleton import Skeleton
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.embedding.feature_scaling import standardize_features
from cellformer.model.plans.named import attention_plan
from cellformer.model.transformer import CellularTransformer

SMALL = ArchitectureConfig(width=8, layers=1, heads=2)


def complexes(scale=1.0, shift=0.0, sizes=(3, 5, 2, 4)):
    rng = np.random.default_rng(1)
    made = []
    for size in sizes:
        ring = [(i, (i + 1) % size) for i in range(size)] if size > 2 else [(0, 1)]
        features = rng.normal(size=(size, 3)) * scale + shift
        features[:, 2] = 7.0  # never varies
        made.append(lift(Graph.from_edges(ring, size, features), Skeleton()))
    return made


def model_of(collection, chosen):
    torch.manual_seed(0)
    config = ModelConfig.for_batch(RaggedComplexes.from_complexes(collection), SMALL)
    model = CellularTransformer(config, attention_plan("general-sparse", max_rank=1))
    standardize_features(model, RaggedComplexes.from_complexes(collection), np.array(chosen))
    return model.eval()


def test_units_and_origin_of_features_make_no_difference():
    plain, moved = complexes(), complexes(1000.0, -50.0)
    for chosen in ([0, 1, 2, 3], [1, 3]):
        here, there = model_of(plain, chosen), model_of(moved, chosen)
        torch.testing.assert_close(
            here(collate(plain)), there(collate(moved)), atol=1e-4, rtol=1e-4
        )


def test_mean_and_deviation_are_those_of_the_chosen_complexes():
    made = complexes()
    scaling = model_of(made, [1, 3]).embedding.features["0"]
    rows = np.concatenate([made[1].features[0].continuous, made[3].features[0].continuous])
    np.testing.assert_allclose(scaling.mean, rows.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(scaling.deviation[:2], rows.std(axis=0)[:2], rtol=1e-5)
    assert scaling.deviation[2] == 1


def test_weights_of_before_are_used_as_they_were_learned():
    made = complexes()
    model = model_of(made, [0, 1])
    old = {name: value for name, value in model.state_dict().items()
           if not name.endswith((".mean", ".deviation"))}  # fmt: skip
    config = ModelConfig.for_batch(RaggedComplexes.from_complexes(made), SMALL)
    again = CellularTransformer(config, attention_plan("general-sparse", max_rank=1))
    again.load_state_dict(old)
    scaling = again.embedding.features["0"]
    assert scaling.mean.tolist() == [0, 0, 0]
    assert scaling.deviation.tolist() == [1, 1, 1]
    again.load_state_dict(model.state_dict())
    torch.testing.assert_close(again.eval()(collate(made)), model(collate(made)))
