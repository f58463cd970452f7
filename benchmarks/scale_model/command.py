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
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, assert_never, get_args

from benchmarks.machine import versions
from benchmarks.report.pages import page_folder, write_page
from benchmarks.scale_model.inputs import Feeding, StepCost, feeding, sampled, step_cost
from benchmarks.scale_model.page import markdown
from pipelines.arguments import parse
from vtr_core.config.losses import SimilarityPrecision
from vtr_core.config.training import Wire
from vtr_core.run.presets import preset

RESULTS = Path(__file__).parent.parent / "results"
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


@dataclass(frozen=True)
class Flags:
    """What to project."""

    preset: str = "capsule-howto"
    """The configuration whose step is counted."""
    clips_per_gpu: int = 512
    """Clips of each GPU in weak scaling."""
    similarity: SimilarityPrecision = "float32"
    """Precision of the similarities' products: loss.similarity_precision."""
    wire: Wire = "as_computed"
    """What embeddings and gradients are sent in: scaling.wire."""
    checkpoint_every: int = 1000
    """Steps between two checkpoints."""
    clips_of_a_video: float = 113.0
    """Clips that a video of the data has: 113 of HowTo100M cut as published, half as many of disjoint ones."""
    feeding: str = str(RESULTS / "feeding.json")
    """What benchmarks/feeding wrote."""
    sampling: str = str(RESULTS / "sampling.json")
    """What benchmarks/sampling wrote."""
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


def main(argv: Sequence[str]) -> None:
    """Project, print and write."""
    flags = parse(Flags, argv, "python -m benchmarks.scale_model")
    out = page_folder(flags.out)
    fed = feeding(_written(flags.feeding, "feeding"))
    measured = sampled(fed, _written(flags.sampling, "sampling"), flags.clips_of_a_video)
    cost = step_cost(preset(flags.preset))
    figures = projection(flags, measured, cost) | {
        "choices": choices(flags, measured, cost),
        "versions": versions("torch"),
        "command": " ".join(["python -m benchmarks.scale_model", *argv]),
    }
    page = markdown(figures)
    write_page(out, "scale_model", figures, page)
    print(page)


def _written(file: str, benchmark: str) -> dict[str, Any]:
    if not Path(file).exists():
        raise SystemExit(f"{file} is not there; run python -m benchmarks.{benchmark}, or give --{benchmark} FILE")
    found: dict[str, Any] = json.loads(Path(file).read_text())
    return found


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
        "weak": [_row(found, weak[0]) for found in weak],
        "strong": [_row(found, strong[0]) for found in strong],
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
    others, far = (gpus - 1) / gpus, (nodes - 1) / nodes
    link_s, network_s = others / (1e9 * hardware.link_gb_s), far / (1e9 * hardware.network_gb_s)
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
            found, single = points[gpus], points[1]
            fed = found.batch / gpus / found.fed_s / (single.batch / single.fed_s)
            row |= {f"{name}_{gpus}_fed": fed, f"{name}_{gpus}_over_limit": found.fed_s / found.limit_s}
    return row


def efficiency(found: Point, single: Point) -> float:
    """Clips per second and GPU, to those of one GPU."""
    return found.batch / found.gpus / found.step_s / (single.batch / single.step_s)


def breaks(points: Sequence[Point], hardware: Hardware) -> dict[str, int | None]:
    """The fewest GPUs at which each limit is passed; None where none of them does."""
    limits = {
        "efficiency below 0.8": lambda found: efficiency(found, points[0]) < 0.8,
        "efficiency below 0.5": lambda found: efficiency(found, points[0]) < 0.5,
        "the loss takes longer than the model": lambda found: found.loss_s > found.compute_s,
        "feeding makes the step wait": lambda found: max(found.cores_s, found.s3_s) > sum(found.parts.values()),
        "the batch's embeddings exceed a GPU's memory": lambda found: found.gathered_gb > hardware.gpu_gb,
    }
    return {name: next((found.gpus for found in points if passed(found)), None) for name, passed in limits.items()}


def _row(found: Point, single: Point) -> dict[str, Any]:
    seconds, giga = found.step_s, 1e-9
    traffic = found.gather_bytes + found.gradient_bytes + found.feeding_bytes
    return {
        **asdict(found),
        "step_s": seconds,
        "fed_s": found.fed_s,
        "limit_s": found.limit_s,
        "clips_per_node_s": found.clips_per_node_s,
        "s3_gb_s": found.s3_bytes / seconds * giga,
        "network_gb_s": traffic / seconds * giga,
        "efficiency": efficiency(found, single),
        "bottleneck": found.bottleneck,
    }
