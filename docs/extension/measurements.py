"""Tables of the figures in results/benchmarks."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "results" / "benchmarks"


def timings(name: str) -> str:
    """Every case of a file beside its peer."""
    rows = ["| case | peer | ours | peer's | ratio |", "|---|---|---|---|---|"]
    for row in _read(name)["rows"]:
        ours, peer = _seconds(row["ours_s"]), _seconds(row["peer_s"])
        rows.append(f"| {row['case']} | {row['peer']} | {ours} | {peer} | {row['ratio']:.2f} |")
    return "\n".join(rows)


def memory() -> str:
    """Peak memory and durations by the number of cells."""
    rows = [
        "| complex | build | encode | forward + backward | peak | per cell | peer's peak |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in _read("memory")["rows"]:
        own = row["ours"]
        durations = " | ".join(_seconds(own[key]) for key in ("build_s", "encode_s", "step_s"))
        peer = f"{row['bytes_ratio']:.1f} times" if row.get("bytes_ratio") else "not measured"
        rows.append(
            f"| {row['case']} | {durations} | {own['peak_bytes'] / 1e6:,.0f} MB "
            f"| {row['bytes_per_cell'] / 1e3:.1f} kB | {peer} |"
        )
    return "\n".join(rows)


def patches() -> str:
    """A complex in patches: seconds of the processor, and memory."""
    rows = [
        "| complex | patches | with halo | prepare | epoch | predict | peak | on disk | off by |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in _read("patches")["rows"]:
        durations = " | ".join(_seconds(row[key]) for key in ("gather_s", "epoch_s", "predict_s"))
        off = "not compared" if row["off"] is None else f"{row['off']:.0e}"
        rows.append(
            f"| {row['case']} | {row['patches']:,} | {row['with_halo'] / row['cells']:.2f} times "
            f"| {durations} | {row['peak_bytes'] / 1e6:,.0f} MB "
            f"| {row['store_bytes'] / 1e6:,.0f} MB | {off} |"
        )
    return "\n".join(rows)


def large() -> str:
    """Sets of many molecules: seconds of the processor, disk and memory of each step."""
    rows = [
        "| step | processor | a second | each on disk | memory | of a worker | with mapped files |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in _read("large")["rows"]:
        memory = " | ".join(
            f"{row[key] / 1e6:,.0f} MB" if row[key] else "-"
            for key in ("main_bytes", "worker_bytes", "with_files_bytes")
        )
        disk = f"{row['disk_bytes'] / row['molecules'] / 1e3:.1f} kB"
        rows.append(
            f"| {row['case']} | {_seconds(row['processor_s'])} | {row['rate']:,.0f} | {disk} "
            f"| {memory} |"
        )
    return "\n".join(rows)


def against() -> str:
    """An earlier version beside the one that was measured: its figures over this one's."""
    rows = ["| case | before | now | ratio | of the best |", "|---|---|---|---|---|"]
    for row in _read("against")["rows"]:
        unit = _megabytes if row["case"].endswith("bytes") else _seconds
        rows.append(
            f"| {row['case']} | {unit(row['before'])} | {unit(row['now'])} | {row['ratio']:.3f} "
            f"| {row['best_ratio']:.3f} |"
        )
    return "\n".join(rows)


def machine(name: str) -> str:
    """Where and with what a file was measured, as a sentence."""
    found = _read(name)
    of, versions = found["machine"], found["versions"]
    told = ", ".join(f"{package} {version}" for package, version in versions.items())
    runs = sorted({row["runs"] for row in found["rows"]})
    return (
        f"Measured on {of['cores']} cores of an {of['processor']} with {of['torch_threads']} "
        f"threads of torch, medians of {' or '.join(map(str, runs))} "
        f"run{'s' if runs != [1] else ''}; {told}."
    )


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:,.0f} MB"
