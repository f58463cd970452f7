import pytest
import torch

from benchmarks import routing
from benchmarks.training_step import INPUTS, TrainingStep, paired_ratio, peak_bytes, random_clips
from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.config.towers import DynamicRouting, NoRouting
from vtr_core.nn.capsules.capsule_tower import RoutedCapsules
from vtr_core.systems.capsules.config import CapsuleNetConfig

CPU = torch.device("cpu")


def _small(config, num_capsules=8):
    return CapsuleNetConfig(
        inputs=INPUTS,
        num_capsules=num_capsules,
        primary_dim=16,
        routing=config,
        words=WordEncoderConfig(hidden_dim=8),
        embedding_dim=8,
    )


def _figures():
    def found(base):
        return {"seconds": base, "rounds": [base, 2 * base], "peak_gb": 10 * base}

    routed = {name: found(0.1 * (1 + i)) for i, name in enumerate(routing.ROUTINGS)}
    sized = {str(count): found(1 + 0.01 * count) for count in routing.NUM_CAPSULES}
    return {
        "precision": "float32",
        "repeats": 2,
        "rows": 8,
        "routings": routed,
        "ratios": routing.ratios(routed),
        "alone_seconds": dict.fromkeys(routed, 0.01),
        "alone_to_self_attention": dict.fromkeys(routed, 1.0),
        "capsule_rows": 4,
        "capsules": sized,
        "linear": {name: routing.line(sized, name) for name in ("seconds", "peak_gb")},
        "device": "a machine",
        "versions": {"torch": "2"},
        "command": "python -m benchmarks.routing",
    }


def test_ratios_are_taken_within_a_round():
    assert paired_ratio([1.0, 20.0, 3.0], [1.0, 10.0, 1.0]) == 2.0


def test_a_straight_line_has_no_residual():
    fit = routing.line(_figures()["capsules"], "seconds")
    assert fit["per_capsule"] == pytest.approx(0.01)
    assert fit["intercept"] == pytest.approx(1.0)
    assert fit["r_squared"] == pytest.approx(1.0)
    assert fit["largest_residual"] == pytest.approx(0.0, abs=1e-9)
    bent = {str(count): {"seconds": float(count**2)} for count in routing.NUM_CAPSULES}
    assert routing.line(bent, "seconds")["largest_residual"] > 0.1


def test_the_page_names_goals_that_are_missed():
    page = routing.markdown({**_figures(), "rows": routing.LEAST_ROWS})
    assert "| self_attention / none | time | at most 1.05 | 5.000 | **no** |" in page
    assert "| 256 | 3.560 | 35.600 | 1.096 | 27.98 |" in page
    assert "Time: 1.000 + 0.01000·C s, R² = 1.0000, largest residual 0.0 %." in page


def test_peak_memory_counts_weights_moments_and_what_a_step_makes():
    step = TrainingStep(_small(NoRouting(pose_dim=16)), random_clips(4, CPU))
    step()
    trained = sum(p.nbytes for p in step._model.parameters() if p.requires_grad)
    weights = sum(p.nbytes for p in step._model.parameters())
    assert step.held_bytes() == pytest.approx(weights + 2 * trained, abs=1000)
    assert peak_bytes(step, CPU) > step.held_bytes() + trained  # at least the gradients


def test_peak_memory_sees_the_votes():
    """C² · d2 float32 votes of 256 rows; three modalities, kept for the backward pass."""
    batch, peaks = random_clips(256, CPU), {}
    for config in (NoRouting(pose_dim=16, mlp_dim=16), DynamicRouting()):
        step = TrainingStep(_small(config, 16), batch)
        step()
        peaks[config.kind] = peak_bytes(step, CPU)
    assert peaks["dynamic"] - peaks["none"] > 3 * 256 * 16 * 16 * 16 * 4


def test_comparison_runs_and_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(routing, "_table3", lambda config: _small(config, 4))
    monkeypatch.setattr(routing, "_table4", lambda count: _small(NoRouting(pose_dim=16), count // 8))
    threads = torch.get_num_threads()
    routing.BENCHMARK.main(
        ["--device", "cpu", "--rows", "8", "--capsule-rows", "8", "--repeats", "1", "--out", str(tmp_path)]
    )
    torch.set_num_threads(threads)
    assert {path.name for path in tmp_path.iterdir()} == {"routing.json", "routing.md"}
    assert "| em |" in (tmp_path / "routing.md").read_text()


def test_both_ways_give_the_same_poses_and_gradients():
    torch.manual_seed(0)
    layer = RoutedCapsules(6, 3, 4, 5, 4, "tanh", "outputs")
    with torch.no_grad():
        layer.weight.mul_(10)
    poses = torch.randn(2, 6, 3).requires_grad_()
    poses_ours, slow = layer(poses), routing.straightforward(layer, poses)
    torch.testing.assert_close(poses_ours, slow)
    for ours, loops in zip(
        torch.autograd.grad(poses_ours.square().sum(), [poses, layer.weight]),
        torch.autograd.grad(slow.square().sum(), [poses, layer.weight]),
        strict=True,
    ):
        torch.testing.assert_close(ours, loops, atol=1e-5, rtol=1e-4)
