"""The beam that samples of the model agree with most, and those samples."""

from collections import Counter

import pytest
import torch

from tests.builders.captioning import captioner, videos
from vtr_core.metrics.captioning import cider
from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.decoding import begun, generate, most_agreed, sample

MANY = DecodingConfig(beams=3, consensus_samples=20, sample_temperature=1.0)


@pytest.mark.parametrize("seed", range(8))
def test_the_gain_is_cider_where_all_n_grams_weigh_the_same(seed: int) -> None:
    """Two videos of captions without a common n-gram: every n-gram's document frequency is 1 of 2."""
    drawn = torch.Generator().manual_seed(seed)
    captions = [torch.randint(1, 5, (length,), generator=drawn).tolist() for length in (4, 5, 6, 5, 4, 6, 5)]
    hypotheses, judges = captions[:4], captions[4:]

    def text(words: list[int]) -> str:
        return " ".join(map(str, words))

    references = {"a": [text(judge) for judge in judges], "b": ["10 11 12"]}
    gains = [cider({"a": text(words), "b": "7 8 9"}, references, tokenizer="spaces").by_id["a"] for words in hypotheses]
    assert most_agreed(hypotheses, judges) == hypotheses[gains.index(max(gains))]


def test_the_caption_that_others_are_like_is_told() -> None:
    judges = [[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 6]]
    assert most_agreed([[7, 8, 9], [1, 2, 3], [1, 9]], judges) == [1, 2, 3]
    assert most_agreed([[7, 8], [9, 10]], judges) == [7, 8]  # nobody agrees: the more probable one


def test_a_sampled_word_comes_as_often_as_it_is_probable() -> None:
    model, (frames, mask) = captioner(3), videos(1, 3)
    start = begun(model, frames, mask)
    codes = torch.rand((1, 4000), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with torch.no_grad():
        model.bias += torch.randn(len(model.bias), generator=torch.Generator().manual_seed(0))
    first, cold = (
        Counter(sample(model, start, codes, temperature, DecodingConfig())[0, :, 0].tolist())
        for temperature in (0.7, 0.1)
    )
    (likely, often), (second, rarer) = first.most_common(2)
    assert cold.most_common(1)[0][0] == likely
    assert cold[likely] > often
    ratio_cold, ratio = cold[second] / cold[likely], rarer / often
    assert ratio_cold == pytest.approx(ratio**7, abs=0.05)  # p^(1/0.1) is (p^(1/0.7))^7


@pytest.mark.parametrize("decoding", [MANY, MANY.model_copy(update={"block_ngrams": 1})])
def test_a_videos_caption_depends_neither_on_the_others_nor_on_chance(decoding: DecodingConfig) -> None:
    model, (frames, mask) = captioner(1, max_tokens=8), videos(4)
    together = generate(model, frames, mask, decoding)
    assert together == [generate(model, frames[i : i + 1], mask[i : i + 1], decoding)[0] for i in range(4)]
    assert together == generate(model, frames, mask, decoding)


def test_the_caption_is_one_of_the_beams() -> None:
    model, (frames, mask) = captioner(2, max_tokens=8), videos(6, 2)
    one = MANY.model_copy(update={"beams": 1})
    assert generate(model, frames, mask, one) == generate(model, frames, mask, DecodingConfig())
    assert generate(model, frames, mask, MANY) != generate(model, frames, mask, DecodingConfig(beams=3))
