"""MUSE: settings, fresh models, tokens, projections."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from tests.reference.muse import mean_pooled
from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.override import ModelInputs, override
from vtr_core.config.towers import (
    FlashLearner,
    MambaLearner,
    MambaOutLearner,
    NoLearner,
    TemporalLevelsConfig,
    TransformerLearner,
)
from vtr_core.data.batches import FrameBatch
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.errors import ConfigError
from vtr_core.losses.contrastive import build_objective
from vtr_core.run.build import check_model
from vtr_core.run.inputs import check_parts
from vtr_core.run.presets import preset
from vtr_core.systems.muse.config import MuseConfig, TextVectors, TextWords
from vtr_core.systems.muse.model import Muse, TokenProjection
from vtr_core.systems.muse.presets import MUSE_PRESETS
from vtr_core.systems.muse.task import IMPLEMENTATION

DIM, GRID, ROWS, FRAMES = 8, 3, 3, 4
INPUTS = ModelInputs(features={"video": (1 + GRID**2) * DIM, "text": DIM}, num_words=9, word_dim=4, max_words=5)
WHOLE = ModelInputs(features={"video": DIM, "text": DIM})
MASK = torch.arange(FRAMES) < torch.tensor([[4], [2], [3]])
SMALL = MuseConfig(
    inputs=INPUTS, grid=GRID, scales=(1, 2, 3, 6), learner=MambaLearner(layers=2, state=4), initial_gate=0.0
)
LEARNERS = {
    "none_scan": MambaLearner(layers=2, state=4, scan="none"),
    "v1": MambaLearner(layers=2, state=4, scan="v1"),
    "v2": MambaLearner(layers=2, state=4),
    "transformer": TransformerLearner(layers=2, num_heads=2),
    "flash": FlashLearner(layers=2, num_heads=2),
    "mamba_out": MambaOutLearner(layers=2),
    "none": NoLearner(),
}
WORDS = TextWords(levels=TemporalLevelsConfig(hidden_dim=4, num_filters=3, kernel_sizes=(2,)))


def _model(moved=False, **changes):
    torch.manual_seed(0)
    model = Muse(MuseConfig.model_validate(dict(SMALL) | changes))
    if moved:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def _tokens(rows=ROWS, frames=FRAMES, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(rows, frames, (1 + GRID**2) * DIM, generator=generator, dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("aggregation", ["scale", "frame", "spatial"])
@pytest.mark.parametrize("learner", list(LEARNERS))
def test_a_fresh_model_is_mean_pooling_to_the_bit(learner, aggregation):
    """Also in similarity with texts, of half-precision tokens, whatever padding holds."""
    model = _model(learner=LEARNERS[learner], aggregation=aggregation)
    stored = _tokens(dtype=torch.float16)
    patches, cls = model.split(stored.masked_fill(~MASK.unsqueeze(2), torch.nan))
    videos, texts = model.video(patches, cls, MASK), model.encode_text(torch.randn(5, DIM).half())
    expected = mean_pooled(stored[:, :, :DIM].float(), MASK)
    assert torch.equal(videos, expected)
    assert torch.equal(texts @ videos.T, texts @ expected.T)


def test_whole_frames_with_temporal_scales_too():
    model = _model(inputs=WHOLE, grid=None, scales=(1,), temporal_scales=(2, 3))
    frames = _tokens()[:, :, :DIM]
    patches, cls = model.split(frames)
    assert patches is None
    assert torch.equal(model.video(patches, cls, MASK), mean_pooled(frames, MASK))


def test_the_published_initialisation_is_not():
    model = _model(compat="muse_official")
    patches, cls = model.split(_tokens())
    assert not torch.allclose(model.video(patches, cls, MASK), mean_pooled(cls, MASK), atol=1e-3)
    frozen = {name.split(".")[0] for name, parameter in model.named_parameters() if not parameter.requires_grad}
    assert frozen == {"pyramid"}


def test_norms_lie_where_they_are_configured():
    """Behind the sequence model, as in Equation 7, it is given the tokens themselves."""
    seen, norms = {}, {}
    for place in ("before", "after"):
        model = _model(moved=True, norm=place)
        norms[place] = model.learner.layers[0].norm
        model.learner.layers[0].mixer.register_forward_pre_hook(
            lambda _, given, place=place: seen.update({place: given[0].detach()})
        )
        patches, cls = model.split(10 * _tokens())
        assert torch.isfinite(model.video(patches, cls, MASK)).all()
    assert torch.allclose(seen["before"], norms["before"](seen["after"]), atol=1e-4)
    assert not torch.allclose(seen["before"], seen["after"], atol=0.1)


@pytest.mark.parametrize("aggregation", ["scale", "frame", "spatial"])
@pytest.mark.parametrize("learner", ["none_scan", "v1", "v2", "transformer", "flash"])
def test_every_token_reaches_the_video_once_the_gates_moved(learner, aggregation):
    """Also with a scan in one direction: the patches of all frames that are there, and no others."""
    model = _model(moved=True, learner=LEARNERS[learner], aggregation=aggregation, scales=(1, 3, 6)).double()
    tokens = _tokens(dtype=torch.float64).requires_grad_()
    videos = model.video(*model.split(tokens), MASK)
    (videos * torch.randn(ROWS, DIM, generator=torch.Generator().manual_seed(2)).double()).sum().backward()
    reached = (tokens.grad.unflatten(2, (-1, DIM)).abs() > 1e-12).any(dim=3)
    assert reached.tolist() == MASK.unsqueeze(2).expand(-1, -1, 1 + GRID**2).tolist()


@pytest.mark.parametrize("aggregation", ["scale", "frame", "spatial"])
@pytest.mark.parametrize("learner", ["none_scan", "v1", "v2", "transformer", "flash"])
def test_every_parameter_gets_a_gradient_once_the_gates_moved(learner, aggregation):
    """But one: where the only kept token comes first, no earlier state decays towards it in the last layer."""
    model = _model(moved=True, learner=LEARNERS[learner], aggregation=aggregation).double()
    videos = model.video(*model.split(_tokens(dtype=torch.float64)), MASK)
    (videos * torch.randn(ROWS, DIM, generator=torch.Generator().manual_seed(2)).double()).sum().backward()
    missing = [name for name, parameter in model.named_parameters() if not parameter.grad.any()]
    first_only = aggregation == "spatial" and learner in ("v1", "v2")
    assert missing == (["learner.layers.1.mixer.A_log"] if first_only else [])


@pytest.mark.parametrize("aggregation", ["scale", "frame", "spatial"])
@pytest.mark.parametrize("learner", [name for name in LEARNERS if name != "none"])
def test_padding_changes_nothing(learner, aggregation):
    """Rows are as they are alone, without their padded frames."""
    model = _model(moved=True, learner=LEARNERS[learner], aggregation=aggregation).double()
    tokens = _tokens(dtype=torch.float64)
    together = model.video(*model.split(tokens), MASK)
    for row, count in enumerate(MASK.sum(dim=1).tolist()):
        alone = model.video(*model.split(tokens[row : row + 1, :count]), MASK[row : row + 1, :count])
        torch.testing.assert_close(together[row], alone[0], atol=1e-12, rtol=0)


def test_videos_and_captions_of_nothing_are_exactly_zero():
    model = _model(moved=True, text=WORDS)
    mask = MASK.clone()
    mask[1] = False
    videos = model.video(*model.split(_tokens()), mask)
    assert (videos[1] == 0).all()
    torch.testing.assert_close(videos[[0, 2]].norm(dim=1), torch.ones(2))
    captions = torch.tensor([[1, 9, 2, 0, 0], [0, 0, 0, 0, 0], [12, 0, 0, 0, 0]])
    texts = model.encode_text(captions)
    assert (texts[1:] == 0).all()
    torch.testing.assert_close(texts[0].norm(), torch.tensor(1.0))


def test_inputs_that_make_no_model():
    with pytest.raises(ConfigError, match="the data's feature columns are: none"):
        _model(inputs=ModelInputs())
    with pytest.raises(ConfigError, match="frames of 81 values are no"):
        _model(inputs=ModelInputs(features={"video": 81, "text": DIM}))
    with pytest.raises(ConfigError, match="must be a feature column of 8 values, as tokens have; it is none of the"):
        _model(inputs=ModelInputs(features={"video": 80}))
    with pytest.raises(ConfigError, match="it is one of 9"):
        _model(inputs=ModelInputs(features={"video": 80, "text": 9}))


def _batch(mask=MASK, no_text=()):
    """Three videos with a caption and a text vector each."""
    generator = torch.Generator().manual_seed(3)
    vectors, tokens = (
        torch.randn(ROWS, 1, DIM, generator=generator),
        torch.randint(1, 10, (ROWS, 5), generator=generator),
    )
    vectors[list(no_text)], tokens[list(no_text)] = 0, 0
    told = torch.tensor([row not in no_text for row in range(ROWS)])
    return FrameBatch(
        frames={"video": _tokens(dtype=torch.float16), "text": vectors.half()},
        mask={"video": mask, "text": told.unsqueeze(1)},
        mean={"video": torch.zeros(ROWS, (1 + GRID**2) * DIM), "text": vectors[:, 0]},
        present={"video": mask.any(dim=1), "text": told},
        tokens=tokens,
        clip_key=torch.arange(ROWS),
        video_key=torch.arange(ROWS),
        caption_key=torch.arange(ROWS),
    )


@pytest.mark.parametrize("text", [TextVectors(), WORDS], ids=["vectors", "words"])
def test_a_batch_has_both_modalities_and_their_presence(text):
    mask = MASK.clone()
    mask[2] = False
    batch = _batch(mask, no_text=(0,))
    model = _model(moved=True, text=text).eval()
    embeddings = model(batch)
    assert {name: present.tolist() for name, present in embeddings.present.items()} == {
        "text": [False, True, True],
        "video": [True, True, False],
    }
    assert (embeddings.vectors["text"][0] == 0).all()
    assert (embeddings.vectors["video"][2] == 0).all()
    captions = batch.tokens if text == WORDS else batch.frames["text"][:, 0]
    assert torch.equal(embeddings.vectors["text"], model.encode_text(captions))
    assert torch.equal(embeddings.vectors["video"], model.video(*model.split(batch.frames["video"]), mask))


@pytest.mark.parametrize("text", [TextVectors(), WORDS], ids=["vectors", "words"])
@pytest.mark.parametrize("changes", [{}, {"inputs": WHOLE, "grid": None, "scales": (1,), "temporal_scales": (2, 9)}])
def test_every_parameter_has_a_gradient_in_every_batch(text, changes):
    """Also where no video has frames or no row a text, as data parallel workers need."""
    if changes:
        words = {name: INPUTS.model_dump()[name] for name in ("num_words", "word_dim", "max_words")}
        changes = {**changes, "inputs": WHOLE.model_copy(update=words)}
    for mask, no_text in ((MASK, ()), (torch.zeros_like(MASK), ()), (MASK, range(ROWS))):
        model, batch = _model(moved=True, text=text, **changes), _batch(mask, no_text)
        if changes:
            batch.frames["video"] = batch.frames["video"][:, :, :DIM]
        build_objective(InfoNceConfig())(model(batch), batch.keys, 0).total.backward()
        missing = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()]
        assert missing == []


FEATURES = {
    "muse-msrvtt": {"video": 50 * 16, "text": 16},
    "muse-msrvtt-tiny": {"video": 16},
    "muse-tokens-tiny": {"video": 17 * 16, "text": 16},
}


@pytest.mark.parametrize("name", ["", *(f"-{variant}" for variant in MUSE_PRESETS.variants)])
@pytest.mark.parametrize("base", list(MUSE_PRESETS.bases))
def test_a_preset_builds_for_the_inputs_of_a_data_set(base, name):
    config = override(preset(base + name), {"model.inputs.features": FEATURES[base], "model.inputs.num_words": 9})
    assert config.preset == base + name
    check_parts(config)
    assert bool(check_model(config.model)) != (name == "-no-learner" and "text" in FEATURES[base])


def test_the_papers_rows():
    """Section 4 and Tables 4 to 8."""
    main = preset("muse-msrvtt")
    assert (main.batch.max_frames, main.batch.videos) == (12, 128)
    assert (main.optimizer.learning_rate, main.optimizer.learner_factor) == (1e-4, 10.0)
    assert main.loss == InfoNceConfig(temperature=0.01, learnable_temperature=True, max_scale=100.0)
    model = main.model
    assert (model.grid, model.scales, model.aggregation) == (7, (1, 3, 7, 14), "scale")
    assert model.learner == MambaLearner(layers=4, expansion=1, state=16, conv=4, scan="v2")
    kinds = {name: preset(f"muse-msrvtt-{name}").model.learner for name in ("transformer", "flash", "mamba-out")}
    assert [(learner.kind, learner.layers) for learner in kinds.values()] == [
        ("transformer", 4),
        ("flash", 4),
        ("mamba_out", 4),
    ]
    assert [preset(f"muse-msrvtt-scan-{scan}").model.learner.scan for scan in ("none", "v1")] == ["none", "v1"]
    assert [preset(f"muse-msrvtt-{name}").model.aggregation for name in ("frame", "spatial")] == ["frame", "spatial"]
    every = (1, 3, 7, 14, 28)
    assert [preset(f"muse-msrvtt-scales-{n}").model.scales for n in range(1, 6)] == [every[:n] for n in range(1, 6)]
    assert preset("muse-msrvtt-layers-16").model.learner.layers == 16


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scales": (3, 7)}, "must hold 1"),
        ({"scales": (1, 3, 3)}, "each scale once"),
        ({"scales": ()}, "at least 1 item"),
        ({"scales": (1, 10)}, "scale 10 cannot be made of a 7 × 7 grid; 1, …, 7, 14 and 28 can"),
        ({"grid": None}, "without a grid use scales = "),
        ({"temporal_scales": (1,)}, "greater than or equal to 2"),
        ({"temporal_scales": (2,), "aggregation": "spatial"}, "use no temporal_scales"),
    ],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        MuseConfig(**settings)


GIVEN, GIVEN_GRID, GIVEN_DIM = 5, 2, 3
CONFIG = MuseConfig(
    inputs=ModelInputs(features={"video": (1 + GIVEN_GRID**2) * GIVEN}, num_words=9, word_dim=4, max_words=5),
    grid=GIVEN_GRID,
    token_dim=GIVEN_DIM,
    scales=(1, 2),
    learner=MambaLearner(layers=1, state=4),
    text=TextWords(),
)


def _frames(count: int) -> np.ndarray:
    drawn = np.random.default_rng(0).normal(3, 2, (count, 1 + GIVEN_GRID**2, GIVEN))
    drawn[:, 0] = 0.1 * drawn[:, 0] - 4
    return drawn


def _statistics(frames: np.ndarray) -> FeatureStatistics:
    columns = frames.reshape(len(frames), -1)
    return FeatureStatistics(columns.mean(axis=0).astype(np.float32), columns.std(axis=0).astype(np.float32))


def test_cls_and_patches_have_statistics_of_their_own() -> None:
    frames = _frames(200)
    projection = TokenProjection(GIVEN, GIVEN_GRID, GIVEN_DIM)
    projection.load(_statistics(frames))
    weight, bias = (values.detach().double().numpy() for values in (projection.linear.weight, projection.linear.bias))
    cls, patches = frames[:, 0], frames[:, 1:].reshape(-1, GIVEN)
    for place in range(1 + GIVEN_GRID**2):
        known = patches if place else cls
        expected = (frames[:4, place] - known.mean(axis=0)) / known.std(axis=0) @ weight.T + bias
        mapped = projection(torch.from_numpy(frames[None, :4]).float())[0, :, place].detach().numpy()
        np.testing.assert_allclose(mapped, expected, atol=1e-4)


def test_a_model_takes_the_statistics_of_its_training_data() -> None:
    frames = _frames(200)
    model = IMPLEMENTATION.build(CONFIG, None, {"video": _statistics(frames)})
    assert isinstance(model, Muse)
    assert model.dim == GIVEN_DIM
    patches, cls = model.split(torch.from_numpy(frames.reshape(1, 200, -1)).half())
    assert patches is not None
    assert patches.shape == (1, 200, GIVEN_GRID**2, GIVEN_DIM)
    assert cls.shape == (1, 200, GIVEN_DIM)
    assert cls.mean(dim=1).abs().max() < 0.05


def test_one_scale_maps_the_frames_mean_alone() -> None:
    model = IMPLEMENTATION.build(CONFIG.model_copy(update={"scales": (1,)}), None, None)
    assert isinstance(model, Muse)
    given = torch.from_numpy(_frames(4).reshape(1, 4, -1)).float()
    patches, cls = model.split(given)
    assert patches is None
    assert model.tokens is not None
    expected = model.tokens(given.unflatten(2, (-1, GIVEN)))[:, :, 0]
    torch.testing.assert_close(cls, expected)
