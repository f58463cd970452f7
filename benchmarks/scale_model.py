"""What to expect of 1 to 1,024 GPUs: a projection from measured rates and stated assumptions.

    python -m benchmarks.scale_model [--gpus-per-node 8] [--bf16-tflops 300] …

Nothing here was measured at scale. Inputs: feeding rates (results/feeding.json, measured), what they lose
where a batch takes few clips of each video (results/sampling.json, measured), the products and bytes of a step (counted
on the preset's model), its time on one H100 (measured, see `Hardware`), and the rest of the hardware (the flags,
assumptions). With W GPUs on N nodes, c clips per GPU, B = c·W:

    compute     c · the model's time per clip: forward and backward pass, Adam
    loss        c · B · FLOPs per pair / rate of the similarities' precision: every worker computes the terms of its own
                rows and columns, one alone has both from one product
    gather      all-gather of B embeddings, backwards a reduce-scatter of as many gradients: each time (N−1)/N of the
                bytes through a node's network, (W−1)/W through a GPU's link to the others
    gradients   all-reduce of the model's, of which a share is hidden behind the backward pass
    latency     every collective takes log2(W) times the latency
    feeding     c clips of every GPU of a node, by reading cores, from S3; overlaps with all of the above
    checkpoint  copied to memory by one worker while all wait, written while they go on

A step takes as long as the sum of what does not overlap, or as feeding or the network's whole traffic where that takes
longer. Its limit is what arithmetic (model and loss), a GPU's link and a node's network each take alone, whichever is
longest: what a step would take if everything else were hidden behind that. The loss's softmax is left out.
"""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, assert_never, get_args

from benchmarks.report.pages import RESULTS, Benchmark, numbered
from benchmarks.training_step import Feeding, StepCost, feeding, sampled, step_cost
from vtr_core.config.run import Wire
from vtr_core.run.presets import preset

GPUS = tuple(2**power for power in range(11))
COLLECTIVES = 8
"""Of a step beside DDP's: embeddings, presence, keys, shares of the loss; backwards shares and embeddings; two
agreements of all workers."""
BUCKET_BYTES = 25 * 2**20
"""DDP's default: an all-reduce for so many bytes of gradients."""
LOSS_COPIES = 4
"""Times a batch's embeddings are held by each worker: gathered, their gradient, and both sides of three pairs."""


@dataclass(frozen=True)
class Hardware:
    """The step of one GPU, measured on an H100 or inferred from what was; the rest are assumptions."""

    gpus_per_node: int = 8
    """GPUs of a node."""
    model_us_per_clip: float = 25.9
    """Microseconds of a GPU per clip, forward and backward pass and Adam. Measured: 131 ms for 4,096 clips of
    capsule-howto in bf16 on one H100, less the 19 % of similarities in float32; compiled, with TF32, it was 17.8."""
    float32_tflops: float = 50.0
    """TFLOP/s of similarities in float32. Measured there: 1.24 TFLOP in 24.9 ms."""
    tf32_tflops: float = 250.0
    """TFLOP/s of similarities in TF32. Inferred, not measured by itself: with TF32 the whole step was 20 ms shorter,
    which leaves 5 of the 24.9 ms; one millisecond less or more there is 310 or 210."""
    bf16_tflops: float = 500.0
    """TFLOP/s of similarities in bf16; an assumption, half of the card's peak. bf16x3 is assumed to have a third."""
    gpu_gb: float = 80.0
    """Memory of a GPU."""
    link_gb_s: float = 200.0
    """GB/s of a GPU to the others of its node, each way."""
    network_gb_s: float = 50.0
    """GB/s of a node's network, each way."""
    latency_us: float = 20.0
    """Microseconds of a collective of two workers."""
    gradient_overlap: float = 0.5
    """The share of the gradients' all-reduce that the backward pass hides."""
    s3_gb_s: float = 5.0
    """GB/s that a node reads from S3."""
    copy_gb_s: float = 5.0
    """GB/s at which one worker copies a checkpoint to its machine's memory; an assumption, tried on no GPU."""
    reading_cores: int = 32
    """Cores of a node that read; each at the rate measured here."""


SimilarityPrecision = Literal["float32", "tf32", "bf16x3", "bf16"]


@dataclass(frozen=True)
class Flags:
    """What to project."""

    preset: str = "capsule-howto"
    """The configuration whose step is counted."""
    clips_per_gpu: int = 512
    """Clips of each GPU in weak scaling."""
    similarity: SimilarityPrecision = "float32"
    """Precision of the similarities' products; losses compute them in float32, or by torch's own settings."""
    wire: Wire = "as_computed"
    """What embeddings and gradients are sent in: scaling.wire."""
    checkpoint_every: int = 1000
    """Steps between two checkpoints."""
    clips_of_a_video: float = 113.0
    """Clips that a video of the data has: 113 of HowTo100M cut as published, half as many of disjoint ones."""
    feeding: str = str(RESULTS / "feeding.json")
    """What benchmarks/feeding wrote."""
    sampling: str = str(RESULTS / "sampling.json")
    """What a delivered clip costs by how many clips its video has."""
    out: str = str(RESULTS)
    """Folder for scale_model.json and scale_model.md."""
    hardware: Hardware = field(default_factory=Hardware)


@dataclass(frozen=True)
class Point:
    """One step with some number of GPUs; seconds, bytes of a node's network each way, GB/s of a node."""

    gpus: int
    nodes: int
    batch: int
    compute_s: float
    loss_s: float
    gather_s: float
    gradients_s: float
    """Not hidden behind the backward pass."""
    latency_s: float
    checkpoint_s: float
    """Per step."""
    cores_s: float
    """Of the node's reading cores for its clips."""
    s3_s: float
    network_s: float
    """Of all traffic through a node's network, at its full rate."""
    link_s: float
    """Of all traffic through a GPU's link, at its full rate."""
    gather_bytes: float
    gradient_bytes: float
    feeding_bytes: float
    """From S3, and batches made on other nodes."""
    s3_bytes: float
    gathered_gb: float
    """Memory of a GPU for the whole batch's embeddings in the loss."""

    @property
    def parts(self) -> dict[str, float]:
        """What adds up."""
        return {
            "compute": self.compute_s,
            "loss": self.loss_s,
            "gather": self.gather_s,
            "gradients": self.gradients_s,
            "latency": self.latency_s,
            "checkpoints": self.checkpoint_s,
        }

    @property
    def overlapped(self) -> dict[str, float]:
        """What goes on beside it."""
        return {"reading cores": self.cores_s, "S3": self.s3_s, "network": self.network_s}

    @property
    def step_s(self) -> float:
        """Seconds of a step."""
        return max(sum(self.parts.values()), *self.overlapped.values())

    @property
    def fed_s(self) -> float:
        """Seconds of a step that never waits for clips."""
        return max(sum(self.parts.values()), self.network_s)

    @property
    def limit_s(self) -> float:
        """What arithmetic and wires set, each alone."""
        return max(self.compute_s + self.loss_s, self.link_s, self.network_s)

    @property
    def bottleneck(self) -> str:
        """What takes longest: something beside the step where it makes the step wait, else the step's largest part."""
        slowest = max(self.overlapped, key=self.overlapped.__getitem__)
        if self.overlapped[slowest] >= sum(self.parts.values()):
            return slowest
        return max(self.parts, key=self.parts.__getitem__)

    @property
    def clips_per_node_s(self) -> float:
        """Clips that a node needs per second."""
        return self.batch / self.nodes / self.step_s


def measure(flags: Flags) -> dict[str, Any]:
    """The projection, and what other precisions and wires would change."""
    fed = feeding(_written(flags.feeding, "feeding"))
    measured = sampled(fed, _written(flags.sampling, "sampling"), flags.clips_of_a_video)
    cost = step_cost(preset(flags.preset))
    return {**projection(flags, measured, cost), "choices": choices(flags, measured, cost)}


def _written(file: str, flag: str) -> dict[str, Any]:
    if not Path(file).exists():
        raise SystemExit(f"{file} is not there; give --{flag} FILE, such as benchmarks/results/{flag}.json")
    figures: dict[str, Any] = json.loads(Path(file).read_text())
    return figures


def projection(flags: Flags, measured: Feeding, cost: StepCost) -> dict[str, Any]:
    """Weak scaling (the same clips per GPU) and strong scaling (the preset's batch), with all inputs."""
    weak = [point(gpus, gpus * flags.clips_per_gpu, flags, measured, cost) for gpus in GPUS]
    strong = [point(gpus, cost.batch, flags, measured, cost) for gpus in GPUS if gpus <= cost.batch]
    return {
        "measured": asdict(measured),
        "counted": asdict(cost),
        "assumed": {
            **asdict(flags.hardware),
            "similarity": flags.similarity,
            "wire": flags.wire,
            "clips_per_gpu": flags.clips_per_gpu,
            "clips_of_a_video": flags.clips_of_a_video,
            "checkpoint_every": flags.checkpoint_every,
        },
        "weak": [_row(step, weak[0]) for step in weak],
        "strong": [_row(step, strong[0]) for step in strong],
        "breaks": {"weak": breaks(weak, flags.hardware), "strong": breaks(strong, flags.hardware)},
    }


def point(gpus: int, batch: int, flags: Flags, measured: Feeding, cost: StepCost) -> Point:
    """One step of `batch` clips on `gpus` GPUs."""
    hardware = flags.hardware
    nodes = math.ceil(gpus / hardware.gpus_per_node)
    of_node, own = batch / nodes, batch / gpus
    vectors = batch * cost.vector_bytes
    sent = 0.5 if flags.wire == "bf16" else 1.0
    gathered = 2 * sent * vectors + batch * cost.label_bytes  # there and back
    remote, far = (gpus - 1) / gpus, (nodes - 1) / nodes
    link_s, network_s = remote / (1e9 * hardware.link_gb_s), far / (1e9 * hardware.network_gb_s)
    per_byte_s = max(link_s, network_s)
    read = of_node * measured.row_bytes * measured.rows_read_per_row
    feeding_bytes = read + far * of_node * measured.row_bytes
    gradients = 2 * sent * cost.gradient_bytes  # an all-reduce sends twice
    products = own * batch * cost.loss_flops_per_pair * (0.5 if gpus == 1 else 1.0)
    collectives = COLLECTIVES + math.ceil(cost.gradient_bytes / BUCKET_BYTES)
    return Point(
        gpus=gpus,
        nodes=nodes,
        batch=batch,
        compute_s=own * 1e-6 * hardware.model_us_per_clip,
        loss_s=products / (1e12 * _rate(flags.similarity, hardware)),
        gather_s=gathered * per_byte_s,
        gradients_s=(1 - hardware.gradient_overlap) * gradients * per_byte_s,
        latency_s=collectives * math.log2(gpus) * hardware.latency_us * 1e-6,
        checkpoint_s=cost.checkpoint_bytes / (1e9 * hardware.copy_gb_s) / flags.checkpoint_every,
        cores_s=of_node / (hardware.reading_cores * measured.clips_per_core_s),
        s3_s=read / (1e9 * hardware.s3_gb_s),
        network_s=(far * (gathered + gradients) + feeding_bytes) / (1e9 * hardware.network_gb_s),
        link_s=(gathered + gradients) * link_s,
        gather_bytes=far * gathered,
        gradient_bytes=far * gradients,
        feeding_bytes=feeding_bytes,
        s3_bytes=read,
        gathered_gb=LOSS_COPIES * vectors / 1e9,
    )


def _rate(precision: SimilarityPrecision, hardware: Hardware) -> float:
    """TFLOP/s of a product."""
    match precision:
        case "float32":
            return hardware.float32_tflops
        case "tf32":
            return hardware.tf32_tflops
        case "bf16x3":
            return hardware.bf16_tflops / 3
        case "bf16":
            return hardware.bf16_tflops
        case _:
            assert_never(precision)


def choices(flags: Flags, measured: Feeding, cost: StepCost) -> list[dict[str, Any]]:
    """What 8 and 64 GPUs reach with each precision and each wire, against one GPU with the same."""
    return [
        _choice(replace(flags, similarity=similarity, wire=wire), measured, cost)
        for similarity in get_args(SimilarityPrecision)
        for wire in get_args(Wire)
    ]


def _choice(flags: Flags, measured: Feeding, cost: StepCost) -> dict[str, Any]:
    row: dict[str, Any] = {"similarity": flags.similarity, "wire": flags.wire}
    for name, batch in (("weak", None), ("strong", cost.batch)):
        points = {gpus: point(gpus, batch or gpus * flags.clips_per_gpu, flags, measured, cost) for gpus in (1, 8, 64)}
        for gpus in (8, 64):
            step, single = points[gpus], points[1]
            fed = step.batch / gpus / step.fed_s / (single.batch / single.fed_s)
            row |= {f"{name}_{gpus}_fed": fed, f"{name}_{gpus}_over_limit": step.fed_s / step.limit_s}
    return row


def efficiency(step: Point, single: Point) -> float:
    """Clips per second and GPU, to those of one GPU."""
    return step.batch / step.gpus / step.step_s / (single.batch / single.step_s)


def breaks(points: Sequence[Point], hardware: Hardware) -> dict[str, int | None]:
    """The fewest GPUs at which each limit is passed; None where none of them does."""
    limits = {
        "efficiency below 0.8": lambda step: efficiency(step, points[0]) < 0.8,
        "efficiency below 0.5": lambda step: efficiency(step, points[0]) < 0.5,
        "the loss takes longer than the model": lambda step: step.loss_s > step.compute_s,
        "feeding makes the step wait": lambda step: max(step.cores_s, step.s3_s) > sum(step.parts.values()),
        "the batch's embeddings exceed a GPU's memory": lambda step: step.gathered_gb > hardware.gpu_gb,
    }
    return {name: next((step.gpus for step in points if passed(step)), None) for name, passed in limits.items()}


def _row(step: Point, single: Point) -> dict[str, Any]:
    seconds, giga = step.step_s, 1e-9
    traffic = step.gather_bytes + step.gradient_bytes + step.feeding_bytes
    return {
        **asdict(step),
        "step_s": seconds,
        "fed_s": step.fed_s,
        "limit_s": step.limit_s,
        "clips_per_node_s": step.clips_per_node_s,
        "s3_gb_s": step.s3_bytes / seconds * giga,
        "network_gb_s": traffic / seconds * giga,
        "efficiency": efficiency(step, single),
        "bottleneck": step.bottleneck,
    }


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
    names = [f"{scaling}_{gpus}_{part}" for scaling in ("weak", "strong") for gpus in (8, 64) for part in _SHOWN]
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


def _breaks(breaks: Mapping[str, int | None]) -> list[str]:
    limits = [f"{limit} at {gpus:,} GPUs" if gpus else f"{limit} nowhere" for limit, gpus in breaks.items()]
    return [f"Where it breaks: {'; '.join(limits)}.", ""]


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
        f"{numbered(figures['versions'])}; `{figures['command']}`.",
        "",
    ]


BENCHMARK = Benchmark("benchmarks.scale_model", Flags, measure, markdown)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
