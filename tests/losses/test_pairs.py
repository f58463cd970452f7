import pytest
import torch

from tests.reference import losses as reference
from vtr_core.config.loss import AdaptiveMargin, ConstantMargin, InfoNceConfig, MaskedMarginSoftmaxConfig
from vtr_core.data.batch import RowKeys
from vtr_core.losses.build import build_loss
from vtr_core.losses.pairs import modality_pair_losses
from vtr_core.nn.embeddings import Embeddings

ROWS = 6
MMS = MaskedMarginSoftmaxConfig(margin=ConstantMargin(value=0.125))


def _keys(rows=ROWS):
    return RowKeys(clip=torch.arange(rows), video=torch.arange(rows) // 2, caption=torch.arange(rows))


def _embeddings(names=("audio", "text", "video"), requires_grad=False, **missing):
    generator = torch.Generator().manual_seed(0)
    vectors, present = {}, {}
    for name in names:
        vectors[name] = torch.randn(ROWS, 4, generator=generator, dtype=torch.float64).requires_grad_(requires_grad)
        present[name] = torch.tensor([row not in missing.get(name, ()) for row in range(ROWS)])
    return Embeddings(vectors, present)


def test_the_total_is_the_sum_over_pairs_of_modalities():
    embeddings = _embeddings()
    losses = modality_pair_losses(embeddings, _keys(), MMS, 0)
    assert set(losses.by_pair) == {"text_video", "text_audio", "video_audio"}
    for pair, value in losses.by_pair.items():
        a, b = (embeddings.vectors[name] for name in pair.split("_"))
        expected = reference.masked_margin_softmax((a @ b.T).tolist(), [0.125] * ROWS)
        assert value.item() == pytest.approx(expected, abs=1e-9)
    assert losses.total.item() == pytest.approx(sum(value.item() for value in losses.by_pair.values()), abs=1e-12)


def test_two_modalities_make_one_pair():
    assert set(modality_pair_losses(_embeddings(("video", "text")), _keys(), MMS, 0).by_pair) == {"text_video"}


def test_rows_that_lack_a_modality_take_no_part():
    embeddings = _embeddings(audio=(1, 4), text=(0,), requires_grad=True)
    losses = modality_pair_losses(embeddings, _keys(), MMS, 0)
    rows = [2, 3, 5]
    a, b = embeddings.vectors["text"][rows], embeddings.vectors["audio"][rows]
    expected = reference.masked_margin_softmax((a @ b.T).tolist(), [0.125] * 3)
    assert losses.by_pair["text_audio"].item() == pytest.approx(expected, abs=1e-9)
    losses.total.backward()
    assert (embeddings.vectors["audio"].grad[[1, 4]] == 0).all()
    assert (embeddings.vectors["text"].grad[0] == 0).all()


@pytest.mark.parametrize("config", [MMS, InfoNceConfig()])
def test_missing_values_reach_neither_loss_nor_gradient(config):
    clean, dirty = (_embeddings(audio=(1, 4)) for _ in range(2))
    dirty.vectors["audio"][[1, 4]] = torch.nan
    for vectors in dirty.vectors.values():
        vectors.requires_grad_()
    losses = modality_pair_losses(dirty, _keys(), config, 0)
    assert losses.total.item() == modality_pair_losses(clean, _keys(), config, 0).total.item()
    losses.total.backward()
    for vectors in dirty.vectors.values():
        assert vectors.grad.isfinite().all()


@pytest.mark.parametrize("missing", [range(ROWS), range(1, ROWS)])
def test_a_pair_of_fewer_than_two_rows_is_zero_and_in_the_graph(missing):
    embeddings = _embeddings(audio=tuple(missing), requires_grad=True)
    losses = modality_pair_losses(embeddings, _keys(), MMS, 0)
    assert losses.by_pair["text_audio"].item() == losses.by_pair["video_audio"].item() == 0.0
    losses.total.backward()
    assert (embeddings.vectors["audio"].grad == 0).all()
    assert embeddings.vectors["text"].grad.any()


def test_duplicates_and_clips_of_the_same_video_are_masked():
    embeddings = _embeddings(("text", "video"))
    keys = RowKeys(clip=torch.tensor([0, 0, 1, 2, 3, 4]), video=_keys().video, caption=torch.tensor([0, 1, 2, 3, 4, 2]))
    similarity = embeddings.vectors["text"] @ embeddings.vectors["video"].T
    for same_video in ("keep", "mask"):
        negatives = [
            [
                keys.clip[i] != keys.clip[j]
                and keys.caption[i] != keys.caption[j]
                and (same_video == "keep" or keys.video[i] != keys.video[j])
                for j in range(ROWS)
            ]
            for i in range(ROWS)
        ]
        config = MaskedMarginSoftmaxConfig(margin=ConstantMargin(value=0.125), same_video=same_video)
        expected = reference.masked_margin_softmax(similarity.tolist(), [0.125] * ROWS, negatives)
        assert modality_pair_losses(embeddings, keys, config, 0).total.item() == pytest.approx(expected, abs=1e-9)


def test_info_nce_normalises_and_mms_does_not():
    embeddings = _embeddings(("text", "video"))
    text, video = embeddings.vectors["text"], embeddings.vectors["video"]
    nce, mms = build_loss(InfoNceConfig()), build_loss(MMS)
    torch.testing.assert_close(nce(text, video, _keys(), 0), nce(7 * text, 3 * video, _keys(), 0))
    cosine = torch.nn.functional.cosine_similarity(text.unsqueeze(1), video.unsqueeze(0), dim=2)
    expected = reference.masked_margin_softmax((cosine / 0.07).tolist(), [0.0] * ROWS)
    assert nce(text, video, _keys(), 0).item() == pytest.approx(expected, abs=1e-9)
    assert mms(text, video, _keys(), 0).item() != pytest.approx(mms(7 * text, video, _keys(), 0).item())


def test_an_adaptive_margin_follows_the_similarities_of_the_pair():
    embeddings = _embeddings(("text", "video"))
    similarity = embeddings.vectors["text"] @ embeddings.vectors["video"].T
    margins = [0.3 * (similarity[i, i] - similarity[i, torch.arange(ROWS) != i].mean()).item() for i in range(ROWS)]
    config = MaskedMarginSoftmaxConfig(margin=AdaptiveMargin(scale=0.3))
    expected = reference.masked_margin_softmax(similarity.tolist(), margins)
    assert modality_pair_losses(embeddings, _keys(), config, 0).total.item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("config", [MMS, InfoNceConfig()])
def test_the_similarity_is_float32_under_autocast(config):
    text, video = (torch.randn(ROWS, 64, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    plain = build_loss(config)(text, video, _keys(), 0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(build_loss(config)(text, video, _keys(), 0), plain)
        halves = build_loss(config)(text.bfloat16(), video.bfloat16(), _keys(), 0)
    assert halves.dtype == torch.float32
