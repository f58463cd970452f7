import torch

from vtr_core.losses.negatives import negatives_mask


def test_equal_clips_and_captions_are_no_negatives():
    clip, caption, video = torch.tensor([1, 1, 2, 3]), torch.tensor([7, 8, 9, 9]), torch.tensor([0, 0, 0, 5])
    keep = negatives_mask(clip, caption, video, "keep")
    mask = negatives_mask(clip, caption, video, "mask")
    for i in range(4):
        for j in range(4):
            same = clip[i] == clip[j] or caption[i] == caption[j]
            assert keep[i, j] == (not same)
            assert mask[i, j] == (not same and video[i] != video[j])
