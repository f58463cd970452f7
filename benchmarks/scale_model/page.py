"""The projection as a page."""

from collections.abc import Mapping, Sequence
from typing import Any


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    clips, batch = figures["assumed"]["clips_per_gpu"], figures["counted"]["batch"]
    return "\n".join(
        [
            f"# A projection: {figures['counted']['preset']} on 1 to 1,024 GPUs",
            "",
            "Computed from a model (`benchmarks/scale_model`), not measured: nothing here ran on more than one",
            "machine. Its inputs are below.",
            "",
            f"## Weak scaling: {clips} clips per GPU",
            "",
            *_points(figures["weak"]),
            *_breaks(figures["breaks"]["weak"]),
            f"## Strong scaling: a batch of {batch:,} clips",
            "",
            *_points(figures["strong"]),
            *_breaks(figures["breaks"]["strong"]),
            *_choices(figures["choices"]),
            *_inputs(figures),
        ]
    )


_COLUMNS = (
    *("GPUs", "nodes", "batch", "step, ms", "model", "loss", "gather", "gradients", "efficiency", "slowest"),
    *("fed, ms", "limit, ms", "clips/s per node", "S3, GB/s per node", "network, GB/s per node"),
    *("gather, MB per step", "gradients, MB per step", "gathered, GB"),
)


def _points(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        _listed(*_COLUMNS),
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(_point(row) for row in rows),
        "",
    ]


def _point(row: Mapping[str, Any]) -> str:
    parts = " | ".join(f"{1000 * row[f'{part}_s']:.1f}" for part in ("step", "compute", "loss", "gather", "gradients"))
    return (
        f"| {row['gpus']:,} | {row['nodes']:,} | {row['batch']:,} | {parts} | {row['efficiency']:.3f} "
        f"| {row['bottleneck']} | {1000 * row['fed_s']:.1f} | {1000 * row['limit_s']:.1f} "
        f"| {row['clips_per_node_s']:,.0f} | {row['s3_gb_s']:.2f} | {row['network_gb_s']:.2f} "
        f"| {row['gather_bytes'] / 1e6:,.0f} | {row['gradient_bytes'] / 1e6:,.0f} | {row['gathered_gb']:.2f} |"
    )


def _choices(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    over = "× limit"
    names = [f"{scaling}_{gpus}_{what}" for scaling in ("weak", "strong") for gpus in (8, 64) for what in _SHOWN]
    return [
        "## What precision and wire change",
        "",
        "Efficiency of a step that never waits for clips, and how many times its limit it takes. The rate of tf32 is",
        "inferred and those of bf16 and bf16x3 are assumed, so their rows say what would follow, not what was seen.",
        "",
        _listed("similarities", "wire", "weak, 8 GPUs", over, "weak, 64", over, "strong, 8", over, "strong, 64", over),
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(_listed(row["similarity"], row["wire"], *(f"{row[name]:.2f}" for name in names)) for row in rows),
        "",
    ]


def _listed(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


_SHOWN = ("fed", "over_limit")


def _breaks(found: Mapping[str, int | None]) -> list[str]:
    told = [f"{what} at {gpus:,} GPUs" if gpus else f"{what} nowhere" for what, gpus in found.items()]
    return [f"Where it breaks: {'; '.join(told)}.", ""]


_STEP = "one H100, 4,096 clips of capsule-howto"
_ORIGINS = {
    "model_us_per_clip": f"measured: {_STEP}",
    "float32_tflops": f"measured: {_STEP}",
    "tf32_tflops": f"**inferred** from a step that was 20 ms shorter: {_STEP}",
    "bf16_tflops": "**assumed**: half of an H100's peak; bf16x3 a third of this",
    "copy_gb_s": "**assumed**: a checkpoint's copy was timed on no GPU",
    "similarity": "chosen",
    "wire": "chosen",
}


def _origin(name: str) -> str:
    return _ORIGINS.get(name, "**assumed**")


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _inputs(figures: Mapping[str, Any]) -> list[str]:
    measured, counted = figures["measured"], figures["counted"]
    versions = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    source = measured["source"]
    rows = [
        ("clips/s of a reading core", f"{measured['clips_per_core_s']:,.0f}", "measured: feeding.json, sampling.json"),
        ("bytes of shards per clip", f"{measured['row_bytes']:,.0f}", "measured: results/feeding.json"),
        ("rows read per row", f"{measured['rows_read_per_row']:.2f}", "clips_of_a_video to those of a batch, 32"),
        ("GFLOP per clip, model", f"{counted['flops_per_clip'] / 1e9:.3f}", "counted: torch.utils.flop_counter"),
        ("FLOP per pair of clips, loss", f"{counted['loss_flops_per_pair']:,.0f}", "counted: the same"),
        ("bytes of a clip's embeddings", f"{counted['vector_bytes']:,}", "counted: the model's output"),
        ("bytes of its presence and keys", f"{counted['label_bytes']:,}", "counted: the gathered tensors"),
        ("MB of gradients", f"{counted['gradient_bytes'] / 1e6:,.1f}", "counted: trained parameters in float32"),
        ("MB of a checkpoint", f"{counted['checkpoint_bytes'] / 1e6:,.1f}", "counted: weights and Adam's moments"),
        *((name, _value(value), _origin(name)) for name, value in figures["assumed"].items()),
    ]
    return [
        "## Inputs",
        "",
        "| input | value | from |",
        "|---|---:|---|",
        *(f"| {name} | {value} | {origin} |" for name, value, origin in rows),
        "",
        "`fed`: a step that never waits for clips. `limit`: the longest of arithmetic, a GPU's link and a node's",
        "network, each alone.",
        "",
        "`gathered`: the whole batch's embeddings in a GPU's memory, four times over: gathered, their gradient, and",
        "both sides of three pairs of modalities. The similarities of a worker's rows come on top; `loss.block_rows`",
        "bounds them. Network: collectives, reading from S3, and batches made on other nodes. A node's cores are taken",
        f"to read as fast as those of the measurement: {source}.",
        "",
        f"{versions}; `{figures['command']}`.",
        "",
    ]
