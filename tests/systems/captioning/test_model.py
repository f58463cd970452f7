"""The captioner: masks, tokens, decoding, pre-training."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.builders.captioned import CaptionedVideos, captioned_videos
from tests.builders.captioning import WORDS, batch, captioner, config, videos
from tests.builders.toy import written
from tests.reference import captioner as slow_captioner
from vtr_core.config.override import ModelInputs, override
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import Drops, Video, VideoEntry
from vtr_core.errors import ConfigError
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import check_parts, with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.captioning.config import CaptionerConfig, CaptioningLossConfig, DecodingConfig
from vtr_core.systems.captioning.decoding import generate
from vtr_core.systems.captioning.generated_captions import nearest_captions
from vtr_core.systems.captioning.model import Captioner, masked_tokens, sequence_mask
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint
from vtr_core.train.loop.learner import fitting

END, MASK = WORDS + 1, WORDS + 2


def test_captions_end_and_are_cut() -> None:
    model = captioner()
    tokens = torch.tensor([[3, 0, 0, 0, 0], [1, 2, 3, 4, 5], [0, 0, 0, 0, 0]])
    assert model.with_end(tokens).tolist() == [[3, END, 0, 0, 0, 0], [1, 2, 3, 4, 5, END], [END, 0, 0, 0, 0, 0]]
    assert captioner(max_tokens=3).with_end(tokens).tolist() == [[3, END, 0], [1, 2, END], [END, 0, 0]]
    assert model.with_end(tokens[:1]).tolist() == [[3, END]]


def test_what_is_masked() -> None:
    tokens = torch.tensor([[3, 4, END, 0], [5, END, 0, 0]])
    hidden = torch.tensor([[0.1, 0.6, 0.4, 0.0], [0.8, 0.9, 0.1, 0.1]])
    assert masked_tokens(tokens, hidden, 0.5).tolist() == [[True, False, True, False], [True, False, False, False]]
    generator = torch.Generator().manual_seed(0)
    many = torch.ones((4000, 20), dtype=torch.int64)
    share = masked_tokens(many, torch.rand(many.shape, generator=generator), 0.15).float().mean().item()
    assert share == pytest.approx(0.15 + 0.85**20 / 20, abs=0.005)


def test_the_loss_is_that_of_each_masked_word_by_itself() -> None:
    model, rows = captioner(), batch(6)
    hidden = torch.rand(6, 6, generator=torch.Generator().manual_seed(0))
    found = model(rows, hidden)
    tokens = model.with_end(rows.tokens)
    masked = masked_tokens(tokens, hidden, 0.15)
    for row in range(6):
        frames, mask = rows.frames["video"][row][rows.mask["video"][row]].float(), rows.mask["video"][row]
        told = tokens[row][tokens[row] != 0]
        given = told.masked_fill(masked[row][: len(told)], MASK)
        loss = 0.0
        for place in masked[row].nonzero().flatten().tolist():
            # What follows the masked word is not there at all.
            video, known = model.video_tokens(frames.unsqueeze(0), mask[mask].unsqueeze(0))
            both = torch.cat([video, model.text_tokens(given[: place + 1].unsqueeze(0))], dim=1)
            states, _ = model.go_on(both, sequence_mask(known, place + 1), None)
            loss += cross_entropy(model.logits(states[0, -1:]), told[place : place + 1]).item()
        assert found.loss[row].item() == pytest.approx(loss, rel=1e-4)
        assert found.masked[row] == masked[row].sum()
    assert found.videos is None


def test_sides_of_a_contrast_do_not_know_each_other() -> None:
    model, rows = captioner(), batch(4)
    hidden = torch.rand(4, 6, generator=torch.Generator().manual_seed(0))
    found = model(rows, hidden, contrasted=True)
    other = batch(4, seed=1)
    rows.tokens.copy_(other.tokens)
    changed = model(rows, hidden, contrasted=True)
    kept = found.videos.mask
    assert torch.allclose(found.videos.tokens[kept], changed.videos.tokens[kept], atol=1e-6)
    rows.frames["video"].zero_()
    blind = model(rows, hidden, contrasted=True)
    assert torch.allclose(blind.captions.tokens, changed.captions.tokens, atol=1e-6)
    assert torch.equal(changed.captions.mask, model.with_end(rows.tokens) != 0)


def test_rows_without_words_or_frames() -> None:
    model, rows = captioner(), batch(3)
    rows.tokens[1] = 0
    rows.mask["video"][2] = False
    found = model(rows, torch.rand(3, 6, generator=torch.Generator().manual_seed(0)), contrasted=True)
    assert found.loss[1] == 0
    assert found.masked[1] == 0
    assert torch.isfinite(found.loss).all()
    assert torch.isfinite(found.videos.mean()).all()
    assert (found.videos.mean()[2] == 0).all()


def test_places_of_frames_are_tokens() -> None:
    """Row by row: each place is pooled over time by itself, has its frame's time and an embedding of its own."""
    model, (rows, places, last) = captioner(grid=2, video_tokens=2), (2, 4, 3)
    frames = torch.randn(rows, 5 * places - 1, 3, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(rows, 5 * places - 1, dtype=torch.bool)
    mask[1, 2 * places :] = False
    frames[1, 2 * places :] = torch.nan
    tokens, known = model.video_tokens(frames, mask)
    assert known.tolist() == [[True] * 8, [True] * 8]
    assert model.grid is not None
    for video, place, step in ((0, 0, 0), (0, 2, 1), (0, last, 0), (1, 1, 1)):
        own = frames[video, place::places][mask[video, place::places]]
        segments = len(own)
        run = [row for t, row in enumerate(own) if (t * 2 // segments if segments > 2 else t) == step]
        expected = model.frames(torch.stack(run).mean(dim=0)) + model.times(torch.tensor([float(step)]))
        assert torch.allclose(tokens[video, step * places + place], expected + model.grid[place], atol=1e-5)


def test_captions_without_frames_train_the_language() -> None:
    """As in pre-training: the words and blocks have gradients, what reads frames has none."""
    model, rows = captioner(), batch(4)
    rows.mask["video"].fill_(False)
    found = model(rows, torch.rand(4, 6, generator=torch.Generator().manual_seed(0)))
    found.loss.sum().backward()
    assert model.words.weight.grad is not None
    assert model.words.weight.grad.abs().sum() > 0
    assert all(p.grad is None or p.grad.abs().sum() == 0 for p in model.frames.parameters())


def test_a_feature_that_the_data_lacks_and_heads_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match=r"model\.feature = 'audio', the data's feature columns are: video"):
        Captioner(config(feature="audio"))
    with pytest.raises(ConfigError, match="feature columns are: none"):
        Captioner(config(inputs=ModelInputs()))
    with pytest.raises(ConfigError, match="hidden_dim = 8 is not a multiple of num_heads = 3"):
        Captioner(config(heads=3))


SETTINGS = (
    DecodingConfig(),
    DecodingConfig(beams=3),
    DecodingConfig(beams=3, length_penalty=0.0),
    DecodingConfig(beams=2, length_penalty=2.0),
)


@pytest.mark.parametrize("decoding", SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_captions_are_those_of_plain_code(decoding: DecodingConfig, seed: int) -> None:
    model, (frames, mask) = captioner(seed, max_tokens=8), videos(5, seed)
    expected = [slow_captioner.generate(model, frames[i], mask[i], decoding) for i in range(5)]
    assert generate(model, frames, mask, decoding) == expected


def test_a_video_s_caption_does_not_depend_on_the_others() -> None:
    model, (frames, mask) = captioner(1), videos(4)
    together = generate(model, frames, mask, DecodingConfig(beams=2))
    alone = [generate(model, frames[i : i + 1], mask[i : i + 1], DecodingConfig(beams=2))[0] for i in range(4)]
    assert together == alone


def test_no_caption_is_empty_even_if_the_model_would_end_at_once() -> None:
    model, (frames, mask) = captioner(), videos(3)
    with torch.no_grad():
        model.bias[model.end] = 50.0
    assert [len(words) for words in generate(model, frames, mask, DecodingConfig())] == [1, 1, 1]


SMALL = {"model.hidden_dim": 8, "model.layers": 1, "model.heads": 2, "model.mlp_dim": 16}


@pytest.mark.parametrize("size", ["", "-tiny"])
def test_everything_but_the_statistics_of_frames_is_taken(size: str, tmp_path: Path) -> None:
    data = captioned_videos(tmp_path / "data", {"v1": ["a dog runs"], "v2": ["a zebra", "a dog"]})
    words = WordTable.load(data).vocabulary

    def config(name: str) -> TrainConfig:
        return with_inputs(override(preset(f"{name}{size}"), SMALL), data)

    trained = config("caption-pretrain")
    assert isinstance(trained.loss, CaptioningLossConfig)
    assert not trained.loss.contrasts
    weights = build_model(trained.model).state_dict()
    checkpoint = Checkpoint(
        config=trained, model=weights, optimizer={}, progress=Progress(), vocabulary=words, provenance={}
    )
    save_checkpoint(locate(str(tmp_path / "c")), checkpoint)
    found = fitting(config("caption-msrvtt"), words, None, load_model(str(tmp_path / "c")))
    assert set(found.taken) == set(weights)
    assert all(name.startswith("standardization.") for name in found.refused)


def test_rows_of_places_are_whole_frames() -> None:
    config = preset("caption-msrvtt-spatial")
    assert isinstance(config.model, CaptionerConfig)
    assert config.batch.max_frames == 16 * config.model.grid**2 if config.model.grid else False
    check_parts(config)
    with pytest.raises(ConfigError, match=r"max_frames = 64 rows are no whole frames .* multiple of 49, 784 for 16"):
        check_parts(override(config, {"batch.max_frames": 64}))


LOOKS = {"a": (1.0, 0.0), "b": (0.0, 1.0), "c": (-1.0, -1.0), "x": (0.9, 0.2), "y": (0.1, 0.8), "z": (-0.5, -0.6)}
CAPTIONS = {
    "a": ["somebody", "a man runs fast", "a man runs"],
    "b": ["a dog sleeps", "the dog sleeps on a mat", "a cat"],
    "c": ["a bird"],
}


class Looking(CaptionedVideos):
    """Every video's frames are its look."""

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        return Video(video.video_id, video.content, {"video": np.array([LOOKS[video.video_id]] * 3, np.float16)})


def data(folder: Path, captions: dict[str, list[str]]) -> Manifest:
    return written(Looking(captions), folder, IngestOptions(videos_per_shard=2))[0]


def test_the_typical_caption_of_the_nearest_video_is_said(tmp_path: Path) -> None:
    training = data(tmp_path / "train", CAPTIONS)
    test = data(tmp_path / "test", {"x": ["a boy runs"], "y": [], "z": ["a crow"]})
    found = nearest_captions(training, test, "video")
    assert found.hypotheses["x"] in ("a man runs fast", "a man runs")
    assert found.hypotheses["y"] in ("a dog sleeps", "the dog sleeps on a mat")
    assert found.hypotheses["z"] == "a bird"
    assert found.references == {"x": ("a boy runs",), "y": (), "z": ("a crow",)}
