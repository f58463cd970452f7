"""The projection against numbers worked out by hand, and against what must hold whatever the inputs are."""

import math

import pytest
import torch

from benchmarks.scale_model import Flags, Hardware, point
from benchmarks.training_step import Feeding, StepCost, random_clips, step_cost
from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.config.override import ModelInputs
from vtr_core.embedding import collectives as gather
from vtr_core.run.config import TrainConfig
from vtr_core.systems.capsules.config import FullyConnectedConfig

MEASURED = Feeding(clips_per_core_s=10_000, row_bytes=10_000, rows_read_per_row=1.25, source="a command")
COST = StepCost(
    preset="a preset",
    batch=4096,
    flops_per_clip=3e9,
    loss_flops_per_pair=150_000,
    gradient_bytes=800_000_000,
    checkpoint_bytes=2_400_000_000,
    vector_bytes=50_000,
    label_bytes=27,
)
HARDWARE = Hardware(
    gpus_per_node=8,
    model_us_per_clip=30.0,
    float32_tflops=10,
    tf32_tflops=40,
    bf16_tflops=60,
    link_gb_s=200,
    network_gb_s=50,
    latency_us=10,
    gradient_overlap=0.5,
    s3_gb_s=5,
    copy_gb_s=0.8,
    reading_cores=16,
)
FLAGS = Flags(clips_per_gpu=512, checkpoint_every=1000, hardware=HARDWARE)


def test_sixteen_gpus_by_hand():
    found = point(16, 8192, FLAGS, MEASURED, COST)
    assert found.nodes == 2
    assert found.compute_s == pytest.approx(512 * 30e-6)  # 15.36 ms
    assert found.loss_s == pytest.approx(512 * 8192 * 150_000 / 10e12)  # 62.9 ms
    # half of what is sent leaves the node: embeddings once forwards and once backwards
    assert found.gather_bytes == pytest.approx(0.5 * 8192 * (2 * 50_000 + 27))  # 410 MB
    assert found.gather_s == pytest.approx(found.gather_bytes / 50e9)
    assert found.gradient_bytes == pytest.approx(800e6)
    assert found.gradients_s == pytest.approx(0.5 * 800e6 / 50e9)  # 8 ms
    assert found.latency_s == pytest.approx((8 + math.ceil(800e6 / 26_214_400)) * 4 * 10e-6)  # 39 collectives, 1.56 ms
    assert found.checkpoint_s == pytest.approx(2.4 / 0.8 / 1000)  # 3 ms
    assert found.cores_s == pytest.approx(4096 / 160_000)  # 25.6 ms
    assert found.s3_bytes == pytest.approx(4096 * 12_500)
    assert found.feeding_bytes == pytest.approx(4096 * 12_500 + 0.5 * 4096 * 10_000)
    assert found.step_s == pytest.approx(sum(found.parts.values()))
    assert found.bottleneck == "loss"
    assert found.link_s == pytest.approx(15 / 16 * (8192 * 100_027 + 1.6e9) / 200e9)  # 11.3 ms
    assert found.limit_s == pytest.approx(found.compute_s + found.loss_s)  # 78 ms; the network takes 25 ms
    assert found.gathered_gb == pytest.approx(4 * 8192 * 50_000 / 1e9)


def _small(dim: int = 8) -> TrainConfig:
    model = FullyConnectedConfig(words=WordEncoderConfig(hidden_dim=16), hidden_dim=32, embedding_dim=dim)
    return TrainConfig(model=model)


INPUTS = ModelInputs(features={"video": 24, "audio": 12}, num_words=50, word_dim=6, max_words=5)


def test_a_step_s_cost_is_counted():
    cost = step_cost(_small(), INPUTS, clips=4)
    # words 5 × (6 → 16); text 16 → 32 → 8; video 24 → 32 → 8; audio 12 → 32 → 8
    layers = {"words": 5 * 6 * 16, "text": 16 * 32, "video": 24 * 32, "audio": 12 * 32, "out": 3 * 32 * 8}
    inputs_have_no_gradient = layers["words"] + layers["video"] + layers["audio"]
    assert cost.flops_per_clip == 2 * (3 * sum(layers.values()) - inputs_have_no_gradient)
    # 3 pairs of modalities, rows and columns of S, forwards one product and backwards two
    assert cost.loss_flops_per_pair == 3 * 2 * 3 * 2 * 8
    assert cost.vector_bytes == 3 * 8 * 4
    assert cost.label_bytes == 3 + 3 * 8
    trained = (6 + 1) * 16 + (16 + 1) * 32 + (24 + 1) * 32 + (12 + 1) * 32 + 3 * (32 + 1) * 8
    assert cost.gradient_bytes == 4 * trained
    assert cost.checkpoint_bytes >= 3 * cost.gradient_bytes


def test_the_bytes_are_those_of_the_gathered_tensors(monkeypatch: pytest.MonkeyPatch):
    """What `gather_embeddings` and `gather_keys` hand to the collective, for each row."""
    from benchmarks.training_step import _with_inputs
    from vtr_core.run.build import build_model

    sent = []
    monkeypatch.setattr(gather, "world_size", lambda: 2)
    monkeypatch.setattr(gather, "gather_rows", lambda rows, _: sent.append(rows) or rows)
    monkeypatch.setattr(gather, "_all_gather", lambda rows: sent.append(rows) or rows)
    model = build_model(_small().model.model_copy(update={"inputs": INPUTS}))
    batch = _with_inputs(random_clips(4, torch.device("cpu")), INPUTS)
    gather.gather_embeddings(model(batch))
    gather.gather_keys(batch.keys)
    vectors, presence, keys = (tensor[0].nbytes for tensor in sent)
    cost = step_cost(_small(), INPUTS, clips=4)
    assert (cost.vector_bytes, cost.label_bytes) == (vectors, presence + keys)
