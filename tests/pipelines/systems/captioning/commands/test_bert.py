"""BERT's weights, made up at a small size, are a captioner's language part, for features and for frames."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from pipelines.cli import run
from pipelines.systems.captioning.import_bert import lavender_names
from tests.builders.captioned import captioned_videos
from tests.pipelines.systems.captioning.commands.test_lavender import PIECES, made_up
from vtr_core.config.override import override
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import CheckpointError
from vtr_core.run.build import build_model
from vtr_core.run.presets import preset
from vtr_core.train.checkpoint import load_model
from vtr_core.train.loop.learner import fitting, start_from


def bert() -> dict[str, Tensor]:
    """LAVENDER's language part under BERT's names, norms as in the first published files."""
    names = {"enc_txt.emb_txt.": "bert.embeddings.", "trsfr.layer.": "bert.encoder.layer."}
    found = {}
    for name, value in made_up().items():
        for ours, theirs in {**names, "fc_mtm.predictions.": "cls.predictions."}.items():
            if name.startswith(ours):
                own = theirs + name.removeprefix(ours)
                own = own.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
                found[own] = value.float().contiguous()
    found["bert.embeddings.position_embeddings.weight"] = torch.randn(512, 8)
    return {**found, "bert.pooler.dense.bias": torch.zeros(8)}


def test_a_captioner_with_a_backbone_begins_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = captioned_videos(tmp_path / "data", {"v1": ["a dog runs"], "v2": ["a zebra", "a dog"]})
    file, vocabulary, state = tmp_path / "bert.safetensors", tmp_path / "vocab.txt", bert()
    save_file(state, file)
    vocabulary.write_text("\n".join(PIECES))
    flags = ["--pieces", str(vocabulary), "--data", data.uri, "--heads", "2"]
    run("import", ["bert", str(file), "--out", str(tmp_path / "c"), *flags])
    assert "are BERT's" in capsys.readouterr().out
    given, words = load_model(str(tmp_path / "c")), WordTable.load(data).vocabulary
    sizes = {"hidden_dim": 8, "mlp_dim": 12, "layers": 2, "heads": 2, "layout": "bert", "max_tokens": 24}
    inputs = {"num_words": len(words), "max_words": 20}
    changes = {f"model.{name}": value for name, value in {**sizes, "inputs": inputs}.items()}
    config = override(preset("caption-swin-tiny"), changes)
    found = fitting(config, words, None, given)
    kept = {name.split(".")[0] for name in found.refused}
    assert kept == {"backbone", "frames", "grid"}
    model = build_model(config.model)
    start_from(model, given, found)
    own = model.state_dict()
    assert torch.equal(own["blocks.1.out.weight"], state["bert.encoder.layer.1.attention.output.dense.weight"])
    assert torch.equal(own["word_norm.weight"], state["bert.embeddings.LayerNorm.gamma"])
    pieces = state["bert.embeddings.word_embeddings.weight"]
    assert torch.allclose(own["words.weight"][words.ids["runs"]], pieces[[6, 7]].mean(dim=0))
    with pytest.raises(CheckpointError, match=r"lacks trsfr\.layer\.0"):
        save_file({"x": torch.zeros(1)}, file)
        run("import", ["bert", str(file), "--out", str(tmp_path / "d"), *flags])


def test_names_of_both_kinds_are_known() -> None:
    assert list(lavender_names({"bert.embeddings.LayerNorm.gamma": torch.zeros(1)})) == [
        "enc_txt.emb_txt.LayerNorm.weight"
    ]
    assert list(lavender_names({"encoder.layer.3.output.dense.bias": torch.zeros(1)})) == [
        "trsfr.layer.3.output.dense.bias"
    ]
