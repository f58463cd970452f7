"""The dual encoder: its size, what missing modalities do, and that rows do not influence each other."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.builders.captioned import CaptionedVideos, captioned_videos
from tests.builders.frame_batches import ROWS, SMALL, videos
from tests.builders.toy import written
from vtr_core.config.override import ModelInputs, override
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.shards.word_table import WordTable
from vtr_core.embedding.embedded_rows import encode
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.nn.embeddings import DualEmbeddings
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.dual.config import DualTripletConfig
from vtr_core.systems.dual.loss import DualObjective
from vtr_core.systems.dual.model import HybridEncoder

MSRVTT = {"model.inputs": {"features": {"video": 4096}, "num_words": 7807, "word_dim": 500, "max_words": 30}}
SIZES = {
    "hybrid-msrvtt": 69_168_604,
    "hybrid-msrvtt-concept": 42_225_628,
    "hybrid-msrvtt-concept-256": 37_735_132,
    "hybrid-msrvtt-cosine": 42_225_628,
    "hybrid-msrvtt-cosine-256": 37_735_132,
}


def _model(**changes: object) -> HybridEncoder:
    torch.manual_seed(0)
    model = build_model(SMALL.model_copy(update=changes))
    assert isinstance(model, HybridEncoder)
    return model


def _spaces(found: DualEmbeddings) -> list[tuple[str, Tensor]]:
    assert found.latent is not None
    assert found.concept is not None
    return [(name, space.vectors[name]) for space in (found.latent, found.concept) for name in ("text", "video")]


@pytest.mark.parametrize("name", list(SIZES))
def test_the_published_number_of_parameters(name: str) -> None:
    """Table 5.3, with the 7,807 words of MSR-VTT and 4096-d frames: 69.17, 42.23 and 37.74 million."""
    with torch.device("meta"):
        model = build_model(override(preset(name), MSRVTT).model)
    assert sum(parameter.numel() for parameter in model.parameters()) == SIZES[name]


@pytest.mark.parametrize("compat", ["none", "hybrid_space"])
def test_a_missing_modality_is_exactly_zero_and_influences_no_other_row(compat: str) -> None:
    """In training too: it takes no part in the batch's statistics."""
    batch = videos(no_video=(1, 4), no_text=(2,))
    found = _model(compat=compat, dropout=0.0)(batch)
    assert found.latent is not None
    assert found.latent.present["video"].tolist() == [row not in (1, 4) for row in range(ROWS)]
    assert found.latent.present["text"].tolist() == [row != 2 for row in range(ROWS)]
    for name, vectors in _spaces(found):
        missing = (1, 4) if name == "video" else (2,)
        assert (vectors[list(missing)] == 0).all()
        assert all(vectors[row].any() for row in range(ROWS) if row not in missing)
    batch.frames["video"][[1, 4]] = torch.nan
    batch.mean["video"][[1, 4]] = torch.nan
    for (_, one), (_, other) in zip(_spaces(found), _spaces(_model(compat=compat, dropout=0.0)(batch)), strict=True):
        assert torch.equal(one, other)


def test_rows_do_not_influence_each_other_in_evaluation() -> None:
    """Nor does the padding that longer neighbours bring."""
    model, batch = _model(), videos(no_video=(1,), no_text=(5,))
    model(batch)
    model.eval()
    together = _spaces(model(batch))
    for row, piece in enumerate(batch.split(1)):
        length = max(1, int(piece.mask["video"].sum()))
        short = replace(
            piece,
            frames={"video": piece.frames["video"][:, :length]},
            mask={"video": piece.mask["video"][:, :length]},
        )
        for (_, alone), (_, whole) in zip(_spaces(model(short)), together, strict=True):
            torch.testing.assert_close(alone[0], whole[row], atol=2e-6, rtol=1e-5)


def test_the_mean_is_of_all_frames_not_of_those_given() -> None:
    model, batch = _model().eval(), videos()
    other = replace(batch, mean={"video": batch.mean["video"] + 1})
    assert not torch.allclose(_spaces(model(batch))[1][1], _spaces(model(other))[1][1])


def test_published_word_vectors_and_concept_heads_begin_within_their_bounds() -> None:
    published, model = _model(initialization="hybrid_space"), _model()
    words = published.words.vectors.weight[1:].detach()
    assert 0.09 < float(words.abs().max()) <= 0.1
    assert float(model.words.vectors.weight.detach().abs().max()) > 1
    for heads in (published.video_heads, published.text_heads):
        assert heads.concept is not None
        assert heads.latent is not None
        linear = heads.concept.linear
        bound = linear.in_features**-0.5
        assert 0.9 * bound < float(linear.weight.detach().abs().max()) <= bound
        assert 0 < float(linear.bias.detach().abs().max()) <= bound
        assert not heads.latent.linear.bias.any()


@pytest.mark.parametrize(("no_video", "no_text"), [((), ()), (range(ROWS), ()), (range(1, ROWS), range(ROWS))])
def test_every_parameter_gets_a_finite_gradient_in_every_batch(no_video: range, no_text: range) -> None:
    model, batch = _model(), videos(tuple(no_video), tuple(no_text))
    labels = torch.rand(ROWS, SMALL.num_concepts or 0, generator=torch.Generator().manual_seed(0))
    DualObjective(DualTripletConfig(), "jaccard")(model(batch), labels, batch.keys).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_half_precision_ends_in_float32() -> None:
    model = _model().eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = _spaces(model(videos()))
    for (_, one), (_, other) in zip(half, _spaces(model(videos())), strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, atol=0.1, rtol=0.1)
    assert all(vectors.dtype == torch.float64 for _, vectors in _spaces(_model().double()(videos())))


def test_ranges_are_a_running_average_that_takes_nothing_infinite() -> None:
    model = _model()
    model.note_ranges(torch.tensor([[-0.5, 0.5], [torch.inf, -torch.inf]]))
    assert model.ranges.tolist() == [[-0.5, 0.5], [0.0, 0.0]]
    model.note_ranges(torch.tensor([[-1.5, 0.5], [0.25, 0.75]]))
    torch.testing.assert_close(model.ranges, torch.tensor([[-0.6, 0.5], [0.25, 0.75]]))
    model.note_ranges(torch.tensor([[torch.nan, 0.5], [0.25, 0.75]]))
    torch.testing.assert_close(model.ranges, torch.tensor([[-0.6, 0.5], [0.25, 0.75]]))


def test_inputs_that_make_no_model_are_errors() -> None:
    with pytest.raises(ConfigError, match=r"model\.feature = 'depth', the data's feature columns are: video, audio"):
        _model(feature="depth")
    with pytest.raises(ConfigError, match="columns are: none"):
        _model(inputs=ModelInputs())
    with pytest.raises(ConfigError, match="at least one space"):
        override(preset("hybrid-msrvtt"), {"model.latent_dim": None, "model.num_concepts": None})


def test_words_with_their_part_of_speech_are_counted_apart(tmp_path: Path) -> None:
    captions = {"v": ["they run a long run", "we run"]}
    (data,) = written(CaptionedVideos(captions), tmp_path / "d", IngestOptions(tagger="default"))
    config = with_inputs(override(preset("hybrid-msrvtt-tiny-pos-text"), {"model.num_concepts": None}), data)
    words = WordTable.load(data).vocabulary
    model = build_model(config.model)
    assert isinstance(model, HybridEncoder)
    counts = model.words.counts(encode(words, captions["v"], 20))
    expected = [{"they": 1, "run/verb": 1, "a": 1, "long/adjective": 1, "run/noun": 1}, {"we": 1, "run/verb": 1}]
    found = [{words.words[n]: int(row[n]) for n in row.nonzero()[:, 0].tolist()} for row in counts]
    assert found == expected
    with pytest.raises(DatasetError, match="tagged is False where True is asked for"):
        with_inputs(preset("hybrid-msrvtt-tiny-pos"), captioned_videos(tmp_path / "plain", captions))
