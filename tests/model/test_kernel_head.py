from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel

from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.model.config import ArchitectureConfig, DataShape, DescriptorShape, ModelConfig
from cellformer.model.described import DescribedTransformer
from cellformer.model.descriptors.kernel_regression import regression
from cellformer.model.descriptors.kernels import KernelWeights, shared_counts
from cellformer.model.plans.general import general_sparse
from cellformer.training.runs.weights import load_weights, save_weights

COUNTS = np.array([[0, 9, 255], [1, 0, 0], [7, 2, 0]], np.uint8)
VALUES = np.array([[1.0, 0.0], [3.0, np.nan], [500.0, 1.0]], np.float32)
WEIGHTS = KernelWeights(torch.tensor([0.75, 0.25]), torch.tensor([2.0, 0.5]))
COEFFICIENTS = torch.tensor([[0.5], [-1.0], [2.0]])


@pytest.fixture
def ragged():
    graphs = [Graph.from_smiles(text) for text in ("CCO", "c1ccccc1N", "C")]
    made = RaggedComplexes.from_complexes([InducedCycles()(graph) for graph in graphs])
    return replace(made, descriptors=Descriptors(COUNTS, VALUES))


def model_for(ragged, outputs=1):
    torch.manual_seed(0)
    shape = replace(
        DataShape.of(ragged, outputs), descriptors=DescriptorShape.of(ragged.descriptors)
    )
    architecture = ArchitectureConfig(width=8, layers=1, heads=2)
    return DescribedTransformer(ModelConfig(architecture, shape), general_sparse()).eval()


def given_by(ragged):
    return torch.from_numpy(ragged.descriptors.joined())


def test_a_head_without_references_takes_no_part(ragged):
    model, batch = model_for(ragged), CellBatch.from_ragged(ragged)
    assert not model.counts.answers
    assert len(model.opinions(batch)) == 1
    torch.testing.assert_close(model(batch), model.opinions(batch)[0])
    with pytest.raises(ValueError, match="no references"):
        model.counts(batch)


def test_what_is_predicted_is_a_sum_over_the_references(ragged):
    model, batch = model_for(ragged), CellBatch.from_ragged(ragged)
    head, given = model.counts, given_by(ragged)
    head.take(given[1:], COEFFICIENTS[1:], torch.tensor([3.0]), WEIGHTS, slope=2.0)
    known = head.known(given)
    assert known.abs().max() <= 5
    shared = shared_counts(*map(torch.from_numpy, (COUNTS, COUNTS[1:])))
    expected = 2 * WEIGHTS.alike(shared, known, known[1:]) @ COEFFICIENTS[1:] + 3
    torch.testing.assert_close(head(batch), expected)
    from_cells, from_counts = model.opinions(batch)
    torch.testing.assert_close(from_counts, expected)
    head.share.fill_(0.25)
    torch.testing.assert_close(model(batch), 0.75 * from_cells + 0.25 * expected)


def test_the_cells_alone_are_trained(ragged):
    model, batch = model_for(ragged), CellBatch.from_ragged(ragged)
    before = model(batch)
    model.counts.take(given_by(ragged), COEFFICIENTS, torch.zeros(1), WEIGHTS)
    assert not torch.allclose(model(batch), before)
    model.train()
    model.transformer.eval()
    torch.testing.assert_close(model(batch), before)


def test_references_are_kept_with_the_weights(ragged, tmp_path):
    model, other = model_for(ragged), model_for(ragged)
    batch = CellBatch.from_ragged(ragged)
    model.counts.take(given_by(ragged), COEFFICIENTS, torch.zeros(1), WEIGHTS)
    np.testing.assert_array_equal(model.counts.reference_counts(), COUNTS)
    save_weights(tmp_path / "fitted.safetensors", model)
    save_weights(tmp_path / "fresh.safetensors", other)
    load_weights(tmp_path / "fitted.safetensors", other)
    torch.testing.assert_close(other(batch), model(batch), rtol=0, atol=0)
    load_weights(tmp_path / "fresh.safetensors", other)
    assert not other.counts.fitted


def test_other_precisions_predict_alike(ragged):
    model, batch = model_for(ragged), CellBatch.from_ragged(ragged)
    head = model.counts
    head.take(given_by(ragged), 1000 * COEFFICIENTS, torch.zeros(1), WEIGHTS)
    expected = head(batch)
    torch.testing.assert_close(head.double()(batch), expected.double(), rtol=1e-5, atol=1e-4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(head.float()(batch), expected)


def test_large_coefficients_of_both_signs_leave_six_digits(ragged):
    many = 300
    rng = np.random.default_rng(0)
    given = np.concatenate([COUNTS, VALUES.clip(0, 5)], 1)[[0, 2]].repeat(many, 0)
    given[:, 3:] = VALUES[0] + rng.normal(scale=0.01, size=(2 * many, 2))
    coefficients = 1000 * rng.normal(size=(2 * many, 1))
    model, batch = model_for(ragged), CellBatch.from_ragged(ragged)
    head = model.counts
    head.shape = replace(head.shape, mean=(0.0, 0.0), deviation=(0.25, 1.0))
    head.take(torch.from_numpy(given).float(), torch.from_numpy(coefficients), torch.zeros(1),
              WEIGHTS)  # fmt: skip
    known = [head.known(torch.from_numpy(rows).float()).double().numpy() * WEIGHTS.scales.numpy()
             for rows in (given_by(ragged).numpy(), given)]  # fmt: skip
    far = np.sqrt(3) * np.linalg.norm(known[0][:, None] - known[1], axis=2)
    shared = shared_counts(torch.from_numpy(COUNTS), head.reference_counts()).double().numpy()[0]
    alike = 0.75 * shared + 0.25 * (1 + far) * np.exp(-far)
    expected = alike @ head.coefficients.double().numpy()
    np.testing.assert_allclose(head(batch).numpy(), expected, rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("targets", [1, 2])
def test_deviations_are_those_of_a_gaussian_process_of_scikit_learn(ragged, targets):
    known = [np.arange(3), np.array([0, 2])][:targets]  # of the second target one is unknown
    model, batch = model_for(ragged, outputs=3 * targets), CellBatch.from_ragged(ragged)
    head, given = model.counts, given_by(ragged)
    values = head.known(given)
    shared = shared_counts(*map(torch.from_numpy, (COUNTS, COUNTS)))
    kernel = WEIGHTS.alike(shared, values, values).double()
    learned = torch.full((3, targets), torch.nan, dtype=torch.float64)
    for column, rows in enumerate(known):
        learned[rows, column] = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64)[rows]
    fitted = regression(kernel, learned, 0.3)
    head.take(
        given, fitted.coefficients, fitted.offset, WEIGHTS, ridge=0.3, amplitudes=fitted.amplitudes
    )
    told = head(batch)
    assert told.shape == (3, 3 * targets)
    torch.testing.assert_close(told[:, targets : 2 * targets], told[:, 2 * targets :])
    for column, rows in enumerate(known):
        amplitude = float(fitted.amplitudes[column])
        about = learned[rows, column] - learned[rows, column].mean()
        inner = kernel[rows][:, rows].numpy()
        likeliest = about @ np.linalg.solve(inner + 0.3 * np.eye(len(rows)), about) / len(rows)
        assert amplitude == pytest.approx(float(likeliest))
        process = GaussianProcessRegressor(_Precomputed(amplitude * kernel.numpy(), rows),
                                           alpha=0.3 * amplitude, optimizer=None)  # fmt: skip
        process.fit(rows[:, None], about)
        _, deviation = process.predict(np.arange(3)[:, None], return_std=True)
        expected = np.sqrt(deviation**2 + 0.3 * amplitude)  # noise of the new value too
        np.testing.assert_allclose(told[:, targets + column].exp(), expected, rtol=1e-4)


class _Precomputed(Kernel):
    """A kernel whose rows are numbered."""

    def __init__(self, matrix, rows):
        self.matrix, self.rows = matrix, rows

    def __call__(self, X, Y=None, eval_gradient=False):
        one = X[:, 0].astype(int)
        return self.matrix[one][:, one if Y is None else Y[:, 0].astype(int)].copy()

    def diag(self, X):
        return self.matrix.diagonal()[X[:, 0].astype(int)].copy()

    def is_stationary(self):
        return False


def test_weights_of_before_have_no_amplitudes(ragged):
    model, other = model_for(ragged), model_for(ragged)
    model.counts.take(given_by(ragged), COEFFICIENTS, torch.tensor([3.0]), WEIGHTS)
    state = model.state_dict()
    for name in ("counts.ridge", "counts.amplitudes"):
        del state[name]
    other.load_state_dict(state)
    batch = CellBatch.from_ragged(ragged)
    assert torch.equal(model(batch), other(batch))
