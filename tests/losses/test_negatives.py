import pytest
import torch

from tests.reference import losses as reference
from vtr_core.config.losses import KeepSameVideo, MaskSameVideo, WeightSameVideo
from vtr_core.data.batches import RowKeys
from vtr_core.losses.objective import negative_weights

CLIP, CAPTION = torch.tensor([1, 1, 2, 3, 4, 5, 6]), torch.tensor([7, 8, 9, 9, 10, 11, 12])
VIDEO = torch.tensor([0, 0, 0, 5, 5, 6, 6])
KEYS = RowKeys(clip=CLIP, video=VIDEO, caption=CAPTION)


def _weights(keys, same_video, block=None):
    return negative_weights(keys, block or slice(0, len(keys.clip)), same_video, torch.float64)


def _grid(videos, clips):
    rows = torch.arange(videos * clips)
    return RowKeys(clip=rows, video=rows // clips, caption=rows)


@pytest.mark.parametrize(
    "same_video", [KeepSameVideo(), MaskSameVideo(), WeightSameVideo(hard_rate=0.2), WeightSameVideo(hard_rate=0.9)]
)
@pytest.mark.parametrize("keys", [KEYS, _grid(3, 2), _grid(4, 1), _grid(1, 3)])
def test_weights_equal_loops(keys, same_video):
    rate = same_video.hard_rate if isinstance(same_video, WeightSameVideo) else None
    expected = reference.negative_weights(keys.clip, keys.caption, keys.video, same_video.kind, rate)
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(_weights(keys, same_video), expected)
    block = slice(1, 3)
    torch.testing.assert_close(_weights(keys, same_video, block), expected[block])


@pytest.mark.parametrize("hard_rate", [0.1, 0.5, 0.8])
def test_weights_of_whole_videos_are_the_published_ones(hard_rate):
    videos, clips = 5, 3
    weights = _weights(_grid(videos, clips), WeightSameVideo(hard_rate=hard_rate))
    for i in range(videos * clips):
        for j in range(videos * clips):
            same = i // clips == j // clips
            expected = hard_rate * videos if same else (1 - hard_rate) * videos / (videos - 1)
            assert weights[i, j].item() == pytest.approx(expected)
