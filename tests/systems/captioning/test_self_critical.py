"""Self-critical training: probabilities of draws, the gradient of the expected CIDEr-D, and what it does to draws."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.builders.captioning import WORDS, batch, captioner, videos
from vtr_core.data.captions import reference_table
from vtr_core.systems.captioning.config import DecodingConfig, SelfCriticalConfig
from vtr_core.systems.captioning.decoding import begun, forbid, log_probabilities, sample
from vtr_core.systems.captioning.loss import SelfCritic
from vtr_core.systems.captioning.model import Captioned, Captioner, Draws

ROWS = 3
REFERENCES = {1: [[1, 2], [1, 3, 2]], 2: [[4, 5], [4, 4]], 3: [[6, 7, 1], [6, 1]]}
"""Of the clips of a batch, by their keys."""


def drawn(model: Captioner, samples: int, seed: int = 0, temperature: float = 1.0) -> Draws:
    critic = SelfCritic(SelfCriticalConfig(samples=samples, temperature=temperature), reference_table(REFERENCES))
    codes = torch.rand((ROWS, samples), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return critic.draw(model, *videos(ROWS), codes)


def told(model: Captioner, draws: Draws) -> Captioned:
    found: Captioned = model(batch(ROWS), torch.zeros(ROWS, model.config.max_tokens), draws=draws)
    return found


def step_by_step(model: Captioner, words: Tensor, temperature: float) -> Tensor:
    """log p of one caption of each row, word by word as it is decoded."""
    said, total = begun(model, *videos(ROWS)), torch.zeros(ROWS)
    for place in range(words.shape[1]):
        log_p, past = log_probabilities(model, said)
        forbid(log_p, model, said, DecodingConfig())
        next_p = (log_p / temperature).log_softmax(dim=1).gather(1, words[:, place : place + 1]).squeeze(1)
        total += torch.where(words[:, place] == 0, 0, next_p)
        said = replace(said, words=torch.cat([said.words, words[:, place : place + 1]], dim=1), past=past)
    return total


@pytest.mark.parametrize("layout", ["pre_norm", "bert"])
@torch.no_grad()
def test_draws_are_as_probable_as_they_are_said(layout: str) -> None:
    model = captioner(2, layout=layout)
    draws = drawn(model, 6, temperature=0.7)
    ends = (draws.words == model.end).sum(dim=2)
    assert ends.max() == 1
    assert 0 < ends.sum() < ends.numel(), "some captions end and some are cut off"
    found = told(model, draws).log_p
    assert found is not None
    for number in range(6):
        torch.testing.assert_close(found[:, number], step_by_step(model, draws.words[:, number], 0.7))


def test_every_row_has_its_own_codes() -> None:
    model, (frames, mask) = captioner(2), videos(ROWS)
    codes = torch.rand((ROWS, 4), generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    whole = sample(model, begun(model, frames, mask), codes, 1.0, DecodingConfig())
    last = sample(model, begun(model, frames[2:], mask[2:]), codes[2:], 1.0, DecodingConfig())
    assert whole[2, :, : last.shape[2]].tolist() == last[0].tolist()


def test_the_first_and_the_last_code_are_captions() -> None:
    model = captioner(2)
    codes = torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64).expand(ROWS, -1)
    words = sample(model, begun(model, *videos(ROWS)), codes, 1.0, DecodingConfig())
    assert words[:, 0, 0].tolist() == [1] * ROWS, "the first of the vocabulary"
    assert WORDS in words[:, 1], "a caption does not begin with its end"
    assert words.max() <= model.end


def test_captions_have_parts_as_large_as_they_are_probable() -> None:
    """Of evenly spaced codes a caption gets as many as its probability says, but for one."""
    model, count = captioner(4, spread=0.3, max_tokens=4), 20_000
    codes = ((torch.arange(count, dtype=torch.float64) + 0.5) / count).expand(ROWS, -1)
    words = sample(model, begun(model, *videos(ROWS)), codes, 0.9, DecodingConfig())
    for row in range(ROWS):
        captions, found = words[row].unique(dim=0, return_counts=True)
        assert len(captions) > 100
        draws = Draws(captions.expand(ROWS, -1, -1), model.end, 0.9)
        log_p = told(model, draws).log_p
        assert log_p is not None
        assert (found - count * log_p[row].exp()).abs().max() <= 1.5


def test_the_gradient_is_that_of_the_expected_score() -> None:
    """Captions of one word, whose expectation is a sum over words."""
    model = captioner(1, spread=0.2, max_tokens=2)
    table = reference_table({key: [[words[0]]] for key, words in zip((1, 2, 3), ([1], [4], [6]), strict=True)})
    config = SelfCriticalConfig(samples=4000, temperature=0.8, weight=1.0)
    critic = SelfCritic(config, table)
    codes = torch.rand((ROWS, 4000), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    draws = critic.draw(model, *videos(ROWS), codes)
    criticism = critic.judge(draws, told(model, draws), torch.tensor([1, 2, 3]))
    assert criticism.words == criticism.captions == 3 * 4000
    (criticism.loss / criticism.captions).backward()
    estimated = model.bias.grad
    model.zero_grad()

    every = torch.arange(1, WORDS + 1).view(1, -1, 1).expand(ROWS, -1, -1)
    log_p = told(model, Draws(every, model.end, 0.8)).log_p
    assert log_p is not None
    scores = table.ciders(np.array([1, 2, 3]), every.tolist())
    (-(log_p.exp() * torch.from_numpy(scores).float()).sum() / ROWS).backward()
    assert estimated is not None
    assert model.bias.grad is not None
    assert model.bias.grad.abs().max() > 0.05
    torch.testing.assert_close(estimated, model.bias.grad, atol=0.01, rtol=0.0)


def test_draws_come_to_be_what_references_say() -> None:
    model = captioner(0)
    critic = SelfCritic(SelfCriticalConfig(samples=8, temperature=1.0, weight=1.0), reference_table(REFERENCES))
    optimizer, found = torch.optim.Adam(model.parameters(), 0.01), []
    for step in range(80):
        draws = drawn(model, 8, seed=step)
        criticism = critic.judge(draws, told(model, draws), torch.tensor([1, 2, 3]))
        optimizer.zero_grad()
        (criticism.loss / criticism.words).backward()
        optimizer.step()
        found.append(float(criticism.cider / criticism.captions))
    assert np.mean(found[-5:]) > 3 * np.mean(found[:5])


def test_rows_without_frames_say_nothing() -> None:
    model, critic = captioner(0), SelfCritic(SelfCriticalConfig(samples=8), reference_table(REFERENCES))
    draws = drawn(model, 8)
    output = told(model, draws)
    unseen = Captioned(output.loss, output.masked, torch.tensor([True, False, True]), log_p=output.log_p)
    two, seen = torch.tensor([0, 2]), torch.tensor([True, True])
    alone = Draws(draws.words[two], draws.end, draws.temperature)
    assert output.log_p is not None
    kept = Captioned(output.loss[two], output.masked[two], seen, log_p=output.log_p[two])
    one, other = critic.judge(draws, unseen, torch.tensor([1, 2, 3])), critic.judge(alone, kept, torch.tensor([1, 3]))
    torch.testing.assert_close((one.loss, one.cider), (other.loss, other.cider))
    assert (one.words, one.captions) == (other.words, other.captions)
