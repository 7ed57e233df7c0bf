"""An estimate in words."""

from collections.abc import Iterator, Sequence

from cellformer.attention.dense.memory import free_memory
from cellformer.attention.operator import implementation
from cellformer.data.preparing.shards import SHARD_ROWS
from cellformer.model.plans.named import attention_plan
from cellformer.model.plans.reaching import reaching
from cellformer.training.config import RunConfig
from cellformer.training.estimating.estimate import Estimate
from cellformer.training.estimating.planned import Planned
from cellformer.training.estimating.rates import Rates
from cellformer.training.estimating.step_memory import BYTES_PER_PARAMETER, StepMemory


def told(found: Estimate, config: RunConfig) -> Iterator[str]:
    """The lines to show a user."""
    exact = found.sample == found.rows
    about = "" if exact else "about "
    basis = "all of them" if exact else f"{found.sample} of them, drawn at random"
    yield f"{config.data.source}: {found.rows} rows; counted on {basis}"
    yield f"lifting: {found.lifting}"
    for rank, (cells, error, most) in enumerate(
        zip(found.cells, found.uncertainty, found.largest, strict=True)
    ):
        kind = "exact" if exact else f"extrapolated, +- {error:.0f}"
        yield f"rank {rank}: {cells:.0f} cells ({kind}); at most {most} in a complex seen"
    yield f"disk: {about}{size_text(found.store_bytes)} for the prepared complexes"
    total = found.lift_seconds + found.encode_seconds
    processes = max(config.data.workers, 1)
    scaled = "; encodings timed on pieces of large complexes, at least" if found.in_pieces else ""
    yield (
        f"preparation: about {time_text(total / processes)} with {processes} "
        f"{'process' if processes == 1 else 'processes'} (lifting {time_text(found.lift_seconds)}, "
        f"{config.data.encodings} {time_text(found.encode_seconds)} of one process{scaled})"
    )
    needed = 0.0
    if found.step is not None:
        needed, words = _step(found, found.step, config)
        yield words
    yield from _warnings(found, config, needed)


def _step(found: Estimate, step: StepMemory, config: RunConfig) -> tuple[float, str]:
    """The bytes of a step of training, and the same in words."""
    batch = min(float(config.training.batch_size), max(found.complexes, 1.0))
    needed = step.bytes(batch * found.cells_per_complex)
    weights = size_text(float(BYTES_PER_PARAMETER * step.parameters))
    return needed, (
        f"training step: about {size_text(needed)} for {batch:.0f} complexes with "
        f"{config.attention}, {config.model.layers} layers of width {config.model.width}: "
        f"{weights} for {step.parameters} parameters with gradients and AdamW's moments, "
        f"{step.bytes_per_cell:.0f} bytes for each cell"
    )


def _warnings(found: Estimate, config: RunConfig, needed: float) -> Iterator[str]:
    over = [failure for failure in found.failures if failure.over_limit]
    for failure in over[:5]:
        yield f"warning: row {failure.row} is over the lifting's limits: {failure.reason}"
    if len(over) > 5:
        yield f"warning: {len(over) - 5} more of the rows seen are over the lifting's limits"
    if over and config.data.over_limit == "fail":
        yield (
            "warning: training would stop at the first of these rows; choose data.over_limit skip "
            "or truncate"
        )
    bad = [failure for failure in found.failures if not failure.over_limit]
    for failure in bad[:5]:
        yield f"warning: row {failure.row} has no complex: {failure.reason}"
    if len(bad) > 5:
        yield f"warning: {len(bad) - 5} more of the rows seen have no complex"
    free = free_memory()
    if needed > free:
        yield (
            f"warning: a step takes more than the {size_text(free)} of memory that are free here; "
            "choose a smaller batch_size, width or number of layers"
        )
    dense = _dense_bytes(found, config)
    if implementation("cpu") == "reference" and dense > free:
        yield (
            f"warning: dense attention within the largest complex seen takes {size_text(dense)} in "
            "each layer; use pairwise-sparse or general-sparse attention"
        )


def _dense_bytes(found: Estimate, config: RunConfig) -> float:
    """Of N and the scores of all heads, for the most pairs of any dense softmax."""
    dim = len(found.largest) - 1
    most = found.largest.astype(float)
    pairs = [
        most[list(each.receivers)].sum() * most[list(each.senders)].sum()
        for each in reaching(
            attention_plan(config.attention, max_rank=dim), config.model
        ).relations(dim)
        if each.dense
    ]
    return 4.0 * (1 + config.model.heads) * max(pairs, default=0.0)


def told_of_rates(rates: Rates, config: RunConfig) -> Iterator[str]:
    """What was measured."""
    making, training = rates.preparation.make_seconds, rates.training
    yield (
        f"{rates.source}: {rates.rows} rows, {rates.looked} of them prepared to measure: "
        f"{SHARD_ROWS / making.mean():.0f} a second in one process, "
        f"{size_text(rates.preparation.stored_bytes)} each on disk"
    )
    batch = config.training.batch_size
    cells = batch * float(training.cells.mean())
    seconds = training.fixed_seconds + training.cell_seconds * cells
    yield (
        f"a step of {batch} complexes with {config.attention}, {config.model.layers} layers of "
        f"width {config.model.width}, {training.parameters:,} parameters: {time_text(seconds)}, "
        f"{size_text(training.step_bytes(cells))} in one process"
    )


def told_of_plans(plans: Sequence[Planned]) -> Iterator[str]:
    """A paragraph for each."""
    for plan in plans:
        made, epoch, machines = plan.preparation, plan.epoch, plan.machines
        nodes = f"{machines.nodes} machines of " if machines.nodes > 1 else ""
        several = "process" if machines.processes == 1 else "processes"
        yield f"{plan.rows:,} rows, {nodes}{machines.processes} {several}:"
        yield (
            f"  preparation {time_text(made.seconds)}: reading {time_text(made.open)}, shards "
            f"{time_text(made.make)} ({made.bound} busy for {made.busy:.0%} of it), appending them "
            f"{time_text(made.append)} of it; {size_text(made.disk_bytes)} of disk"
            + (f", {size_text(made.sent_bytes)} sent" if machines.nodes > 1 else "")
        )
        yield f"  checking the store, as it is first read: {time_text(epoch.open)}"
        yield (
            f"  epoch {time_text(epoch.seconds)}: {epoch.steps:,} steps, {epoch.part:.0%} of it "
            f"{epoch.bound}; {size_text(epoch.step_bytes)} for a step of each process"
        )


def size_text(count: float) -> str:
    """Bytes, with a unit that suits them."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.4g} TB"


def time_text(seconds: float) -> str:
    """Seconds, minutes, hours or days."""
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:,.1f} days"
