"""`vtr import clip4clip`: the weights under their published names make the model that computes the same."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from pipelines.cli import run
from tests.security.payload import Payload
from tests.text.tokens.test_byte_pairs import LINES, PAIRS
from vtr_core.config.losses.contrastive import InfoNceConfig
from vtr_core.errors import CheckpointError, InputError
from vtr_core.nn.clip.clip import Clip
from vtr_core.nn.clip.transformer import Transformer
from vtr_core.run.presets import preset
from vtr_core.systems.clip4clip.config import Clip4ClipConfig
from vtr_core.systems.clip4clip.model import Clip4Clip
from vtr_core.train.checkpoint.load import load_model

WIDTH, FRAMES = 64, 9


def published(sequence: bool) -> dict[str, Tensor]:
    """A small CLIP under the published names; with `sequence` seqTransf's transformer of two layers."""
    torch.manual_seed(0)
    base = preset("clip4clip-tiny").model
    assert isinstance(base, Clip4ClipConfig)
    clip = Clip(base.backbone, len(PAIRS.pieces))
    state = {f"clip.{name}": tensor for name, tensor in clip.state_dict().items()}
    state["clip.logit_scale"] = torch.tensor(3.0)
    if sequence:
        frames = {f"transformerClip.{name}": value for name, value in Transformer(WIDTH, 2, 1).state_dict().items()}
        state |= {**frames, "frame_position_embeddings.weight": torch.randn(FRAMES, WIDTH)}
    return {f"module.{name}": tensor.clone() for name, tensor in state.items()}


def taken(folder: Path, state: dict[str, Tensor], *words: str) -> Clip4Clip:
    torch.save(state, folder / "pytorch_model.bin.4")
    (folder / "merges.txt").write_text("#version: 0.2\n" + LINES)
    files = [str(folder / "pytorch_model.bin.4"), "--merges", str(folder / "merges.txt"), "--out", str(folder / "c")]
    run("import", ["clip4clip", *files, *words])
    model = load_model(str(folder / "c")).model
    assert isinstance(model, Clip4Clip)
    return model


@pytest.mark.parametrize("sequence", [False, True], ids=["meanP", "seqTransf"])
def test_every_weight_has_its_place(sequence: bool, tmp_path: Path) -> None:
    state = published(sequence)
    model = taken(tmp_path, state, "--max-words", "11", "--max-frames", "5")
    loaded = load_model(str(tmp_path / "c"))
    assert loaded.vocabulary.words == PAIRS.pieces
    assert (loaded.config.batch.max_frames, loaded.config.model.inputs.max_words) == (5, 11)
    assert isinstance(loaded.config.loss, InfoNceConfig)
    assert loaded.config.loss.temperature == pytest.approx(math.exp(-3))
    assert isinstance(loaded.config.model, Clip4ClipConfig)
    size = loaded.config.model.backbone
    assert (size.image_size, size.patch, size.vision.layers, size.text.heads, size.context) == (32, 8, 2, 1, 34)
    own = model.state_dict()
    for name, tensor in state.items():
        ours = name.removeprefix("module.").replace("transformerClip.", "temporal.transformer.")
        ours = ours.replace("frame_position_embeddings.weight", "temporal.positions")
        assert ours == "clip.logit_scale" or torch.equal(own.pop(ours), tensor)
    assert not own


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    whole = published(sequence=True)
    cases: list[tuple[dict[str, Tensor | None], str]] = [
        ({"lstm_visual.weight_ih_l0": torch.ones(1)}, "has lstm_visual.weight_ih_l0, so it is of seqLSTM"),
        ({"cross.pooler.dense.bias": torch.ones(1)}, "it is of tightTransf"),
        ({"module.clip.text_projection": None}, "clip.text_projection is missing"),
        (
            {"module.clip.ln_final.bias": None, "module.transformerClip.resblocks.1.ln_1.bias": torch.ones(3)},
            r"clip.ln_final.bias is missing; transformerClip.resblocks.1.ln_1.bias is \(3,\), not \(64,\)",
        ),
        ({"module.clip.visual.more": torch.ones(1), "strange": torch.ones(1)}, "clip.visual.more is unknown; strange"),
        ({"module.frame_position_embeddings.weight": None}, "frame_position_embeddings.weight is missing"),
    ]
    for changes, message in cases:
        state = {name: value for name, value in {**whole, **changes}.items() if value is not None}
        with pytest.raises(CheckpointError, match=message):
            taken(tmp_path, state)
    assert not (tmp_path / "c").exists()


def test_other_merges_and_pickles_are_refused(tmp_path: Path) -> None:
    more = {**published(sequence=False), "module.clip.token_embedding.weight": torch.ones(len(PAIRS.pieces) + 5, WIDTH)}
    with pytest.raises(InputError, match=f"makes {len(PAIRS.pieces)} pieces of words, the model has"):
        taken(tmp_path, more)
    with pytest.raises(CheckpointError, match="is not a file of weights"):
        taken(tmp_path, {"clip": Payload(tmp_path / "ran")})  # type: ignore[dict-item]
    assert not (tmp_path / "ran").exists()
