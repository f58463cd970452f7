"""LAVENDER's weights, made up at a small size, compute here what they mean under their own names."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from pipelines.cli import run
from pipelines.systems.captioning.captioner_weights import captioner_weights, pieces_of
from tests.builders.captioned import captioned_videos
from tests.builders.captioning import config
from tests.reference import lavender as slow
from vtr_core.config.override import ModelInputs
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import CheckpointError, InputError
from vtr_core.systems.captioning.model import Captioner, sequence_mask
from vtr_core.train.checkpoint import load_model
from vtr_core.train.loop.learner import fitting

HIDDEN, HEADS, MLP, LAYERS, DIM, GRID, STEPS, TOKENS = 8, 2, 12, 2, 3, 2, 3, 6
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "run", "##s", "a"]
WORDS = ["dog", "runs", "a", "zebra"]


def made_up(dim: int = DIM) -> dict[str, Tensor]:
    """Of two layers; frames' times lie on a line, as only a line can be taken."""
    draws = torch.Generator().manual_seed(0)

    def values(*shape: int) -> Tensor:
        return torch.randn(shape, generator=draws, dtype=torch.float64)

    def pair(name: str, out: int, into: int) -> dict[str, Tensor]:
        return {f"{name}.weight": values(out, into) / into**0.5, f"{name}.bias": values(out)}

    def norm(name: str) -> dict[str, Tensor]:
        return {f"{name}.weight": 1 + 0.3 * values(HIDDEN), f"{name}.bias": values(HIDDEN)}

    text, scores, start, slope = "enc_txt.emb_txt.", "fc_mtm.predictions.", values(HIDDEN), values(HIDDEN)
    times = torch.stack([start + slope * step / (STEPS - 1) for step in range(STEPS)])
    found = {
        f"{text}word_embeddings.weight": values(len(PIECES), HIDDEN),
        f"{text}position_embeddings.weight": values(TOKENS + 5, HIDDEN),
        f"{text}token_type_embeddings.weight": values(2, HIDDEN),
        f"{scores}bias": values(len(PIECES)),
        "enc_img.emb_pos": values(1, 1, 1 + 3 * GRID**2, HIDDEN),
        "enc_img.emb_len": times.view(1, STEPS, 1, HIDDEN),
        "enc_img.emb_cls": values(1, 1, 1, HIDDEN),
        **norm(f"{text}LayerNorm"),
        **norm("enc_img.norm"),
        **norm(f"{scores}transform.LayerNorm"),
        **pair("enc_img.fc", HIDDEN, dim),
        **pair(f"{scores}transform.dense", HIDDEN, HIDDEN),
    }
    for number in range(LAYERS):
        layer = f"trsfr.layer.{number}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            found |= pair(layer + part, HIDDEN, HIDDEN)
        found |= pair(f"{layer}intermediate.dense", MLP, HIDDEN) | pair(f"{layer}output.dense", HIDDEN, MLP)
        found |= norm(f"{layer}attention.output.LayerNorm") | norm(f"{layer}output.LayerNorm")
    return found


def test_scores_are_those_of_its_own_names() -> None:
    state = made_up()
    rows = pieces_of([*WORDS, "[SEP]", "[MASK]"], PIECES)
    assert rows == [[5], [6, 7], [8], [1], [3], [4]]
    inputs = ModelInputs(features={"video": DIM}, num_words=len(WORDS), max_words=5)
    sizes = {"hidden_dim": HIDDEN, "heads": HEADS, "mlp_dim": MLP, "layers": LAYERS, "max_tokens": TOKENS}
    model = Captioner(config(inputs=inputs, layout="bert", grid=GRID, **sizes)).double().eval()
    model.load_state_dict({name: v.double() for name, v in captioner_weights(state, rows, TOKENS, GRID).items()})
    frames = torch.randn(1, STEPS * GRID**2, DIM, generator=torch.Generator().manual_seed(1)).double()
    tokens, known = model.video_tokens(frames, torch.ones(1, STEPS * GRID**2, dtype=torch.bool))
    words = torch.tensor([[1, 3, 6, 5]])
    both = torch.cat([tokens, model.text_tokens(words)], dim=1)
    states, _ = model.go_on(both, sequence_mask(known, words.shape[1]), None)
    found = model.logits(states[0, -words.shape[1] :])
    times = list(state["enc_img.emb_len"].flatten(0, 2))
    given = [rows[word - 1][0] for word in words[0].tolist()]
    expected = slow.scores(state, list(frames[0].unflatten(0, (STEPS, -1))), times, given, HEADS)
    for own, theirs in zip(found, expected, strict=True):
        means = [theirs[row].mean() for row in rows]
        assert own[1:].tolist() == pytest.approx([float(mean) for mean in means], abs=1e-5)


def test_it_is_imported_for_a_data_set_and_begun_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    training = captioned_videos(tmp_path / "data", {"v1": ["a dog runs"], "v2": ["a zebra", "a dog"]})
    dim = next(feature.dim for feature in training.schema.features if feature.name == "video")
    state, file, vocabulary = made_up(dim), tmp_path / "lavender.pt", tmp_path / "vocab.txt"
    state["fc_mtm.predictions.bias"] = torch.zeros(len(PIECES))
    state["enc_txt.emb_txt.position_embeddings.weight"] = torch.zeros(512, HIDDEN)
    torch.save(state, file)
    vocabulary.write_text("\n".join(PIECES))
    flags = ["--pieces", str(vocabulary), "--data", training.uri, "--feature", "video", "--heads", "2"]
    run("import", ["lavender", str(file), "--out", str(tmp_path / "c"), *flags, "--grid", "None"])
    assert "--init" in capsys.readouterr().out
    given = load_model(str(tmp_path / "c"))
    found = fitting(given.config, WordTable.load(training).vocabulary, None, given)
    assert not found.refused
    with pytest.raises(CheckpointError, match=r"lacks enc_img\.fc\.weight"):
        torch.save({name: value for name, value in state.items() if name != "enc_img.fc.weight"}, file)
        run("import", ["lavender", str(file), "--out", str(tmp_path / "d"), *flags, "--grid", "None"])
    with pytest.raises(CheckpointError, match=r"lacks trsfr\.layer\.0"):
        torch.save({}, file)
        run("import", ["lavender", str(file), "--out", str(tmp_path / "d"), *flags])
    with pytest.raises(InputError, match=r"lack \[UNK\]"):
        pieces_of(["dog"], ["dog", "[SEP]", "[MASK]"])
    with pytest.raises(CheckpointError, match="12 places of a frame, not 7 × 7"):
        captioner_weights(made_up(), [[0]], TOKENS, 7)
