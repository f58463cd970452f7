import pytest
import torch

from tests.builders.captioning import WORDS, captioner, videos
from tests.reference import captioner as reference
from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.decoding import generate, repeated

SETTINGS = (
    DecodingConfig(),
    DecodingConfig(beams=3),
    DecodingConfig(beams=3, length_penalty=0.0),
    DecodingConfig(beams=2, length_penalty=2.0, min_words=3),
    DecodingConfig(block_ngrams=1),
    DecodingConfig(beams=3, block_ngrams=2),
)


@pytest.mark.parametrize("decoding", SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_captions_are_those_of_plain_code(decoding: DecodingConfig, seed: int) -> None:
    model, (frames, mask) = captioner(seed, max_tokens=8), videos(5, seed)
    expected = [reference.generate(model, frames[i], mask[i], decoding) for i in range(5)]
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
    assert [len(words) for words in generate(model, frames, mask, DecodingConfig(min_words=2, beams=2))] == [2, 2, 2]


def test_a_caption_that_does_not_end_is_cut() -> None:
    model, (frames, mask) = captioner(max_tokens=4), videos(2)
    with torch.no_grad():
        model.bias[model.end] = -50.0
    found = generate(model, frames, mask, DecodingConfig(beams=2))
    assert [len(words) for words in found] == [3, 3]
    assert all(1 <= word <= WORDS for words in found for word in words)


def test_no_videos_have_no_captions() -> None:
    frames, mask = videos(2)
    assert generate(captioner(), frames[:0], mask[:0], DecodingConfig()) == []


def test_repeated_n_grams() -> None:
    assert repeated([1, 2, 1], 1) == [1, 2, 1]
    assert repeated([1, 2, 3, 1], 2) == [2]
    assert repeated([1, 2], 2) == []
    assert repeated([1, 1], 2) == [1]
    assert repeated([1, 2, 3, 1, 2], 3) == [3]
    assert repeated([], 1) == []
